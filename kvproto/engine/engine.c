/*
 * The C tier: breadth-first exploration of one kvproto program.
 *
 * `bytecode.py` packs a program into 16-byte slots; this library interprets them (or runs them as printed C, tier 2),
 * stores the states they produce and answers what `explorer.py` asks.  Everything hangs off one `kv_engine`; there are
 * no globals. This file is the interface; its parts are one compilation unit, so that the compiler sees through them:
 */
#include "c/base.h"
#include "c/canon.h"
#include "c/data.h"
#include "c/memory.h"
#include "c/interpret.h"
#include "c/hash.h"
#include "c/table.h"
#include "c/store.h"
#include "c/symmetry.h"
#include "c/por.h"
#include "c/expand.h"
#include "c/search.h"
#include "c/parallel.h"
#include "c/enter.h"
#include "c/rounds.h"
#include "c/tables.h"
#include "c/graph.h"

/* ------------------------------------------------------------------------------------------- the library */

EXPORT uint32_t kv_abi(void)
{
    return KV_ABI;
}

/* Hash of the source text this library was built from; see compile_c.py. */
EXPORT const char *kv_source_hash(void)
{
    return KV_SOURCE_HASH;
}

/* -------------------------------------------------------------------------------------------- an engine */

EXPORT void kv_free(kv_engine *e)
{
    if (e == NULL)
        return;
#if KV_THREADS
    close_team(e);
#endif
    for (uint64_t i = 0; i < e->chunk_count; i++)
        free_chunk(e, &e->chunks[i], i);
    free_arenas(e);
    give(e, e->spare, e->spare_room * sizeof *e->spare);
    free_tables(e);
    free_worker(&e->own);
    free_por(e);
    give(e, e->chunks, e->chunk_room * sizeof(chunk));
    if (e->table != e->region)
        give(e, e->table, e->table_lines * LINE_BYTES);
    close_region(e);
    free(e->strays);
    free(e->root_words);
    free(e->compiled);
    free_canon(e);
#if KV_POSIX
    if (e->spill_file >= 0)
        close(e->spill_file);
#endif
    free(e);
}

/* An engine for the program, or NULL when there is not enough memory.  Nothing of `spec` is kept. */
EXPORT kv_engine *kv_new(const kv_spec *spec)
{
    kv_engine *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    e->limit = spec->memory_limit;
    e->held = sizeof *e;
    e->spill_file = -1;
    if (!fill_tables(e, spec) || !fill_canon(e, spec) || !fill_por(e, spec) || !fill_worker(e, &e->own)
        || !open_spill(e, spec->spill) || !reserve(e, 1)) {
        kv_free(e);
        return NULL;
    }
#if KV_THREADS
    if (e->workers > 1)
        open_team(e);
#endif
    return e;
}

/*
 * From now on run printed C: one function for each block, in the order of block numbers.  Between two calls of
 * kv_advance.
 */
EXPORT int kv_compile(kv_engine *e, const compiled_block *blocks)
{
    compiled_block *copy = malloc(e->blocks * sizeof *copy);
    if (copy == NULL)
        return KV_MEMORY;
    memcpy(copy, blocks, e->blocks * sizeof *copy);
    e->compiled = copy;
    return KV_OK;
}

/* Number of threads that expand states. */
EXPORT uint32_t kv_workers(const kv_engine *e)
{
#if KV_THREADS
    return e->team == NULL ? 1 : e->team->count;
#else
    (void)e;
    return 1;
#endif
}

/* ------------------------------------------------------------------------------------------- the search */

/* Adds `count` initial states; known ones are dropped.  All of them come before the first kv_advance. */
EXPORT int kv_start(kv_engine *e, const uint64_t *initial, uint64_t count)
{
    uint64_t key[KEY_ROOM];
    for (uint64_t i = 0; i < count; i++) {
        uint64_t *s = e->own.successors;
        memcpy(s, initial + i * e->words, e->words * sizeof(uint64_t));
        if (e->canon != NULL)
            canonicalize(e, &e->own, s);
        mark_present(e, s);
        if (!reserve(e, 1))
            return KV_MEMORY;
        uint32_t tag = tag_of(e, s, key, e->words, e->kind);
        uint64_t state = add_state(e, s, e->kind == PRINTS ? key : s, tag, e->words, e->kind, e->extra);
        if (state == NO_STATE)
            continue;
        link_state(e, state, NO_PARENT, 0);
        judge(e, state, s);
        if (!keep_root(e, s))
            return KV_MEMORY;
    }
    e->level_end = e->states;
    return e->broken ? KV_BROKEN : KV_OK;
}

/* Expands up to that many states, not past the end of the level. */
EXPORT int kv_advance(kv_engine *e, uint64_t expansions)
{
    uint64_t left = e->level_end - e->expanded, wanted = expansions < left ? expansions : left;
#if KV_THREADS
    int status = e->team != NULL ? advance_together(e, wanted) : advance_any(e, wanted);
#else
    int status = advance_any(e, wanted);
#endif
    if (e->expanded == e->level_end && e->states > e->expanded) {
        e->level++;
        e->level_begin = e->expanded;
        e->level_end = e->states;
    }
    return status;
}

/* ------------------------------------------------------------------------------------------ the answers */

/*
 * states, expanded, transitions, level, first state of the level, violating states, deadlock, bytes held, deepest level
 * with a state inside the constraint, states outside of it
 */
EXPORT void kv_counters(const kv_engine *e, uint64_t *out)
{
    const uint64_t counters[] = {e->states,      e->expanded,  e->transitions, e->level, e->level_begin,
                                 e->violating,   e->deadlock,  e->held,        e->depth, e->outside};
    memcpy(out, counters, sizeof counters);
}

/* First state that violates the claim, or all ones. */
EXPORT uint64_t kv_violation(const kv_engine *e, uint32_t claim)
{
    return e->violation[claim];
}

/* First state in which the probe is true, or all ones. */
EXPORT uint64_t kv_witness(const kv_engine *e, uint32_t probe)
{
    return e->witness[probe];
}

/* Whether the fault was met, and where first; action is -1 for a claim or the terminal predicate. */
EXPORT int kv_fault(const kv_engine *e, uint32_t fault, uint64_t *state, int64_t *action)
{
    *state = e->fault_table[fault].state;
    *action = e->fault_table[fault].action;
    return *state != NO_STATE;
}

/* How often each action produced a successor. */
EXPORT void kv_fired(const kv_engine *e, uint64_t *out)
{
    if (e->actions != 0)
        memcpy(out, e->fired, e->actions * sizeof(uint64_t));
}

/*
 * Number of steps from an initial state (left in *root) to `state`.  The last `room` actions are written,
 * last first, so one call with room 0 and one with the answer give the path.
 */
EXPORT uint64_t kv_path(const kv_engine *e, uint64_t state, uint64_t *root, uint32_t *actions, uint64_t room)
{
    uint64_t steps = 0;
    for (;;) {
        uint32_t parent = parent_of(e, state);
        if (parent == NO_PARENT)
            break;
        if (steps < room)
            actions[steps] = action_of(e, state);
        steps++;
        state = parent;
    }
    *root = state;
    return steps;
}

/*
 * The packed words of a state.  Unless the store is numbered those of expanded states are made again from their path.
 */
EXPORT int kv_state(kv_engine *e, uint64_t state, uint64_t *out)
{
    int status = KV_OK;
    if (e->chunks[state >> e->chunk_bits].words != NULL)
        memcpy(out, state_words(e, state, e->words), e->words * sizeof(uint64_t));
    else
        status = remake_state(e, state, out);
    unmark_present(e, out);
    return status;
}

/*
 * The transitions of the states from `first` on, up to `last`, as far as `room` edges go: offsets[i] is where those of
 * state first + i begin.  Answers how many states are done.
 */
EXPORT uint64_t kv_edges(kv_engine *e, uint64_t first, uint64_t last, uint64_t *offsets, uint32_t *actions,
                         uint32_t *targets, uint64_t room)
{
    uint64_t used = 0;
    uint64_t state = first;
    for (; state < last && room - used >= e->actions; state++) {
        offsets[state - first] = used;
        used += edges_of(e, state, actions + used, targets + used);
    }
    offsets[state - first] = used;
    forget_recent(e, &e->own); /* what was met here is not entered anywhere */
    return state - first;
}

/* The value of a predicate in the states from `first` up to `last`, one byte each: 0, 1, or 2 where it goes wrong. */
EXPORT void kv_test(kv_engine *e, uint32_t predicate, uint64_t first, uint64_t last, uint8_t *out)
{
    uint32_t block = e->actions + e->claims + e->probes + predicate, fault;
    for (uint64_t state = first; state < last; state++)
        switch (run_block(e, &e->own, block, state_words(e, state, e->words), NULL, &fault)) {
        case IS_TRUE:
            *out++ = 1;
            break;
        case IS_FALSE:
            *out++ = 0;
            break;
        default:
            *out++ = 2;
        }
}

/* ----------------------------------------------------------------------------------------- checkpoints */

/* Number of u64 in what kv_save_meta writes. */
EXPORT uint64_t kv_meta_size(const kv_engine *e)
{
    return 12 + (uint64_t)e->claims + e->actions + e->probes + 2 * (uint64_t)e->faults;
}

/* Everything that is known about the search apart from its states. */
EXPORT void kv_save_meta(const kv_engine *e, uint64_t *out)
{
    const uint64_t counters[] = {e->states, e->expanded, e->transitions, e->level,    e->level_begin, e->level_end,
                                 e->depth,  e->outside,  e->violating,   e->deadlock, e->roots,       (uint64_t)e->kind};
    memcpy(out, counters, sizeof counters);
    out += 12;
    memcpy(out, e->violation, e->claims * sizeof(uint64_t));
    memcpy(out + e->claims, e->fired, e->actions * sizeof(uint64_t));
    memcpy(out + e->claims + e->actions, e->witness, e->probes * sizeof(uint64_t));
    memcpy(out + e->claims + e->actions + e->probes, e->fault_table, e->faults * sizeof(fault_hit));
}

/* Whether numbers that `kv_save_meta` may have written name nothing but states and actions that are there. */
static int fits_states(const kv_engine *e, const uint64_t *in)
{
    uint64_t expanded = in[1], begin = in[4], end = in[5];
    if (in[0] != e->states || begin > expanded || expanded > end || end > e->states || in[10] != e->roots
        || (in[11] == PRINTS) != (e->kind == PRINTS) || (in[9] != NO_STATE && in[9] >= e->states))
        return 0;
    const uint64_t *violation = in + 12, *witness = violation + e->claims + e->actions, *faults = witness + e->probes;
    for (uint32_t i = 0; i < e->claims; i++)
        if (violation[i] != NO_STATE && violation[i] >= e->states)
            return 0;
    for (uint32_t i = 0; i < e->probes; i++)
        if (witness[i] != NO_STATE && witness[i] >= e->states)
            return 0;
    for (uint32_t i = 0; i < e->faults; i++) {
        uint64_t state = faults[2 * i], action = faults[2 * i + 1] + 1; /* 0 for a claim */
        if (state != NO_STATE && (state >= e->states || action > e->actions))
            return 0;
    }
    return 1;
}

/* The reverse, after kv_load has brought the states back; KV_BROKEN if it does not fit them. */
EXPORT int kv_load_meta(kv_engine *e, const uint64_t *in)
{
    if (!fits_states(e, in))
        return KV_BROKEN;
    e->expanded = in[1];
    e->transitions = in[2];
    e->level = in[3];
    e->level_begin = in[4];
    e->level_end = in[5];
    e->depth = in[6];
    e->outside = in[7];
    e->violating = in[8];
    e->deadlock = in[9];
    in += 12;
    memcpy(e->violation, in, e->claims * sizeof(uint64_t));
    memcpy(e->fired, in + e->claims, e->actions * sizeof(uint64_t));
    memcpy(e->witness, in + e->claims + e->actions, e->probes * sizeof(uint64_t));
    memcpy(e->fault_table, in + e->claims + e->actions + e->probes, e->faults * sizeof(fault_hit));
    e->open_count = 0;
    for (uint32_t i = 0; i < e->probes; i++)
        if (e->witness[i] == NO_STATE)
            e->open_probes[e->open_count++] = i;
    free_expanded(e);
    return KV_OK;
}

/* Copies the links of states: with the initial states they are all that is needed to make the states again. */
EXPORT void kv_save(const kv_engine *e, uint64_t first, uint64_t last, uint32_t *parents, uint32_t *actions)
{
    for (uint64_t state = first; state < last; state++) {
        *parents++ = parent_of(e, state);
        *actions++ = action_of(e, state);
    }
}

/*
 * Makes states again from their links, in order, after kv_start and before kv_load_meta; they are not judged.
 * KV_BROKEN if the links cannot be those of a search of this program.
 */
EXPORT int kv_load(kv_engine *e, uint64_t count, const uint32_t *parents, const uint32_t *actions)
{
    uint64_t key[KEY_ROOM], *s = e->own.successors;
    uint32_t fault;
    for (uint64_t i = 0; i < count; i++) {
        if (parents[i] >= e->states || parents[i] < e->expanded || actions[i] >= e->actions)
            return KV_BROKEN;
        e->expanded = parents[i]; /* parents come in order: those before it have no more children */
        free_expanded(e);
        if (!reserve(e, 1))
            return KV_MEMORY;
        if (run_block(e, &e->own, actions[i], state_words(e, parents[i], e->words), s, &fault) != DONE)
            return KV_BROKEN;
        if (e->canon != NULL)
            canonicalize(e, &e->own, s);
        uint32_t tag = tag_of(e, s, key, e->words, e->kind);
        uint64_t state = add_state(e, s, e->kind == PRINTS ? key : s, tag, e->words, e->kind, e->extra);
        if (state == NO_STATE)
            return KV_BROKEN;
        link_state(e, state, parents[i], actions[i]);
    }
    return KV_OK;
}
