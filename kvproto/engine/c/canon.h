/*
 * Canonical forms of states under renaming of elements.  What is computed, and why it is right, is told in
 * kvproto/engine/symmetry/canonical.py; this is the same in C, number for number.  The tables come from tables.py.
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
    uint32_t base, size, single, keyed, key_words;
    uint32_t first_column, columns, first_mention, mentions;
    uint64_t *keep;
} canon_group;

typedef struct canon {
    uint32_t words, leaves, moved, groups, elements, steps, trials;
    uint32_t loose; /* elements of sorts that are not keyed */
    uint64_t facts, members, keys; /* room that the largest state needs; `keys`: elements of a row of keys */
    uint32_t key_words;
    canon_place *places, *column_places;
    canon_moved *moves;
    canon_step *step_table;
    canon_group *group_table;
    canon_column *column_table;
    canon_mention *mention_table;
    uint64_t *keep, *group_keep;
} canon;

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

/*
 * The keys of a sort's elements.  Each word of them is a row of c->keys numbers: the first takes what is about no
 * element, then comes one for each element.
 */
static inline void canon_keys(const canon *c, const canon_group *g, const uint64_t *s, uint64_t *keys)
{
    memset(keys, 0, (size_t)c->keys * g->key_words * sizeof *keys);
    const canon_column *column = c->column_table + g->first_column;
    for (uint32_t i = 0; i < g->columns; i++, column++) {
        const canon_place *at = c->column_places + column->first_place;
        uint64_t *row = keys + (column->shift >> 6) * c->keys + 1;
        for (uint32_t k = 0; k < g->size; k++)
            row[k] |= canon_load(s, at[k]) << (column->shift & 63);
    }
    const canon_mention *mention = c->mention_table + g->first_mention;
    for (uint32_t i = 0; i < g->mentions; i++, mention++) {
        uint64_t value = canon_load(s, mention->at), bit = (uint64_t)1 << (mention->shift & 63);
        uint64_t *row = keys + (mention->shift >> 6) * c->keys;
        if (mention->kind == CANON_ELEMENT)
            row[value + 1 - mention->offset] |= bit;
        else
            for (; value != 0; value &= value - 1)
                row[canon_lowest(value) + 1] |= bit;
    }
}

/* Whether the key of one element is greater than that of another; the last word decides first. */
static inline int canon_greater(const canon *c, const uint64_t *keys, uint32_t words, uint32_t one, uint32_t other)
{
    for (uint32_t w = words; w-- != 0;)
        if (keys[w * c->keys + one] != keys[w * c->keys + other])
            return keys[w * c->keys + one] > keys[w * c->keys + other];
    return 0;
}

/* Sorts the numbers 0..size-1 by key; answers 0 if they were in order.  `keys` starts with element 0. */
static inline int canon_sort(const canon *c, const canon_group *g, uint32_t *order, const uint64_t *keys)
{
    int moved = 0;
    order[0] = 0;
    for (uint32_t i = 1; i < g->size; i++) {
        uint32_t at = i;
        if (g->key_words == 1)
            for (; at != 0 && keys[order[at - 1]] > keys[i]; at--)
                order[at] = order[at - 1];
        else
            for (; at != 0 && canon_greater(c, keys, g->key_words, order[at - 1], i); at--)
                order[at] = order[at - 1];
        order[at] = i;
        moved |= at != i;
    }
    return moved;
}

/* Writes the part of a state that is about a keyed sort, renamed. */
static inline void canon_rewrite(const canon *c, const canon_group *g, const uint64_t *s, uint64_t *out,
    const uint32_t *order, const uint32_t *positions)
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

#include "canon_order.h"

/* ------------------------------------------------------------------------------------------------- interface */

/* Hands out the scratch; answers how many words it takes.  With `at` NULL it only counts. */
static uint64_t canon_lay_out(const canon *c, uint64_t *at, canon_work *w)
{
    const uint64_t numbers = ((uint64_t)c->elements + 2) / 2 + 1; /* words for one 32-bit number an element */
    const uint64_t rows = c->loose == 0 ? 0 : (uint64_t)c->loose + 2;
    uint64_t used = 0;
#define CANON_TAKE(type, field, count) (at == NULL ? (void)0 : (void)(w->field = (type *)(at + used)), used += (count))
    CANON_TAKE(uint64_t, in, c->words);
    CANON_TAKE(uint64_t, keys, c->keys * c->key_words);
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
        CANON_TAKE(uint32_t, orbit, numbers);
        CANON_TAKE(uint32_t, first.way, numbers);
        CANON_TAKE(uint32_t, first.order, numbers);
        CANON_TAKE(uint32_t, best.way, numbers);
        CANON_TAKE(uint32_t, best.order, numbers);
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
        if (!canon_sort(c, g, order, w.keys + 1))
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

static uint64_t canon_mask(uint64_t bits)
{
    return bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

static void canon_forget(uint64_t *keep, canon_place at)
{
    keep[at.word] &= ~(at.mask << at.shift);
}

/* Room for the tables; every column has a leaf of its own for each element, every mention has one leaf. */
static int canon_allocate(canon *c)
{
    c->places = calloc((size_t)c->leaves + 1, sizeof *c->places);
    c->column_places = calloc((size_t)c->leaves + 1, sizeof *c->column_places);
    c->column_table = calloc((size_t)c->leaves + 1, sizeof *c->column_table);
    c->mention_table = calloc((size_t)c->leaves + 1, sizeof *c->mention_table);
    c->moves = calloc((size_t)c->moved + 1, sizeof *c->moves);
    c->step_table = calloc((size_t)c->steps + 1, sizeof *c->step_table);
    c->group_table = calloc((size_t)c->groups + 1, sizeof *c->group_table);
    c->keep = calloc((size_t)c->words + 1, sizeof *c->keep);
    c->group_keep = calloc((size_t)c->groups * c->words + 1, sizeof *c->group_keep);
    return c->places != NULL && c->column_places != NULL && c->column_table != NULL && c->mention_table != NULL
           && c->moves != NULL && c->step_table != NULL && c->group_table != NULL && c->keep != NULL
           && c->group_keep != NULL;
}

/* The readers below take what `Plan.packed` of tables.py has written, in the same order, and answer where they end. */

static const uint64_t *canon_read_moves(canon *c, const uint64_t *at)
{
    uint32_t steps = 0;
    for (uint32_t i = 0; i < c->moved; i++) {
        canon_moved *m = &c->moves[i];
        m->leaf = (uint32_t)at[0];
        m->home = (uint32_t)at[1];
        m->kind = (uint32_t)at[2];
        m->base = (uint32_t)at[3];
        m->size = (uint32_t)at[4];
        m->offset = (uint32_t)at[5];
        m->length = at[6];
        m->slot = (uint32_t)at[7];
        m->shape = canon_mix((at[8] + 1) * CANON_GOLD);
        m->steps = (uint32_t)at[9];
        m->first_step = steps;
        at += 10;
        canon_forget(c->keep, c->places[m->leaf]);
        uint64_t most = m->kind == CANON_SET ? m->size : 1;
        c->facts += most;
        c->members += most * (m->steps + 1);
        for (uint32_t k = 0; k < m->steps; k++, at += 4)
            c->step_table[steps++] = (canon_step){at[1], (uint32_t)at[0], (uint32_t)at[2], (uint32_t)at[3]};
    }
    return at;
}

/* Columns and mentions of a keyed sort; `used` counts columns, mentions and places of columns so far. */
static const uint64_t *canon_read_keys(canon *c, canon_group *g, const uint64_t *at, uint32_t used[3])
{
    g->first_column = used[0];
    g->first_mention = used[1];
    uint64_t last = 0; /* the first bit of the last part of a key; no part straddles words */
    for (uint32_t i = 0; i < g->columns; i++) {
        uint64_t mask = canon_mask(at[1]);
        last = at[0] > last ? at[0] : last;
        c->column_table[used[0]++] = (canon_column){(uint32_t)at[0], used[2]};
        at += 2;
        for (uint32_t k = 0; k < g->size; k++, at += 2) {
            canon_place here = {mask, (uint32_t)at[0], (uint32_t)at[1]};
            canon_forget(g->keep, here);
            c->column_places[used[2]++] = here;
        }
    }
    for (uint32_t i = 0; i < g->mentions; i++, at += 4) {
        canon_mention *m = &c->mention_table[used[1]++];
        m->at = c->places[at[0]];
        m->kind = (uint32_t)at[1];
        m->offset = (uint32_t)at[2];
        m->shift = (uint32_t)at[3];
        canon_forget(g->keep, m->at);
        last = at[3] > last ? at[3] : last;
        if (m->kind == CANON_ELEMENT && m->at.mask + 2 > c->keys)
            c->keys = m->at.mask + 2;
    }
    g->key_words = (uint32_t)(last / 64 + 1);
    if (g->key_words > c->key_words)
        c->key_words = g->key_words;
    return at;
}

static void canon_read_groups(canon *c, const uint64_t *at)
{
    uint32_t used[3] = {0, 0, 0};
    for (uint32_t i = 0; i < c->groups; i++) {
        canon_group *g = &c->group_table[i];
        g->base = (uint32_t)at[0];
        g->size = (uint32_t)at[1];
        g->single = (uint32_t)at[2];
        g->keyed = (uint32_t)at[3];
        g->columns = (uint32_t)at[4];
        g->mentions = (uint32_t)at[5];
        g->keep = c->group_keep + (size_t)i * c->words;
        if (g->size + 1 > c->keys)
            c->keys = g->size + 1;
        c->loose += g->keyed ? 0 : g->size;
        at = canon_read_keys(c, g, at + 6, used);
    }
}

/* Tables from the numbers of tables.py, or NULL when there is no memory or the numbers are of another version. */
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
    if (!canon_allocate(c)) {
        canon_free(c);
        return NULL;
    }
    memset(c->keep, 0xff, c->words * sizeof *c->keep);
    memset(c->group_keep, 0xff, (size_t)c->groups * c->words * sizeof *c->group_keep);
    const uint64_t *at = spec + CANON_HEADER;
    for (uint32_t i = 0; i < c->leaves; i++, at += 3) {
        c->places[i] = (canon_place){canon_mask(at[2]), (uint32_t)at[0], (uint32_t)at[1]};
    }
    canon_read_groups(c, canon_read_moves(c, at));
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
