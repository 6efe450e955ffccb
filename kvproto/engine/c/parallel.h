/*
 * The search on several threads, with the same results as on one: the same numbers for the same states.
 *
 * A round takes the next few thousand states of a level through three steps, with all threads at the same step:
 *  1. Expand.  Threads take runs of states from a counter.  Each thread writes its successors into buffers of its own,
 *     one for each part of the table.  Of the table only a numbered one is read.
 *  2. Enter (enter.h).  Each thread enters what was found for its part of the table, in order, so of equal successors
 *     the first one stays.  No line is written by two threads.
 *  3. Settle.  What stayed is numbered in order; threads copy it into the store, link it and judge it.
 * What is "the first" of something (violation, fault, deadlock) is decided by the order of events, not by who was
 * faster.
 */
#if KV_POSIX && defined(__GNUC__)
#define KV_THREADS 1

enum { RUN = 256, ROUND = 1 << 15, SPINS = 500 };

enum { STEP_EXPAND, STEP_ENTER, STEP_SETTLE, STEP_LEAVE };

/*
 * A successor that may be new.  `source` counts from the first state of the round; `slot`: 1 + where it stays, 0 if it
 * does not.
 */
typedef struct {
    uint32_t source, tag, action;
    uint64_t slot;
} finding;

/* What one thread has found for one part of the table; `prints` only where fingerprints stand for states. */
typedef struct {
    finding *found;
    uint64_t *words, *prints;
    uint64_t count, room;
} share;

/* The findings of one run in one share, and how many of them are new. */
typedef struct {
    uint32_t begin, end, fresh;
} slice;

/*
 * A run of states and what came of it: thread `owner` notes the parts of its findings, in order, from `begin` to `end`.
 */
typedef struct {
    uint32_t owner, begin, end, first; /* first: number of its first new state among those of the round */
} run_of_states;

/* The first of something: `moment` orders events of a round. */
typedef struct {
    uint64_t moment, state;
    int64_t action;
} first_hit;

/* A finding that waits for the end of the step, see enter.h. */
typedef struct {
    uint64_t run;
    uint32_t number;
} leftover;

typedef struct {
    worker scratch;
    share *shares;  /* one for each part of the table */
    uint8_t *parts; /* to which share each finding went */
    uint64_t part_count, part_room;
    const uint64_t **entered; /* in a numbered store: the words of what this thread gave provisional numbers */
    leftover *left;
    uint64_t entered_count, left_count, enter_room;
    uint64_t transitions, violating, outside, inside, deadlock;
    uint64_t *fired, *violation, *witness;
    first_hit *faults;
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
    uint32_t waiting, sleeping;
    uint64_t turns;
    /* the round */
    uint64_t first, sources, runs;
    uint64_t next_run;
    run_of_states *table_of_runs;
    slice *slices; /* of each run, one for each part */
    int step;      /* what the threads do when they wake */
} team;

/* All threads wait here for each other: for a moment awake, because the others are soon there, then asleep. */
static void meet(team *t)
{
    uint64_t turn = __atomic_load_n(&t->turns, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&t->waiting, 1, __ATOMIC_ACQ_REL) == __atomic_load_n(&t->count, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&t->waiting, 0, __ATOMIC_RELAXED);
        pthread_mutex_lock(&t->lock);
        __atomic_store_n(&t->turns, turn + 1, __ATOMIC_RELEASE);
        if (t->sleeping != 0)
            pthread_cond_broadcast(&t->turn);
        pthread_mutex_unlock(&t->lock);
        return;
    }
    for (uint32_t i = 0; i < SPINS; i++) {
        if (__atomic_load_n(&t->turns, __ATOMIC_ACQUIRE) != turn)
            return;
        PAUSE();
    }
    pthread_mutex_lock(&t->lock);
    t->sleeping++;
    while (turn == __atomic_load_n(&t->turns, __ATOMIC_ACQUIRE))
        pthread_cond_wait(&t->turn, &t->lock);
    t->sleeping--;
    pthread_mutex_unlock(&t->lock);
}

/* ---------------------------------------------------------------------------------------- 1. expand */

/* Room for so many more findings; buffers belong to the round, not to the memory limit of states. */
static int share_room(const kv_engine *e, share *to, uint64_t more)
{
    if (to->count + more <= to->room)
        return 1;
    uint64_t room = 2 * (to->count + more);
    finding *found = realloc(to->found, (size_t)room * sizeof *found);
    if (found != NULL)
        to->found = found;
    uint64_t *words = realloc(to->words, (size_t)room * e->words * sizeof *words);
    if (words != NULL)
        to->words = words;
    uint64_t *prints = e->kind != PRINTS ? NULL : realloc(to->prints, (size_t)room * KEY_ROOM * sizeof *prints);
    if (prints != NULL)
        to->prints = prints;
    if (found == NULL || words == NULL || (e->kind == PRINTS && prints == NULL))
        return 0;
    to->room = room;
    return 1;
}

/* Room for what a batch may find. */
static int member_room(const team *t, member *m)
{
    uint64_t more = m->scratch.event_room;
    for (uint32_t part = 0; part < t->count; part++)
        if (!share_room(t->e, &m->shares[part], more))
            return 0;
    if (m->part_count + more <= m->part_room)
        return 1;
    uint64_t room = 2 * (m->part_count + more);
    uint8_t *parts = realloc(m->parts, (size_t)room);
    if (parts == NULL)
        return 0;
    m->parts = parts;
    m->part_room = room;
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

/* Keeps pending successor k of a batch, with those for the same part of the table. */
INLINE void keep_successor(const team *t, member *m, uint64_t source, uint32_t k, uint32_t words, store_kind kind)
{
    const worker *w = &m->scratch;
    const event *next = &w->events[k];
    if (kind == NUMBERED && same_as_like(t->e, w, k, words))
        return;
    uint32_t part = (uint32_t)(((uint64_t)next->tag * t->count) >> 32);
    share *to = &m->shares[part];
    uint64_t *s = to->words + to->count * words;
    const uint64_t *from = w->successors + (uint64_t)k * words;
    for (uint32_t i = 0; i < words; i++)
        s[i] = from[i];
    if (kind == PRINTS)
        memcpy(to->prints + to->count * KEY_ROOM, key_at(w, k, words, kind), KEY_ROOM * sizeof(uint64_t));
    to->found[to->count++] = (finding){(uint32_t)source, next->tag, next->action, 0};
    m->parts[m->part_count++] = (uint8_t)part;
}

INLINE void keep_events(const team *t, member *m, uint64_t from, uint32_t count, uint32_t words, store_kind kind)
{
    worker *w = &m->scratch;
    uint32_t k = 0, pending = 0;
    w->pending[w->pending_count] = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const source *at = &w->sources[i];
        uint64_t number = from + i, state = t->first + number;
        for (; k < at->end; k++) {
            const event *next = &w->events[k];
            if (UNLIKELY(next->action & FAULTED)) {
                note_fault(t->e, m, next->tag, moment_of(number, next->action & ~FAULTED), state, fault_action(next));
                continue;
            }
            m->transitions++;
            m->fired[next->action]++;
        }
        for (; w->pending[pending] < at->end; pending++)
            keep_successor(t, m, number, w->pending[pending], words, kind);
        if (at->deadlock && state < m->deadlock)
            m->deadlock = state;
        if (at->outside)
            m->outside++;
        else
            m->inside++;
    }
}

/* Expands one run of states; 0 if it cannot be done, and then the member says why. */
INLINE int expand_run(team *t, member *m, uint64_t run, uint32_t words, store_kind kind)
{
    uint64_t from = run * RUN, end = from + RUN < t->sources ? from + RUN : t->sources;
    while (from < end) {
        if (!member_room(t, m)) {
            m->full = 1;
            return 0;
        }
        uint32_t count = generate(t->e, &m->scratch, t->first + from, end - from, words, kind);
        if (count == NO_ACTION) {
            m->broken = 1;
            return 0;
        }
        if (kind == NUMBERED)
            look_up_batch(t->e, &m->scratch, words, NUMBERED, 0);
        keep_events(t, m, from, count, words, kind);
        from += count;
    }
    return 1;
}

INLINE void expand_runs(team *t, member *m, uint32_t words, store_kind kind)
{
    for (;;) {
        uint64_t run = __atomic_fetch_add(&t->next_run, 1, __ATOMIC_RELAXED);
        if (run >= t->runs)
            return;
        run_of_states *at = &t->table_of_runs[run];
        slice *slices = t->slices + run * t->count;
        at->owner = m->number;
        at->begin = (uint32_t)m->part_count;
        for (uint32_t part = 0; part < t->count; part++)
            slices[part] = (slice){(uint32_t)m->shares[part].count, 0, 0};
        if (!expand_run(t, m, run, words, kind))
            return;
        at->end = (uint32_t)m->part_count;
        for (uint32_t part = 0; part < t->count; part++)
            slices[part].end = (uint32_t)m->shares[part].count;
    }
}

#else
#define KV_THREADS 0
#endif
