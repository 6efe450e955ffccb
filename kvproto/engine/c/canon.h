/*
 * Canonical forms of states under renaming of elements.  What is computed, and why it is right, is told in
 * kvproto/engine/symmetry/canonical.py; this is the same in C, number for number.  The tables come from plan.py.
 *
 * Nothing is allocated while states are looked at: the caller passes `canon_scratch` words for each thread.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef EXPORT
#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif
#endif

enum { CANON_VERSION = 1, CANON_HEADER = 8 };
enum { CANON_PLAIN = 0, CANON_ELEMENT = 1, CANON_SET = 2 };
enum { CANON_VALUE_PLACE = 1 << 16 };

#define CANON_NONE UINT64_MAX
#define CANON_GOLD 0x9e3779b97f4a7c15u
#define CANON_SELF 0x6a09e667f3bcc909u
#define CANON_CHOSEN 0xbb67ae8584caa73bu

/* Where a leaf lies; `mask` is not shifted. */
typedef struct {
    uint64_t mask;
    uint32_t word, shift;
} canon_place;

typedef struct {
    uint64_t stride;
    uint32_t element, power, place;
} canon_step;

/* A leaf that renaming changes or moves. */
typedef struct {
    uint64_t shape, length; /* `length`: leaf with the length of the queue that this leaf is a part of, or CANON_NONE */
    uint32_t leaf, home, kind, base, size, offset, slot, first_step, steps;
} canon_moved;

typedef struct {
    uint32_t shift, first_place;
} canon_column;

typedef struct {
    canon_place at;
    uint32_t kind, offset, shift;
} canon_mention;

/* The elements of one sort, and of a keyed one the parts of its keys; `keep` has the bits that are about others. */
typedef struct {
    uint32_t base, size, single, keyed;
    uint32_t first_column, columns, first_mention, mentions;
    uint64_t *keep;
} canon_group;

typedef struct canon {
    uint32_t words, leaves, moved, groups, elements, steps, trials;
    uint32_t loose; /* elements of sorts that are not keyed */
    uint64_t facts, members, keys; /* room that the largest state needs */
    canon_place *places, *column_places;
    canon_moved *moves;
    canon_step *step_table;
    canon_group *group_table;
    canon_column *column_table;
    canon_mention *mention_table;
    uint64_t *keep, *group_keep;
} canon;

/* Something that a state says about several elements. */
typedef struct {
    uint64_t kind;
    uint32_t first, count;
} canon_fact;

typedef struct {
    uint32_t element, place;
} canon_member;

/* A state that came out, and the choices that led there. */
typedef struct {
    uint64_t *state;
    uint32_t *way, length;
} canon_outcome;

/* The work on one state, laid out in the caller's scratch. */
typedef struct {
    const canon *c;
    uint64_t *in, *raw, *colours, *sums, *after, *keys; /* `colours` has a row for each choice */
    canon_fact *facts;
    canon_member *members;
    uint32_t *order, *positions, *twin, *way;
    canon_outcome first, best;
    uint64_t *state;
    uint32_t fact_count, member_count, trials;
} canon_work;

static inline uint64_t canon_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline uint32_t canon_lowest(uint64_t x)
{
#if defined(__GNUC__)
    return (uint32_t)__builtin_ctzll(x);
#else
    uint32_t n = 0;
    for (; !(x & 1); x >>= 1)
        n++;
    return n;
#endif
}

static inline uint64_t canon_load(const uint64_t *words, canon_place at)
{
    return (words[at.word] >> at.shift) & at.mask;
}

/* ---------------------------------------------------------------------------------------------- keyed sorts */

/* The keys of a sort's elements, at keys[1]; keys[0] takes what is about none of them. */
static inline void canon_keys(const canon *c, const canon_group *g, const uint64_t *s, uint64_t *keys)
{
    memset(keys, 0, (size_t)c->keys * sizeof *keys);
    const canon_column *column = c->column_table + g->first_column;
    for (uint32_t i = 0; i < g->columns; i++, column++) {
        const canon_place *at = c->column_places + column->first_place;
        for (uint32_t k = 0; k < g->size; k++)
            keys[k + 1] |= canon_load(s, at[k]) << column->shift;
    }
    const canon_mention *mention = c->mention_table + g->first_mention;
    for (uint32_t i = 0; i < g->mentions; i++, mention++) {
        uint64_t value = canon_load(s, mention->at), bit = (uint64_t)1 << mention->shift;
        if (mention->kind == CANON_ELEMENT)
            keys[value + 1 - mention->offset] |= bit;
        else
            for (; value != 0; value &= value - 1)
                keys[canon_lowest(value) + 1] |= bit;
    }
}

/* Sorts the numbers 0..size-1 by key; answers 0 if they were in order. */
static inline int canon_sort(uint32_t *order, const uint64_t *keys, uint32_t size)
{
    int moved = 0;
    order[0] = 0;
    for (uint32_t i = 1; i < size; i++) {
        uint32_t at = i;
        for (; at != 0 && keys[order[at - 1]] > keys[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
        moved |= at != i;
    }
    return moved;
}

/* Writes the part of a state that is about a keyed sort, renamed. */
static inline void canon_rewrite(
    const canon *c, const canon_group *g, const uint64_t *s, uint64_t *out, const uint32_t *order, const uint32_t *positions)
{
    for (uint32_t w = 0; w < c->words; w++)
        out[w] &= g->keep[w];
    const canon_column *column = c->column_table + g->first_column;
    for (uint32_t i = 0; i < g->columns; i++, column++) {
        const canon_place *at = c->column_places + column->first_place;
        for (uint32_t k = 0; k < g->size; k++)
            out[at[k].word] |= canon_load(s, at[order[k]]) << at[k].shift;
    }
    const canon_mention *mention = c->mention_table + g->first_mention;
    for (uint32_t i = 0; i < g->mentions; i++, mention++) {
        uint64_t value = canon_load(s, mention->at), renamed = 0;
        if (mention->kind == CANON_SET)
            for (; value != 0; value &= value - 1)
                renamed |= (uint64_t)1 << positions[canon_lowest(value)];
        else
            renamed = value < mention->offset ? value : positions[value - mention->offset] + mention->offset;
        out[mention->at.word] |= renamed << mention->at.shift;
    }
}

/* --------------------------------------------------------------------------------------------- all other sorts */

static inline int canon_empty(const canon_moved *m, const uint64_t *raw)
{
    return m->length != CANON_NONE && raw[m->length] <= m->slot;
}

/* The leaf that a leaf becomes, and in *value its value there. */
static inline uint32_t canon_target(const canon_work *w, const canon_moved *m, const uint32_t *positions, uint64_t *value)
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
    outcome->length = chosen;
}

/* Number of first choices that the present way shares with a known one, or -1 if another state came out there. */
static int canon_meets(const canon_work *w, const canon_outcome *known)
{
    if (memcmp(known->state, w->state, w->c->words * sizeof *w->state) != 0)
        return -1;
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
    uint32_t base = 0, size = 0;
    for (uint32_t i = 0; i < w->c->groups; i++)
        if (w->c->group_table[i].base <= begin) {
            base = w->c->group_table[i].base;
            size = w->c->group_table[i].size;
        }
    for (uint32_t element = base; element < base + size; element++) {
        if (colours[element] != colour)
            continue;
        uint32_t earlier = base;
        while (earlier < element && (colours[earlier] != colour || w->twin[earlier] != w->twin[element]))
            earlier++;
        if (earlier < element)
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
    w->trials = 0;
    (void)canon_try(w, 0);
    memcpy(out, w->best.state, c->words * sizeof *out);
}

/* ------------------------------------------------------------------------------------------------- interface */

/* Hands out the scratch; answers how many words it takes.  With `at` NULL it only counts. */
static uint64_t canon_lay_out(const canon *c, uint64_t *at, canon_work *w)
{
    const uint64_t numbers = ((uint64_t)c->elements + 2) / 2 + 1; /* words for one 32-bit number an element */
    const uint64_t rows = c->loose == 0 ? 0 : (uint64_t)c->loose + 2;
    uint64_t used = 0;
#define CANON_TAKE(type, field, count) (at == NULL ? (void)0 : (void)(w->field = (type *)(at + used)), used += (count))
    CANON_TAKE(uint64_t, in, c->words);
    CANON_TAKE(uint64_t, keys, c->keys);
    CANON_TAKE(uint32_t, order, numbers);
    CANON_TAKE(uint32_t, positions, numbers);
    if (rows != 0) {
        CANON_TAKE(uint64_t, raw, c->leaves);
        CANON_TAKE(uint64_t, colours, rows * c->elements);
        CANON_TAKE(uint64_t, sums, c->elements);
        CANON_TAKE(uint64_t, after, c->elements);
        CANON_TAKE(canon_fact, facts, c->facts * (sizeof(canon_fact) / sizeof(uint64_t)));
        CANON_TAKE(canon_member, members, c->members);
        CANON_TAKE(uint32_t, twin, numbers);
        CANON_TAKE(uint32_t, way, numbers);
        CANON_TAKE(uint32_t, first.way, numbers);
        CANON_TAKE(uint32_t, best.way, numbers);
        CANON_TAKE(uint64_t, state, c->words);
        CANON_TAKE(uint64_t, first.state, c->words);
        CANON_TAKE(uint64_t, best.state, c->words);
    }
#undef CANON_TAKE
    return used;
}

/* Words of scratch that one thread needs. */
static uint64_t canon_scratch(const canon *c)
{
    return canon_lay_out(c, NULL, NULL);
}

/* The representative of state `in`, into `out`, which may be the same words. */
static void canon_apply(const canon *c, uint64_t *scratch, const uint64_t *in, uint64_t *out)
{
    canon_work w;
    w.c = c;
    (void)canon_lay_out(c, scratch, &w);
    for (uint32_t i = 0; i < c->words; i++)
        w.in[i] = out[i] = in[i];
    for (uint32_t i = 0; i < c->groups; i++) {
        const canon_group *g = &c->group_table[i];
        uint32_t *order = w.order + g->base, *positions = w.positions + g->base;
        if (!g->keyed) {
            for (uint32_t k = 0; k < g->size; k++)
                positions[k] = k;
            continue;
        }
        canon_keys(c, g, w.in, w.keys);
        if (!canon_sort(order, w.keys + 1, g->size))
            continue;
        for (uint32_t k = 0; k < g->size; k++)
            positions[order[k]] = k;
        canon_rewrite(c, g, w.in, out, order, positions);
    }
    if (c->loose != 0) {
        /* Keyed sorts are in order by now, and have nothing to do with the others. */
        for (uint32_t i = 0; i < c->words; i++)
            w.in[i] = out[i];
        for (uint32_t i = 0; i < c->groups; i++)
            for (uint32_t k = 0; k < c->group_table[i].size; k++)
                w.positions[c->group_table[i].base + k] = k;
        canon_search(&w, out);
    }
}

static void canon_free(canon *c)
{
    if (c == NULL)
        return;
    void *const blocks[] = {c->places, c->column_places, c->moves, c->step_table, c->group_table,
        c->column_table, c->mention_table, c->keep, c->group_keep, c};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        free(blocks[i]);
}

static void canon_forget(uint64_t *keep, canon_place at)
{
    keep[at.word] &= ~(at.mask << at.shift);
}

/* Reads the description of a keyed sort; answers where it ends. */
static const uint64_t *canon_read_group(canon *c, canon_group *g, const uint64_t *at, uint32_t *columns, uint32_t *mentions, uint32_t *places)
{
    g->first_column = *columns;
    g->first_mention = *mentions;
    for (uint32_t i = 0; i < g->columns; i++) {
        c->column_table[(*columns)++] = (canon_column){(uint32_t)*at++, *places};
        for (uint32_t k = 0; k < g->size; k++) {
            canon_place here = c->places[*at++];
            canon_forget(g->keep, here);
            c->column_places[(*places)++] = here;
        }
    }
    for (uint32_t i = 0; i < g->mentions; i++, at += 4) {
        canon_mention *m = &c->mention_table[(*mentions)++];
        m->at = c->places[at[0]];
        m->kind = (uint32_t)at[1];
        m->offset = (uint32_t)at[2];
        m->shift = (uint32_t)at[3];
        canon_forget(g->keep, m->at);
        if (m->kind == CANON_ELEMENT && m->at.mask + 2 > c->keys)
            c->keys = m->at.mask + 2;
    }
    return at;
}

/* Tables from the numbers of plan.py, or NULL when there is no memory or the numbers are of another version. */
static canon *canon_new(const uint64_t *spec)
{
    if (spec[0] != CANON_VERSION)
        return NULL;
    canon *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->words = (uint32_t)spec[1];
    c->leaves = (uint32_t)spec[2];
    c->moved = (uint32_t)spec[3];
    c->groups = (uint32_t)spec[4];
    c->elements = (uint32_t)spec[5];
    c->steps = (uint32_t)spec[6];
    c->trials = (uint32_t)spec[7];
    /* Every column has a leaf of its own for each element, every mention one leaf. */
    c->places = calloc((size_t)c->leaves + 1, sizeof *c->places);
    c->column_places = calloc((size_t)c->leaves + 1, sizeof *c->column_places);
    c->column_table = calloc((size_t)c->leaves + 1, sizeof *c->column_table);
    c->mention_table = calloc((size_t)c->leaves + 1, sizeof *c->mention_table);
    c->moves = calloc((size_t)c->moved + 1, sizeof *c->moves);
    c->step_table = calloc((size_t)c->steps + 1, sizeof *c->step_table);
    c->group_table = calloc((size_t)c->groups + 1, sizeof *c->group_table);
    c->keep = calloc((size_t)c->words + 1, sizeof *c->keep);
    c->group_keep = calloc((size_t)c->groups * c->words + 1, sizeof *c->group_keep);
    if (c->places == NULL || c->column_places == NULL || c->column_table == NULL || c->mention_table == NULL || c->moves == NULL
        || c->step_table == NULL || c->group_table == NULL || c->keep == NULL || c->group_keep == NULL) {
        canon_free(c);
        return NULL;
    }
    const uint64_t *at = spec + CANON_HEADER;
    memset(c->keep, 0xff, c->words * sizeof *c->keep);
    memset(c->group_keep, 0xff, (size_t)c->groups * c->words * sizeof *c->group_keep);
    for (uint32_t i = 0; i < c->leaves; i++, at += 3)
        c->places[i] = (canon_place){at[2] == 64 ? UINT64_MAX : ((uint64_t)1 << at[2]) - 1, (uint32_t)at[0], (uint32_t)at[1]};
    uint32_t steps = 0, columns = 0, mentions = 0, places = 0;
    for (uint32_t i = 0; i < c->moved; i++) {
        canon_moved *m = &c->moves[i];
        *m = (canon_moved){canon_mix((at[8] + 1) * CANON_GOLD), at[6], (uint32_t)at[0], (uint32_t)at[1], (uint32_t)at[2],
            (uint32_t)at[3], (uint32_t)at[4], (uint32_t)at[5], (uint32_t)at[7], steps, (uint32_t)at[9]};
        canon_forget(c->keep, c->places[m->leaf]);
        uint64_t most = m->kind == CANON_SET ? m->size : 1;
        c->facts += most;
        c->members += most * (m->steps + 1);
        at += 10;
        for (uint32_t k = 0; k < m->steps; k++, at += 4)
            c->step_table[steps++] = (canon_step){at[1], (uint32_t)at[0], (uint32_t)at[2], (uint32_t)at[3]};
    }
    for (uint32_t i = 0; i < c->groups; i++) {
        canon_group *g = &c->group_table[i];
        *g = (canon_group){(uint32_t)at[0], (uint32_t)at[1], (uint32_t)at[2], (uint32_t)at[3], 0, (uint32_t)at[4], 0, (uint32_t)at[5],
            c->group_keep + (size_t)i * c->words};
        if (g->size + 1 > c->keys)
            c->keys = g->size + 1;
        c->loose += g->keyed ? 0 : g->size;
        at = canon_read_group(c, g, at + 6, &columns, &mentions, &places);
    }
    return c;
}

/* For tests and measurements: the same from outside, for many states at once. */

EXPORT void *kv_canon_new(const uint64_t *spec)
{
    return canon_new(spec);
}

EXPORT void kv_canon_free(void *c)
{
    canon_free(c);
}

EXPORT uint64_t kv_canon_scratch(const void *c)
{
    return canon_scratch(c);
}

EXPORT void kv_canon_apply(const void *table, uint64_t *scratch, const uint64_t *in, uint64_t *out, uint64_t states)
{
    const canon *c = table;
    for (uint64_t i = 0; i < states; i++)
        canon_apply(c, scratch, in + i * c->words, out + i * c->words);
}
