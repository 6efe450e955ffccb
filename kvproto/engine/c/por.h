/*
 * Partial-order reduction: which of the enabled actions of a state are enough.  Why that is right is told in
 * kvproto/engine/por/__init__.py; this is stubborn.py of that package in C, step for step.  The tables come from relations.py.
 */

typedef struct por {
    uint64_t nodes, conditions, rows, items;
    por_node *node_table;
    por_condition *condition_table;
    uint32_t *row_start, *item_table;
    /* scratch; a node or an action is in a set if its mark is the present one */
    uint64_t *taken, *enabled, taken_mark, enabled_mark, level;
    uint32_t *work;
    uint8_t *settled; /* for each claim, then each probe: whether it had been found when the level began */
} por;

static int fill_por(kv_engine *e, const kv_spec *spec)
{
    const kv_por *from = spec->por;
    if (from == NULL)
        return 1;
    por *p = e->por = take(e, 1, sizeof *p);
    if (p == NULL)
        return 0;
    p->nodes = from->nodes;
    p->conditions = from->conditions;
    p->rows = from->rows;
    p->items = from->row_start[from->rows];
    p->node_table = take_copy(e, from->node_table, p->nodes, sizeof(por_node));
    p->condition_table = take_copy(e, from->condition_table, p->conditions, sizeof(por_condition));
    p->row_start = take_copy(e, from->row_start, p->rows + 1, sizeof(uint32_t));
    p->item_table = take_copy(e, from->item_table, p->items, sizeof(uint32_t));
    p->taken = take(e, p->nodes, sizeof(uint64_t));
    p->enabled = take(e, p->nodes, sizeof(uint64_t));
    p->work = take(e, p->nodes, sizeof(uint32_t));
    p->settled = take(e, e->claims + e->probes, sizeof(uint8_t));
    return p->node_table != NULL && p->condition_table != NULL && p->row_start != NULL && p->item_table != NULL
           && p->taken != NULL && p->enabled != NULL && p->work != NULL && p->settled != NULL;
}

static void free_por(kv_engine *e)
{
    por *p = e->por;
    if (p == NULL)
        return;
    give(e, p->node_table, p->nodes * sizeof(por_node));
    give(e, p->condition_table, p->conditions * sizeof(por_condition));
    give(e, p->row_start, (p->rows + 1) * sizeof(uint32_t));
    give(e, p->item_table, p->items * sizeof(uint32_t));
    give(e, p->taken, p->nodes * sizeof(uint64_t));
    give(e, p->enabled, p->nodes * sizeof(uint64_t));
    give(e, p->work, p->nodes * sizeof(uint32_t));
    give(e, p->settled, (e->claims + e->probes) * sizeof(uint8_t));
    give(e, p, sizeof *p);
}

/* Claims and probes that had been found when the level began are of no interest any more. */
static void por_begin_level(const kv_engine *e, por *p)
{
    p->level = e->level;
    for (uint32_t i = 0; i < e->claims; i++)
        p->settled[i] = e->violation[i] < e->level_end;
    for (uint32_t i = 0; i < e->probes; i++)
        p->settled[e->claims + i] = e->witness[i] < e->level_end;
}

INLINE int por_holds(const por *p, const uint64_t *s, uint32_t condition)
{
    const por_condition *c = &p->condition_table[condition];
    uint64_t value = (s[c->word] >> c->shift) & c->mask;
    return (int)(c->allowed[value / 64] >> (value % 64) & 1);
}

/* Whether a node is in the set, or the action that it stands for. */
INLINE int por_taken(const por *p, uint32_t node)
{
    uint32_t owner = p->node_table[node].owner;
    return p->taken[node] == p->taken_mark || (owner != NOBODY && p->taken[owner] == p->taken_mark);
}

/* What taking a row would cost: about how many enabled actions it brings, and what may never happen is free. */
static uint64_t por_cost(const por *p, const uint64_t *s, uint32_t row)
{
    uint64_t cost = 0;
    for (uint32_t i = p->row_start[row]; i < p->row_start[row + 1]; i++) {
        uint32_t node = p->item_table[i], owner = p->node_table[node].owner;
        if (por_taken(p, node))
            continue;
        if (p->enabled[owner != NOBODY ? owner : node] == p->enabled_mark) {
            cost += HOT;
            continue;
        }
        uint32_t final = p->node_table[node].final, at = p->row_start[final], end = p->row_start[final + 1];
        while (at < end && por_holds(p, s, p->item_table[at]))
            at++;
        cost += at == end;
    }
    return cost;
}

/* The cheapest row for a node that is not enabled. */
static uint32_t por_row(const por *p, const uint64_t *s, uint32_t node)
{
    const por_node *n = &p->node_table[node];
    uint32_t best = NOBODY;
    uint64_t cheapest = 0;
    for (uint32_t i = p->row_start[n->needs]; i < p->row_start[n->needs + 1]; i++) {
        uint32_t condition = p->item_table[i], row = p->condition_table[condition].row;
        if (por_holds(p, s, condition))
            continue;
        uint64_t cost = por_cost(p, s, row);
        if (best == NOBODY || cost < cheapest) {
            best = row;
            cheapest = cost;
        }
    }
    return best == NOBODY || por_cost(p, s, n->fallback) < cheapest ? n->fallback : best;
}

/* Takes what has to be there along with `start`; answers how many enabled actions that are, 0 if not fewer than `limit`. */
static uint32_t por_closure(por *p, const uint64_t *s, uint32_t start, uint32_t limit)
{
    uint32_t count = 1, waiting = 1;
    p->taken_mark++;
    p->taken[start] = p->taken_mark;
    p->work[0] = start;
    while (waiting != 0) {
        uint32_t node = p->work[--waiting];
        uint32_t row = p->enabled[node] == p->enabled_mark ? p->node_table[node].dependent : por_row(p, s, node);
        for (uint32_t i = p->row_start[row]; i < p->row_start[row + 1]; i++) {
            uint32_t other = p->item_table[i], group = p->node_table[other].group;
            if (por_taken(p, other) || (group != NOBODY && p->settled[group]))
                continue;
            p->taken[other] = p->taken_mark;
            p->work[waiting++] = other;
            if (p->enabled[other] == p->enabled_mark && ++count >= limit)
                return 0;
        }
    }
    return count;
}

/* Marks the events of a state that need not happen here as SKIPPED; answers whether there are any. */
static int por_choose(const kv_engine *e, worker *w, const uint64_t *s, uint32_t first, uint32_t end)
{
    por *p = e->por;
    if (p->level != e->level)
        por_begin_level(e, p);
    p->enabled_mark++;
    for (uint32_t k = first; k < end; k++)
        p->enabled[w->events[k].action & ~FAULTED] = p->enabled_mark;
    uint32_t fewest = end - first;
    for (uint32_t k = first; k < end && fewest > 1; k++) {
        uint32_t count = por_closure(p, s, w->events[k].action & ~(FAULTED | SKIPPED), fewest);
        if (count == 0)
            continue;
        fewest = count;
        for (uint32_t i = first; i < end; i++) {
            uint32_t action = w->events[i].action & ~SKIPPED;
            w->events[i].action = p->taken[action & ~FAULTED] == p->taken_mark ? action : action | SKIPPED;
        }
    }
    return fewest < end - first;
}

/*
 * Whether a chosen successor is still to be expanded after the present state.  If not, the others could be put off forever, so
 * nothing may be skipped.
 */
static int por_leads_on(const kv_engine *e, worker *w, uint32_t first, uint32_t end)
{
    for (uint32_t k = first; k < end; k++) {
        if (w->events[k].action & (FAULTED | SKIPPED))
            continue;
        uint64_t number = lookup(e, w->successors + (uint64_t)k * e->words, w->events[k].tag);
        if (number == NO_STATE || number > e->expanded)
            return 1;
    }
    for (uint32_t k = first; k < end; k++)
        w->events[k].action &= ~SKIPPED;
    return 0;
}
