/*
 * Partial-order reduction: which of the enabled actions of a state are enough.  Why that is right is told in
 * kvproto/engine/por/__init__.py; this is stubborn.py of that package in C, step for step.  The tables come from relations.py.
 */

/* What a search for the actions of one state knows of a node; valid if the marks are the present ones. */
typedef struct {
    uint64_t harmless; /* mark of the state: with all that it brings it contains no enabled action */
    uint64_t enabled;  /* mark of the state: it is an enabled action */
    uint64_t tried;    /* mark of the state: one from which a search has started */
    uint64_t taken;    /* mark of the start: it is in the set; then all below is valid */
    uint32_t index, low;
    uint8_t open, hot; /* its component is not complete; it brings an enabled action */
} por_mark;

/* A node on the path of the search, and what is left of its row. */
typedef struct {
    uint32_t node, at, end;
} por_step;

typedef struct por {
    uint64_t nodes, conditions, rows, items;
    por_node *node_table;
    por_condition *condition_table;
    uint32_t *row_start, *item_table;
    /* scratch */
    por_mark *marks;
    por_step *path;
    uint32_t *open;
    uint64_t state_mark, start_mark, level;
    uint32_t depth, open_count, met, count; /* met: nodes; count: enabled ones among them */
    uint64_t *least;  /* for each enabled action those that it needs in any case: rows of a bit for each */
    uint32_t *position, *sizes;
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
    p->marks = take(e, p->nodes, sizeof(por_mark));
    p->path = take(e, p->nodes, sizeof(por_step));
    p->open = take(e, p->nodes, sizeof(uint32_t));
    p->least = take(e, (uint64_t)e->actions * e->set_words, sizeof(uint64_t));
    p->position = take(e, e->actions, sizeof(uint32_t));
    p->sizes = take(e, e->actions, sizeof(uint32_t));
    p->settled = take(e, e->claims + e->probes, sizeof(uint8_t));
    return p->node_table != NULL && p->condition_table != NULL && p->row_start != NULL && p->item_table != NULL
           && p->marks != NULL && p->path != NULL && p->open != NULL && p->least != NULL
           && p->position != NULL && p->sizes != NULL && p->settled != NULL;
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
    give(e, p->marks, p->nodes * sizeof(por_mark));
    give(e, p->path, p->nodes * sizeof(por_step));
    give(e, p->open, p->nodes * sizeof(uint32_t));
    give(e, p->least, (uint64_t)e->actions * e->set_words * sizeof(uint64_t));
    give(e, p->position, e->actions * sizeof(uint32_t));
    give(e, p->sizes, e->actions * sizeof(uint32_t));
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

INLINE int por_known(const por *p, uint32_t node)
{
    return p->marks[node].harmless == p->state_mark || p->marks[node].taken == p->start_mark;
}

/* Whether all conditions in a row hold. */
INLINE int por_all_hold(const por *p, const uint64_t *s, uint32_t row)
{
    for (uint32_t i = p->row_start[row]; i < p->row_start[row + 1]; i++)
        if (!por_holds(p, s, p->item_table[i]))
            return 0;
    return 1;
}

/* What taking a row would cost; counted until it is as much as `limit`. */
static uint64_t por_cost(const por *p, const uint64_t *s, uint32_t row, uint64_t limit)
{
    uint64_t cost = 0;
    for (uint32_t i = p->row_start[row]; i < p->row_start[row + 1] && cost < limit; i++) {
        uint32_t node = p->item_table[i];
        const por_node *n = &p->node_table[node];
        uint32_t action = n->owner == NOBODY ? node : n->owner;
        if (por_known(p, node) || por_known(p, action) || !por_all_hold(p, s, n->final))
            continue;
        if (p->marks[action].enabled != p->state_mark)
            cost += COLD;
        else
            cost += por_all_hold(p, s, n->needs) ? HOT : WARM;
    }
    return cost;
}

/* The cheapest row for a node that is not enabled. */
static uint32_t por_row(const por *p, const uint64_t *s, uint32_t node)
{
    const por_node *n = &p->node_table[node];
    uint32_t best = NOBODY;
    uint64_t cheapest = UINT64_MAX;
    for (uint32_t i = p->row_start[n->needs]; i < p->row_start[n->needs + 1]; i++) {
        uint32_t condition = p->item_table[i], row = p->condition_table[condition].row;
        if (por_holds(p, s, condition))
            continue;
        uint64_t cost = por_cost(p, s, row, cheapest);
        if (cost < cheapest) {
            best = row;
            cheapest = cost;
        }
        if (cheapest == 0)
            return best;
    }
    return best == NOBODY || por_cost(p, s, n->fallback, cheapest) < cheapest ? n->fallback : best;
}

/* A node is met: it goes on the path, with the row that it brings along. */
static void por_enter(por *p, const uint64_t *s, uint32_t node)
{
    por_mark *m = &p->marks[node];
    int enabled = m->enabled == p->state_mark;
    m->taken = p->start_mark;
    m->index = m->low = p->met++;
    m->open = 1;
    m->hot = (uint8_t)enabled;
    p->count += (uint32_t)enabled;
    p->open[p->open_count++] = node;
    uint32_t row = enabled ? p->node_table[node].dependent : por_row(p, s, node);
    p->path[p->depth++] = (por_step){node, p->row_start[row], p->row_start[row + 1]};
}

/* All that the last node on the path brings has been looked at. */
static void por_leave(por *p)
{
    uint32_t node = p->path[--p->depth].node, first = p->open_count;
    por_mark *m = &p->marks[node], *above = p->depth == 0 ? NULL : &p->marks[p->path[p->depth - 1].node];
    if (m->low != m->index) {
        if (m->low < above->low)
            above->low = m->low;
        return;
    }
    int hot = 0;
    do
        hot |= p->marks[p->open[--first]].hot;
    while (p->open[first] != node);
    for (uint32_t i = first; i < p->open_count; i++) {
        p->marks[p->open[i]].open = 0;
        if (!hot)
            p->marks[p->open[i]].harmless = p->state_mark;
    }
    p->open_count = first;
    if (above != NULL)
        above->hot |= (uint8_t)hot;
}

/*
 * Takes what has to be there along with `start`; answers how many enabled actions that are, 0 if not fewer than `limit`.  It
 * is no fewer, either, with an action from which the same was tried before.
 */
static uint32_t por_closure(por *p, const uint64_t *s, uint32_t start, uint32_t limit)
{
    p->start_mark++;
    p->depth = p->open_count = p->met = p->count = 0;
    p->marks[start].tried = p->state_mark;
    por_enter(p, s, start);
    while (p->depth != 0) {
        if (p->count >= limit)
            return 0;
        por_step *step = &p->path[p->depth - 1];
        if (step->at == step->end) {
            por_leave(p);
            continue;
        }
        uint32_t other = p->item_table[step->at++];
        const por_node *n = &p->node_table[other];
        if (n->group != NOBODY && p->settled[n->group])
            continue;
        if (n->owner != NOBODY && por_known(p, n->owner))
            other = n->owner;
        por_mark *from = &p->marks[step->node], *to = &p->marks[other];
        if (!por_known(p, other)) {
            if (to->tried == p->state_mark)
                return 0;
            if (por_all_hold(p, s, n->final))
                por_enter(p, s, other);
        }
        else if (to->harmless == p->state_mark)
            continue;
        else if (!to->open)
            from->hot = 1;
        else if (to->index < from->low)
            from->low = to->index;
    }
    return p->count;
}

/* Fills p->least and p->sizes for the enabled actions, which are those of the events from `first` up to `end`. */
static void por_find_least(por *p, const worker *w, const uint64_t *s, uint32_t first, uint32_t end)
{
    uint32_t count = end - first, words = (count + 63) / 64;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t action = w->events[first + i].action & ~FAULTED;
        p->marks[action].enabled = p->state_mark;
        p->position[action] = i;
    }
    memset(p->least, 0, (size_t)count * words * sizeof *p->least);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t *mine = p->least + (uint64_t)i * words;
        mine[i / 64] |= (uint64_t)1 << (i % 64);
        uint32_t row = p->node_table[w->events[first + i].action & ~FAULTED].dependent;
        for (uint32_t at = p->row_start[row]; at < p->row_start[row + 1]; at++) {
            const por_node *n = &p->node_table[p->item_table[at]];
            uint32_t other = n->owner == NOBODY ? p->item_table[at] : n->owner;
            if (p->marks[other].enabled != p->state_mark)
                continue;
            uint32_t k = p->position[other];
            if (!(mine[k / 64] >> (k % 64) & 1) && por_all_hold(p, s, n->needs))
                mine[k / 64] |= (uint64_t)1 << (k % 64);
        }
    }
    for (uint32_t middle = 0; middle < count; middle++)
        for (uint32_t i = 0; i < count; i++)
            if (p->least[(uint64_t)i * words + middle / 64] >> (middle % 64) & 1)
                for (uint32_t at = 0; at < words; at++)
                    p->least[(uint64_t)i * words + at] |= p->least[(uint64_t)middle * words + at];
    for (uint32_t i = 0; i < count; i++) {
        p->sizes[i] = 0;
        for (uint32_t at = 0; at < words; at++)
            for (uint64_t left = p->least[(uint64_t)i * words + at]; left != 0; left &= left - 1)
                p->sizes[i]++;
    }
}

/* Marks the events of a state that need not happen here as SKIPPED; answers whether there are any. */
static int por_choose(const kv_engine *e, worker *w, const uint64_t *s, uint32_t first, uint32_t end)
{
    por *p = e->por;
    if (p->level != e->level)
        por_begin_level(e, p);
    p->state_mark++;
    por_find_least(p, w, s, first, end);
    uint32_t fewest = end - first;
    for (uint32_t k = end; k-- > first && fewest > 1;) { /* what comes late in a life first: it is soon over */
        if (p->sizes[k - first] >= fewest)
            continue;
        uint32_t count = por_closure(p, s, w->events[k].action & ~(FAULTED | SKIPPED), fewest);
        if (count == 0)
            continue;
        fewest = count;
        for (uint32_t i = first; i < end; i++) {
            uint32_t action = w->events[i].action & ~SKIPPED;
            int taken = p->marks[action & ~FAULTED].taken == p->start_mark;
            w->events[i].action = taken ? action : action | SKIPPED;
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
