/*
 * The search on several threads, with the same results as on one: the same numbers for the same states.
 *
 * A round takes the next few thousand states of a level through three steps, with all threads at the same step:
 *  1. Expand.  Threads take runs of states from a counter and write successors that the table does not know into buffers of
 *     their own.  The table is only read.
 *  2. Enter.  Each thread enters the successors whose hash falls into its part of the table, in order, so of equal
 *     successors the first one stays (in a numbered store under a provisional number).  Parts meet only where a probe runs
 *     past the end of one, hence compare-and-swap.
 *  3. Settle.  What stayed is numbered in order; threads copy it into the store, link it and judge it.
 * What is "the first" of something (violation, fault, deadlock) is decided by the order of events, not by who was faster.
 */
#if KV_POSIX && defined(__GNUC__)
#define KV_THREADS 1

enum { RUN = 64, ROUND = 1 << 14 };

enum { STEP_EXPAND, STEP_ENTER, STEP_SETTLE, STEP_LEAVE };

/* A successor that the table did not know, by its place in its thread's buffers. */
typedef struct {
    uint32_t source, tag, action, fresh; /* source: counted from the first state of the round */
    uint64_t slot;
} finding;

/* A run of states and what came of it: findings `begin` to `end` of thread `owner`. */
typedef struct {
    uint32_t owner, begin, end, first; /* first: number of its first finding among those of the round */
} run_of_states;

/* The first of something: `moment` orders events of a round. */
typedef struct {
    uint64_t moment, state;
    int64_t action;
} first_hit;

typedef struct {
    worker scratch;
    finding *found;
    uint64_t *words, *keys;
    uint64_t found_count, found_room;
    uint64_t transitions, violating, outside, inside, deadlock;
    uint64_t *fired, *violation, *witness;
    first_hit *faults;
    uint64_t fresh; /* new states among its share of the findings */
    int broken, full;
    pthread_t thread;
    struct team *team;
    uint32_t number;
} member;

typedef struct team {
    kv_engine *e;
    member *members;
    uint32_t count, started, room;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    uint32_t waiting;
    uint64_t turns;
    /* the round */
    uint64_t first, sources, runs, found;
    uint64_t next_run;
    run_of_states *table_of_runs;
    int step; /* what the threads do when they wake */
} team;

/* All threads wait here for each other. */
static void meet(team *t)
{
    pthread_mutex_lock(&t->lock);
    uint64_t turn = t->turns;
    if (++t->waiting == t->count) {
        t->waiting = 0;
        t->turns++;
        pthread_cond_broadcast(&t->turn);
    } else {
        while (turn == t->turns)
            pthread_cond_wait(&t->turn, &t->lock);
    }
    pthread_mutex_unlock(&t->lock);
}

/* ---------------------------------------------------------------------------------------- 1. expand */

/* Room for a batch more; buffers belong to the round, not to the memory limit of states. */
static int member_room(const kv_engine *e, member *m, uint64_t more)
{
    if (m->found_count + more <= m->found_room)
        return 1;
    uint64_t room = 2 * (m->found_count + more);
    finding *found = realloc(m->found, (size_t)room * sizeof *found);
    if (found != NULL)
        m->found = found;
    uint64_t *words = realloc(m->words, (size_t)room * e->words * sizeof *words);
    if (words != NULL)
        m->words = words;
    uint64_t *keys = e->kind == NUMBERED ? NULL : realloc(m->keys, (size_t)room * KEY_ROOM * sizeof *keys);
    if (keys != NULL)
        m->keys = keys;
    if (found == NULL || words == NULL || (e->kind != NUMBERED && keys == NULL))
        return 0;
    m->found_room = room;
    return 1;
}

static void note_fault(const kv_engine *e, member *m, uint32_t fault, uint64_t moment, uint64_t state, int64_t action)
{
    if (fault >= e->faults)
        m->broken = 1;
    else if (moment < m->faults[fault].moment)
        m->faults[fault] = (first_hit){moment, state, action};
}

/* The order of events in a round: by source, then by the action that was tried. */
static uint64_t moment_of(uint64_t source, uint32_t action)
{
    return source << 32 | action;
}

/* Keeps successor k of a batch unless the table knows it. */
INLINE void keep_successor(const kv_engine *e, member *m, uint64_t source, uint32_t k, uint32_t words, store_kind kind)
{
    const worker *w = &m->scratch;
    const event *next = &w->events[k];
    const uint64_t *s = w->successors + (uint64_t)k * words, *key = w->keys + (uint64_t)k * KEY_ROOM;
    m->transitions++;
    m->fired[next->action]++;
    if (next->like == LATELY)
        return;
    if (kind == NUMBERED) {
        if (next->like != 0 && LIKELY(same_words(state_words(e, next->like - 1, words), s, words)))
            return;
    } else if (knows_key(e->table, e->table_slots, key, next->tag, kind == PRINTS ? 2 : words)) {
        return;
    }
    m->found[m->found_count] = (finding){(uint32_t)source, next->tag, next->action, 0, 0};
    memcpy(m->words + m->found_count * words, s, words * sizeof(uint64_t));
    if (kind != NUMBERED)
        memcpy(m->keys + m->found_count * KEY_ROOM, key, KEY_ROOM * sizeof(uint64_t));
    m->found_count++;
}

INLINE void keep_events(const kv_engine *e, member *m, uint64_t from, uint32_t count, uint32_t words, store_kind kind)
{
    const worker *w = &m->scratch;
    uint32_t k = 0;
    for (uint32_t i = 0; i < count; i++) {
        const source *at = &w->sources[i];
        uint64_t number = from + i, state = m->team->first + number;
        for (; k < at->end; k++) {
            const event *next = &w->events[k];
            if (next->action & FAULTED)
                note_fault(e, m, next->tag, moment_of(number, next->action & ~FAULTED), state, fault_action(next));
            else
                keep_successor(e, m, number, k, words, kind);
        }
        if (at->deadlock && state < m->deadlock)
            m->deadlock = state;
        if (at->outside)
            m->outside++;
        else
            m->inside++;
    }
}

INLINE void expand_runs(team *t, member *m, uint32_t words, store_kind kind)
{
    const kv_engine *e = t->e;
    for (;;) {
        uint64_t run = __atomic_fetch_add(&t->next_run, 1, __ATOMIC_RELAXED);
        if (run >= t->runs || m->broken || m->full)
            return;
        run_of_states *at = &t->table_of_runs[run];
        at->owner = m->number;
        at->begin = (uint32_t)m->found_count;
        uint64_t from = run * RUN, end = from + RUN < t->sources ? from + RUN : t->sources;
        while (from < end) {
            if (!member_room(e, m, m->scratch.event_room)) {
                m->full = 1;
                return;
            }
            uint32_t count = generate(e, &m->scratch, t->first + from, end - from, words, kind);
            if (count == NO_ACTION) {
                m->broken = 1;
                return;
            }
            keep_events(e, m, from, count, words, kind);
            from += count;
        }
        at->end = (uint32_t)m->found_count;
    }
}

/* ----------------------------------------------------------------------------------------- 2. enter */

/* The words of finding number `g` of the round. */
static const uint64_t *words_of_finding(const team *t, uint64_t g)
{
    uint64_t low = 0, high = t->runs;
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;
        if (t->table_of_runs[middle].first <= g)
            low = middle;
        else
            high = middle;
    }
    const run_of_states *run = &t->table_of_runs[low];
    return t->members[run->owner].words + (run->begin + (g - run->first)) * t->e->words;
}

/* In a numbered store: enters a finding under a provisional number, unless an equal one is there. */
static void enter_finding(team *t, finding *f, const uint64_t *s, uint64_t g)
{
    kv_engine *e = t->e;
    uint64_t mine = (uint64_t)f->tag << 32 | (e->states + g + 1), at = home(f->tag, e->table_slots);
    for (;; at = at + 1 == e->table_slots ? 0 : at + 1) {
        uint64_t entry = __atomic_load_n(&e->table[at], __ATOMIC_RELAXED);
        if (entry == 0 && __atomic_compare_exchange_n(&e->table[at], &entry, mine, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            f->fresh = 1;
            f->slot = at;
            return;
        }
        if ((uint32_t)(entry >> 32) != f->tag)
            continue;
        uint64_t number = (uint32_t)entry - 1;
        const uint64_t *other =
            number < e->states ? state_words(e, number, e->words) : words_of_finding(t, number - e->states);
        if (same_words(other, s, e->words))
            return;
    }
}

/*
 * Else: enters the key of a finding, unless the table knows it.  Several threads may want the same empty slot, where the part of
 * one runs over into the part of the next; so a slot is claimed by its first word, and its second word is waited for.
 */
static void enter_finding_key(team *t, finding *f, const uint64_t *key)
{
    kv_engine *e = t->e;
    uint32_t width = e->slot_words;
    uint64_t claim = width == 1 ? key[0] : key[e->claim_word], other = width == 1 ? 0 : key[1 - e->claim_word];
    for (uint64_t at = home(f->tag, e->table_slots);; at = at + 1 == e->table_slots ? 0 : at + 1) {
        uint64_t *slot = e->table + at * width, *first = slot + (width == 1 ? 0 : e->claim_word);
        uint64_t seen = __atomic_load_n(first, __ATOMIC_ACQUIRE);
        if (seen == 0 && __atomic_compare_exchange_n(first, &seen, claim, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            if (width == 2)
                __atomic_store_n(slot + 1 - e->claim_word, other, __ATOMIC_RELEASE);
            f->fresh = 1;
            return;
        }
        /* Equal keys have equal hashes and so the same thread: a slot that is half written is never equal. */
        if (seen == claim && (width == 1 || __atomic_load_n(slot + 1 - e->claim_word, __ATOMIC_ACQUIRE) == other))
            return;
    }
}

static void enter_share(team *t, member *m)
{
    const kv_engine *e = t->e;
    for (uint64_t run = 0; run < t->runs; run++) {
        const run_of_states *at = &t->table_of_runs[run];
        member *owner = &t->members[at->owner];
        for (uint32_t k = at->begin; k < at->end; k++) {
            finding *f = &owner->found[k];
            if (((uint64_t)f->tag * t->count) >> 32 != m->number)
                continue;
            if (e->kind == NUMBERED)
                enter_finding(t, f, owner->words + (uint64_t)k * e->words, at->first + (k - at->begin));
            else
                enter_finding_key(t, f, owner->keys + (uint64_t)k * KEY_ROOM);
        }
    }
}

/* ---------------------------------------------------------------------------------------- 3. settle */

static void judge_finding(const kv_engine *e, member *m, uint64_t state, const uint64_t *s, uint64_t moment)
{
    int violates = 0;
    uint32_t fault = 0;
    for (uint32_t i = 0; i < e->claims; i++)
        switch (run_block(e, &m->scratch, e->actions + i, s, NULL, &fault)) {
        case IS_TRUE:
            break;
        case IS_FALSE:
            violates = 1;
            if (state < m->violation[i])
                m->violation[i] = state;
            break;
        case IS_FAULT:
            note_fault(e, m, fault, moment, state, -1);
            break;
        default:
            m->broken = 1;
        }
    m->violating += (uint64_t)violates;
    for (uint32_t k = 0; k < e->open_count; k++) {
        uint32_t probe = e->open_probes[k];
        if (m->witness[probe] == NO_STATE
            && run_block(e, &m->scratch, e->actions + e->claims + probe, s, NULL, &fault) != IS_FALSE)
            m->witness[probe] = state;
    }
}

/* Which new states come before this run is known from the runs before it: `first` now counts new states. */
static void settle_runs(team *t, member *m)
{
    kv_engine *e = t->e;
    for (;;) {
        uint64_t run = __atomic_fetch_add(&t->next_run, 1, __ATOMIC_RELAXED);
        if (run >= t->runs)
            return;
        const run_of_states *at = &t->table_of_runs[run];
        const member *owner = &t->members[at->owner];
        uint64_t state = e->states + at->first;
        for (uint32_t k = at->begin; k < at->end; k++) {
            const finding *f = &owner->found[k];
            if (!f->fresh)
                continue;
            const uint64_t *s = owner->words + (uint64_t)k * e->words;
            if (e->kind == NUMBERED)
                e->table[f->slot] = (uint64_t)f->tag << 32 | (state + 1);
            put_words(e, state, s, e->words);
            link_state(e, state, (uint32_t)(t->first + f->source), f->action);
            judge_finding(e, m, state, s, moment_of(f->source, f->action));
            state++;
        }
    }
}

#else
#define KV_THREADS 0
#endif
