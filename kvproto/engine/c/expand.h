/*
 * Successors of a state, in the order of the actions.
 *
 * Conditions that depend on one small leaf do not run as code.  For each window of up to 8 state bits a table holds,
 * for each value of these bits, the set of actions that may be enabled.  And-ing one row per window leaves few actions
 * to run.
 *
 * A batch of states goes through loops that each do one thing to all successors: run, hash, look among the last ones,
 * fetch lines of the table, look there.  Within one loop nothing waits for anything else, so the processor overlaps
 * what has to come from memory; and what is decided by chance is counted and not branched on.
 */

/* Words of an entry among the last successors: a fingerprint, or the state itself. */
INLINE uint32_t recent_width(uint32_t words, store_kind kind)
{
    return kind == PRINTS ? KEY_ROOM : words;
}

static uint64_t recent_words(const kv_engine *e)
{
    return (uint64_t)recent_width(e->words, e->kind) << RECENT_BITS;
}

/* Where among the last successors one is looked for; all bits of the tag count, those of the quotient too. */
INLINE uint32_t recent_place(uint32_t tag)
{
    return tag * 0x9e3779b1u >> (32 - RECENT_BITS);
}

/* The tag of what an entry holds. */
static uint32_t recent_tag(const kv_engine *e, const uint64_t *key)
{
    return e->extra != 0 ? tag_of_pair(e, key) : hash_state(key, e->words, e->seed);
}

/*
 * Forgets all successors.  An entry that is nothing but zeros is met by no key, except where zeros themselves belong;
 * another key, which belongs elsewhere, lies there.
 */
static void forget_recent(const kv_engine *e, worker *w)
{
    if (w->recent == NULL)
        return;
    memset(w->recent, 0, recent_words(e) * sizeof *w->recent);
    uint64_t key[RECENT_WORDS] = {0};
    uint32_t zeros = recent_place(recent_tag(e, key));
    while (recent_place(recent_tag(e, key)) == zeros)
        key[0]++;
    w->recent[(uint64_t)zeros * recent_width(e->words, e->kind)] = key[0];
}

/* Scratch of one thread; 0 when there is no memory.  It is small and does not count against the limit. */
static int fill_worker(const kv_engine *e, worker *w)
{
    w->event_room = e->actions + EVENTS;
    w->registers = calloc((size_t)e->registers + 1, sizeof(int64_t));
    w->candidates = calloc((size_t)e->set_words + 1, sizeof(uint64_t));
    w->canonical = calloc((size_t)canonical_scratch(e) + 1, sizeof(uint64_t));
    w->successors = calloc((size_t)w->event_room * e->words + 1, sizeof(uint64_t));
    w->keys = calloc(e->kind == PRINTS ? (size_t)w->event_room * KEY_ROOM : 1, sizeof(uint64_t));
    w->events = calloc(w->event_room, sizeof(event));
    w->pending = calloc((size_t)w->event_room + 1, sizeof(uint32_t)); /* and an end mark */
    /* Without it a search is only slower. */
    w->recent = e->words <= RECENT_WORDS && e->por == NULL ? calloc(recent_words(e), sizeof(uint64_t)) : NULL;
    forget_recent(e, w);
    return w->registers != NULL && w->candidates != NULL && w->canonical != NULL && w->successors != NULL
           && w->keys != NULL && w->events != NULL && w->pending != NULL;
}

static void free_worker(worker *w)
{
    void *const blocks[] = {w->registers, w->candidates, w->canonical, w->successors,
                            w->keys,      w->events,     w->pending,   w->recent};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        free(blocks[i]);
}

/* What a slot holds for successor k of the batch: a fingerprint, or the state itself. */
INLINE const uint64_t *key_at(const worker *w, uint32_t k, uint32_t words, store_kind kind)
{
    return kind == PRINTS ? w->keys + (uint64_t)k * KEY_ROOM : w->successors + (uint64_t)k * words;
}

/*
 * Whether this thread has made the same successor a moment ago; if not, it has now.  Steps that can be taken in either
 * order lead to one state from two neighbours in the queue, so this small table saves about two thirds of the look-ups
 * in the big one.  Who is the first to make a successor enters it, in order; when entering fails, `forget_recent` must
 * follow.
 */
INLINE int seen_lately(worker *w, const uint64_t *key, uint32_t tag, uint32_t words, store_kind kind)
{
    uint32_t width = recent_width(words, kind);
    uint64_t *at = w->recent + (uint64_t)recent_place(tag) * width;
    int seen = same_words(at, key, width);
    for (uint32_t i = 0; i < width; i++)
        at[i] = key[i];
    return seen;
}

/* The set of actions whose guards hold in `s`, left in w->candidates. */
INLINE void find_candidates(const kv_engine *e, worker *w, const uint64_t *s)
{
    uint64_t *set = w->candidates;
    for (uint32_t i = 0; i < e->set_words; i++)
        set[i] = e->all_actions[i];
    const window *end = e->window_table + e->windows;
    for (const window *at = e->window_table; at != end; at++) {
        const uint64_t *row = at->rows + (s[at->word] >> at->shift & at->mask) * (at->high - at->low);
        for (uint32_t i = at->low; i < at->high; i++)
            set[i] &= *row++;
    }
}

/* The same for up to FEW_SET_WORDS words: every row has that many, and the set stays in registers. */
INLINE void find_few_candidates(const kv_engine *e, const uint64_t *s, uint64_t *set)
{
    uint64_t first = e->all_actions[0], second = e->all_actions[1];
    const window *end = e->window_table + e->windows;
    for (const window *at = e->window_table; at != end; at++) {
        const uint64_t *row = at->rows + (s[at->word] >> at->shift & at->mask) * FEW_SET_WORDS;
        first &= row[0];
        second &= row[1];
    }
    set[0] = first;
    set[1] = second;
}

/* Runs 64 actions, those in `set`, and appends what comes of them to the batch; answers like `expand`. */
INLINE uint32_t run_candidates(const kv_engine *e, worker *w, const uint64_t *s, uint64_t set, uint32_t first,
                               uint32_t used, uint32_t words)
{
    for (; set != 0; set &= set - 1) {
        uint32_t action = first + lowest_bit(set);
        uint64_t *out = w->successors + (uint64_t)used * words;
        event *next = &w->events[used];
        switch (run_block(e, w, action, s, out, &next->tag)) {
        case NOT_ENABLED:
            break;
        case DONE:
            if (UNLIKELY(e->canon != NULL))
                canonicalize(e, w, out);
            next->action = action;
            used++;
            break;
        case IS_FAULT:
            next->action = action | FAULTED;
            used++;
            break;
        default:
            return NO_ACTION;
        }
    }
    return used;
}

/*
 * Appends the successors and faults of `s` to the batch; answers how many events there are then, NO_ACTION if broken.
 */
INLINE uint32_t expand(const kv_engine *e, worker *w, const uint64_t *s, uint32_t used, uint32_t words)
{
    if (LIKELY(e->set_words <= FEW_SET_WORDS)) {
        uint64_t set[FEW_SET_WORDS];
        find_few_candidates(e, s, set);
        used = run_candidates(e, w, s, set[0], 0, used, words);
        if (set[1] != 0 && used != NO_ACTION)
            used = run_candidates(e, w, s, set[1], 64, used, words);
        return used;
    }
    find_candidates(e, w, s);
    for (uint32_t i = 0; i < e->set_words && used != NO_ACTION; i++)
        used = run_candidates(e, w, s, w->candidates[i], i * 64, used, words);
    return used;
}

/* A state without successor and without fault: is it allowed to be one?  Answers like `expand`. */
static uint32_t end_of_run(const kv_engine *e, worker *w, const uint64_t *s, source *at, uint32_t used)
{
    event *next = &w->events[used];
    switch (run_block(e, w, e->terminal, s, NULL, &next->tag)) {
    case IS_TRUE:
        return used;
    case IS_FALSE:
        at->deadlock = 1;
        return used;
    case IS_FAULT:
        next->action = NO_ACTION;
        return used + 1;
    default:
        return NO_ACTION;
    }
}

/* Whether the state satisfies the constraint; a fault in it is an event.  Answers like `expand`. */
static uint32_t judge_constraint(const kv_engine *e, worker *w, const uint64_t *s, source *at, uint32_t used)
{
    event *next = &w->events[used];
    switch (run_block(e, w, e->constraint, s, NULL, &next->tag)) {
    case IS_TRUE:
        return used;
    case IS_FALSE:
        at->outside = 1;
        return used;
    case IS_FAULT:
        at->outside = 1;
        next->action = NO_ACTION;
        return used + 1;
    default:
        return NO_ACTION;
    }
}

/* All that follows from one state: what `expand` finds, or the end of a run.  Answers like `expand`. */
INLINE uint32_t expand_state(const kv_engine *e, worker *w, const uint64_t *s, source *at, uint32_t used,
                             uint32_t words)
{
    uint32_t before = used;
    at->deadlock = at->outside = 0;
    if (UNLIKELY(e->constraint != NO_BLOCK)) {
        used = judge_constraint(e, w, s, at, used);
        if (at->outside || used == NO_ACTION)
            return used;
    }
    used = expand(e, w, s, used, words);
    if (used == before && e->terminal != NO_BLOCK)
        used = end_of_run(e, w, s, at, used);
    return used;
}

/* Hashes the successors of the batch and notes those that were not seen lately as pending. */
INLINE void hash_batch(const kv_engine *e, worker *w, uint32_t used, uint32_t words, store_kind kind)
{
    uint32_t pending = 0;
    for (uint32_t k = 0; k < used; k++) {
        event *next = &w->events[k];
        if (UNLIKELY(next->action & FAULTED))
            continue;
        uint64_t *print = w->keys + (kind == PRINTS ? (uint64_t)k * KEY_ROOM : 0);
        next->tag = tag_of(e, w->successors + (uint64_t)k * words, print, words, kind);
        w->pending[pending] = k;
        pending += w->recent == NULL || !seen_lately(w, key_at(w, k, words, kind), next->tag, words, kind);
    }
    w->pending_count = pending;
}

/* Asks for the lines of the table in which pending successors are looked for. */
INLINE void fetch_lines(const kv_engine *e, const worker *w)
{
    for (uint32_t i = 0; i < w->pending_count; i++)
        PREFETCH(line_at(e, home(w->events[w->pending[i]].tag, e->table_lines)));
}

/* Drops the pending successors that the table knows; in a numbered store they are left to `same_as_like`. */
INLINE void look_up_batch(const kv_engine *e, worker *w, uint32_t words, store_kind kind, uint32_t extra)
{
    fetch_lines(e, w);
    uint32_t kept = 0, count = w->pending_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = w->pending[i];
        event *next = &w->events[k];
        if (kind == NUMBERED) {
            next->like = find_like(e, next->tag, words);
            continue;
        }
        w->pending[kept] = k;
        kept += !knows_key(e, key_at(w, k, words, kind), next->tag, extra);
    }
    if (kind != NUMBERED)
        w->pending_count = kept;
}

/* In a numbered store: whether pending successor k is the stored state that `look_up_batch` found for its hash. */
INLINE int same_as_like(const kv_engine *e, const worker *w, uint32_t k, uint32_t words)
{
    uint32_t like = w->events[k].like;
    return like != 0 && LIKELY(same_words(state_words(e, like - 1, words), w->successors + (uint64_t)k * words, words));
}

/*
 * Expands up to `wanted` states from number `first` into the batch, as far as there is room; answers how many, or
 * NO_ACTION. What may be new among their successors is pending then.
 */
INLINE uint32_t generate(const kv_engine *e, worker *w, uint64_t first, uint64_t wanted, uint32_t words,
                         store_kind kind)
{
    uint32_t count = 0, used = 0;
    while (count < wanted && count < BATCH && used + e->actions < w->event_room) {
        const uint64_t *s = state_words(e, first + count, words);
        source *at = &w->sources[count++];
        uint32_t before = used;
        used = expand_state(e, w, s, at, used, words);
        if (UNLIKELY(used == NO_ACTION))
            return NO_ACTION;
        at->reduced = UNLIKELY(e->por != NULL) && used - before > 1 && por_choose(e, w, s, before, used);
        at->end = used;
    }
    hash_batch(e, w, used, words, kind);
    return count;
}
