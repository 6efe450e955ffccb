/*
 * Canonical forms, second part: sorts that keys do not put in order.  Refinement, twins, trial: see canonical.py.
 *
 * Included by canon.h, which has the tables.
 */

/* Something that a state says about several elements. */
typedef struct {
    uint64_t kind;
    uint32_t first, count;
} canon_fact;

typedef struct {
    uint32_t element, place;
} canon_member;

/* A state that came out, the choices that led there, and the order of the elements. */
typedef struct {
    uint64_t *state;
    uint32_t *way, *order;
} canon_outcome;

/* The work on one state, laid out in the caller's scratch. */
typedef struct {
    const canon *c;
    uint64_t *in, *raw, *colours, *sums, *after, *keys; /* `colours` has a row for each choice */
    canon_fact *facts;
    canon_member *members;
    uint32_t *order, *positions, *twin, *way, *orbit;
    canon_outcome first, best;
    uint64_t *state;
    uint32_t fact_count, member_count, trials;
} canon_work;

static inline int canon_empty(const canon_moved *m, const uint64_t *raw)
{
    return m->length != CANON_NONE && raw[m->length] <= m->slot;
}

/* The leaf that a leaf becomes, and in *value its value there. */
static inline uint32_t canon_target(
    const canon_work *w, const canon_moved *m, const uint32_t *positions, uint64_t *value)
{
    const canon_step *step = w->c->step_table + m->first_step;
    uint64_t target = m->home, raw = w->raw[m->leaf];
    for (uint32_t i = 0; i < m->steps; i++, step++)
        target += step->power ? step->stride << positions[step->element] : step->stride * positions[step->element];
    *value = raw;
    if (m->kind == CANON_PLAIN || canon_empty(m, w->raw))
        return (uint32_t)target;
    if (m->kind == CANON_SET) {
        *value = 0;
        for (; raw != 0; raw &= raw - 1)
            *value |= (uint64_t)1 << positions[m->base + canon_lowest(raw)];
    } else if (raw >= m->offset)
        *value = positions[m->base + raw - m->offset] + m->offset;
    return (uint32_t)target;
}

/* The state with every element moved to its position. */
static void canon_rename(const canon_work *w, uint64_t *out)
{
    const canon *c = w->c;
    uint64_t value;
    for (uint32_t i = 0; i < c->words; i++)
        out[i] = w->in[i] & c->keep[i];
    for (uint32_t i = 0; i < c->moved; i++) {
        canon_place at = c->places[canon_target(w, &c->moves[i], w->positions, &value)];
        out[at.word] |= value << at.shift;
    }
}

/* Sorts the elements of a group by colour into `order`. */
static void canon_arrange(const canon_work *w, const canon_group *g, const uint64_t *colours)
{
    uint32_t *order = w->order + g->base;
    for (uint32_t i = 0; i < g->size; i++) {
        uint32_t element = g->base + i, at = i;
        for (; at != 0 && colours[order[at - 1]] > colours[element]; at--)
            order[at] = order[at - 1];
        order[at] = element;
    }
}

/* Sorts all groups that are not keyed, and answers how many colours they have. */
static uint32_t canon_colour_count(const canon_work *w, const uint64_t *colours)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->c->groups; i++) {
        const canon_group *g = &w->c->group_table[i];
        if (g->keyed)
            continue;
        canon_arrange(w, g, colours);
        const uint32_t *order = w->order + g->base;
        count++;
        for (uint32_t k = 1; k < g->size; k++)
            count += colours[order[k]] != colours[order[k - 1]];
    }
    return count;
}

/* One fact: about one element it adds to its colour, about several it is kept. */
static void canon_state(canon_work *w, const canon_moved *m, uint64_t kind, uint32_t value)
{
    uint32_t count = m->steps + (value != UINT32_MAX);
    const canon_step *step = w->c->step_table + m->first_step;
    canon_member *member = w->members + w->member_count;
    for (uint32_t i = 0; i < m->steps; i++)
        member[i] = (canon_member){step[i].element, step[i].place};
    if (value != UINT32_MAX)
        member[m->steps] = (canon_member){value, CANON_VALUE_PLACE};
    if (count == 1) {
        w->colours[member->element] += canon_mix(kind + member->place * CANON_GOLD);
        return;
    }
    w->facts[w->fact_count++] = (canon_fact){kind, w->member_count, count};
    w->member_count += count;
}

/* What the state says about elements that are not keyed, and the colours that single elements get from it. */
static void canon_read(canon_work *w)
{
    const canon *c = w->c;
    w->fact_count = w->member_count = 0;
    memset(w->colours, 0, c->elements * sizeof *w->colours);
    for (uint32_t i = 0; i < c->moved; i++) {
        const canon_moved *m = &c->moves[i];
        uint64_t value = w->raw[m->leaf];
        if (m->kind == CANON_PLAIN) {
            if (value != 0)
                canon_state(w, m, canon_mix(m->shape + value * CANON_GOLD), UINT32_MAX);
        } else if (canon_empty(m, w->raw))
            continue;
        else if (m->kind == CANON_SET)
            for (; value != 0; value &= value - 1)
                canon_state(w, m, m->shape, m->base + canon_lowest(value));
        else if (value >= m->offset)
            canon_state(w, m, m->shape, m->base + (uint32_t)value - m->offset);
    }
    for (uint32_t i = 0; i < c->elements; i++)
        w->colours[i] = canon_mix(w->colours[i]);
}

/* New colours in w->after: what the facts say with the present ones. */
static void canon_round(const canon_work *w, const uint64_t *colours)
{
    const canon *c = w->c;
    memset(w->sums, 0, c->elements * sizeof *w->sums);
    for (uint32_t i = 0; i < w->fact_count; i++) {
        const canon_fact *fact = &w->facts[i];
        const canon_member *member = w->members + fact->first;
        for (uint32_t k = 0; k < fact->count; k++) {
            uint64_t others = 0;
            for (uint32_t o = 0; o < fact->count; o++)
                if (o != k) {
                    uint64_t seen = member[o].element == member[k].element ? CANON_SELF : colours[member[o].element];
                    others += canon_mix(seen + member[o].place * CANON_GOLD);
                }
            w->sums[member[k].element] += canon_mix((fact->kind ^ others) + member[k].place * CANON_GOLD);
        }
    }
    for (uint32_t i = 0; i < c->elements; i++)
        w->after[i] = canon_mix(colours[i] ^ canon_mix(w->sums[i]));
}

/* Refines colours until they tell apart what the facts tell apart; `order` is left sorted by them. */
static void canon_refine(const canon_work *w, uint64_t *colours)
{
    uint32_t count = canon_colour_count(w, colours);
    while (w->fact_count != 0 && count < w->c->loose) {
        canon_round(w, colours);
        uint32_t finer = canon_colour_count(w, w->after);
        if (finer == count) {
            (void)canon_colour_count(w, colours);
            return;
        }
        memcpy(colours, w->after, w->c->elements * sizeof *colours);
        count = finer;
    }
}

/* Whether exchanging two elements leaves the state as it is.  Positions are those of the state as it stands. */
static int canon_exchange(const canon_work *w, uint32_t one, uint32_t other)
{
    const canon *c = w->c;
    uint32_t *positions = w->positions, kept = positions[one];
    uint64_t value;
    int same = 1;
    positions[one] = positions[other];
    positions[other] = kept;
    for (uint32_t i = 0; i < c->moved && same; i++) {
        uint32_t target = canon_target(w, &c->moves[i], positions, &value);
        same = w->raw[target] == value;
    }
    positions[other] = positions[one];
    positions[one] = kept;
    return same;
}

/* Gives elements of equal colour that can be exchanged the same number; `order` is sorted by colour. */
static void canon_find_twins(const canon_work *w, const canon_group *g, const uint64_t *colours)
{
    const uint32_t *order = w->order + g->base;
    uint32_t first = 0;
    for (uint32_t at = 0; at < g->size; at++) {
        uint32_t element = order[at];
        w->twin[element] = element;
        if (colours[element] != colours[order[first]])
            first = at;
        for (uint32_t k = first; k < at; k++)
            if (w->twin[order[k]] == order[k] && (g->single || canon_exchange(w, order[k], element))) {
                w->twin[element] = order[k];
                break;
            }
    }
}

static int canon_less(const uint64_t *x, const uint64_t *y, uint32_t words)
{
    for (uint32_t w = words; w-- != 0;)
        if (x[w] != y[w])
            return x[w] < y[w];
    return 0;
}

static void canon_note(canon_work *w, canon_outcome *outcome, uint32_t chosen)
{
    memcpy(outcome->state, w->state, w->c->words * sizeof *w->state);
    memcpy(outcome->way, w->way, chosen * sizeof *w->way);
    memcpy(outcome->order, w->order, w->c->elements * sizeof *w->order);
}

static uint32_t canon_root(const canon_work *w, uint32_t element)
{
    while (w->orbit[element] != element)
        element = w->orbit[element];
    return element;
}

/*
 * Number of first choices that the present way shares with a known one, or -1 if another state came out there.  Where
 * the states are the same the two orders show a symmetry, which is noted.
 */
static int canon_meets(const canon_work *w, const canon_outcome *known)
{
    if (memcmp(known->state, w->state, w->c->words * sizeof *w->state) != 0)
        return -1;
    for (uint32_t i = 0; i < w->c->groups; i++) {
        const canon_group *g = &w->c->group_table[i];
        for (uint32_t k = g->base; k < g->base + g->size && !g->keyed; k++)
            w->orbit[canon_root(w, known->order[k])] = canon_root(w, w->order[k]);
    }
    int shared = 0;
    while (known->way[shared] == w->way[shared])
        shared++;
    return shared;
}

/* Notes the state that comes out; answers how many choices still stand. */
static int canon_arrived(canon_work *w, uint32_t chosen)
{
    const canon *c = w->c;
    for (uint32_t i = 0; i < c->groups; i++) {
        const canon_group *g = &c->group_table[i];
        for (uint32_t k = 0; k < g->size && !g->keyed; k++)
            w->positions[w->order[g->base + k]] = k;
    }
    canon_rename(w, w->state);
    if (w->trials++ == 0) {
        canon_note(w, &w->first, chosen);
        canon_note(w, &w->best, chosen);
        return (int)chosen;
    }
    int shared = canon_meets(w, &w->first);
    if (shared < 0)
        shared = canon_meets(w, &w->best);
    if (shared >= 0)
        return shared;
    if (canon_less(w->state, w->best.state, c->words))
        canon_note(w, &w->best, chosen);
    return w->trials >= c->trials ? -1 : (int)chosen;
}

/*
 * The first elements of one colour that are not all twins: answers how many, and where they begin in w->order.  `order`
 * is sorted by colour, and by number among equals.
 */
static uint32_t canon_undecided(const canon_work *w, const uint64_t *colours, uint32_t *begin)
{
    for (uint32_t i = 0; i < w->c->groups; i++) {
        const canon_group *g = &w->c->group_table[i];
        const uint32_t *order = w->order + g->base;
        uint32_t first = 0, differ = 0;
        for (uint32_t at = 1; at <= g->size && !g->keyed; at++) {
            if (at == g->size || colours[order[at]] != colours[order[first]]) {
                if (differ) {
                    *begin = g->base + first;
                    return at - first;
                }
                first = at;
            } else
                differ |= w->twin[order[at]] != w->twin[order[first]];
        }
    }
    return 0;
}

static const canon_group *canon_group_of(const canon *c, uint32_t element)
{
    const canon_group *g = c->group_table;
    while (element >= g->base + g->size)
        g++;
    return g;
}

/* Whether an earlier element of the same colour stands for this one. */
static int canon_known(
    const canon_work *w, const canon_group *g, const uint64_t *colours, uint32_t element, int on_first_way)
{
    for (uint32_t earlier = g->base; earlier < element; earlier++)
        if (colours[earlier] == colours[element]
            && (on_first_way ? canon_root(w, earlier) == canon_root(w, element) : w->twin[earlier] == w->twin[element]))
            return 1;
    return 0;
}

/* Decides what is left to decide.  Answers how many choices still stand: fewer than `chosen` to go back. */
static int canon_try(canon_work *w, uint32_t chosen)
{
    uint32_t elements = w->c->elements, begin = 0;
    uint64_t *colours = w->colours + (uint64_t)chosen * elements, *after = colours + elements;
    uint32_t count = canon_undecided(w, colours, &begin);
    if (count == 0)
        return canon_arrived(w, chosen);
    /* The equals have one colour, so they are found again by it when deeper choices have reordered `order`. */
    uint64_t colour = colours[w->order[begin]];
    const canon_group *g = canon_group_of(w->c, begin);
    int on_first_way = w->trials == 0;
    for (uint32_t element = g->base; element < g->base + g->size; element++) {
        if (colours[element] != colour || canon_known(w, g, colours, element, on_first_way))
            continue;
        memcpy(after, colours, elements * sizeof *after);
        after[element] = canon_mix(after[element] + CANON_CHOSEN);
        canon_refine(w, after);
        w->way[chosen] = element;
        int standing = canon_try(w, chosen + 1);
        if (standing < (int)chosen)
            return standing;
    }
    return (int)chosen;
}

static void canon_search(canon_work *w, uint64_t *out)
{
    const canon *c = w->c;
    for (uint32_t i = 0; i < c->leaves; i++)
        w->raw[i] = canon_load(w->in, c->places[i]);
    canon_read(w);
    canon_refine(w, w->colours);
    for (uint32_t i = 0; i < c->groups; i++)
        if (!c->group_table[i].keyed)
            canon_find_twins(w, &c->group_table[i], w->colours);
    memcpy(w->orbit, w->twin, c->elements * sizeof *w->orbit);
    w->trials = 0;
    (void)canon_try(w, 0);
    memcpy(out, w->best.state, c->words * sizeof *out);
}
