/*
 * Successors of a state, in the order of the actions.
 *
 * Conditions that depend on one small leaf do not run as code.  For each window of up to 8 state bits a table holds, for each
 * value of these bits, the set of actions that may be enabled.  And-ing one row per window leaves few actions to run.
 */

static uint64_t recent_words(const kv_engine *e)
{
    return (uint64_t)RECENT * ((e->kind == NUMBERED ? e->words : e->slot_words) + 1);
}

/* Scratch of one thread; 0 when there is no memory.  It is small and does not count against the limit. */
static int fill_worker(const kv_engine *e, worker *w)
{
    w->event_room = e->actions + EVENTS;
    w->registers = calloc((size_t)e->registers + 1, sizeof(int64_t));
    w->candidates = calloc((size_t)e->set_words + 1, sizeof(uint64_t));
    w->canonical = calloc((size_t)canonical_scratch(e) + 1, sizeof(uint64_t));
    w->successors = calloc((size_t)w->event_room * e->words + 1, sizeof(uint64_t));
    w->keys = calloc((size_t)w->event_room * KEY_ROOM, sizeof(uint64_t));
    w->events = calloc(w->event_room, sizeof(event));
    /* Without it a search is only slower. */
    w->recent = e->words <= RECENT_WORDS && e->por == NULL ? calloc(recent_words(e), sizeof(uint64_t)) : NULL;
    return w->registers != NULL && w->candidates != NULL && w->canonical != NULL && w->successors != NULL
           && w->keys != NULL && w->events != NULL;
}

static void free_worker(worker *w)
{
    void *const blocks[] = {w->registers, w->candidates, w->canonical, w->successors, w->keys, w->events, w->recent};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        free(blocks[i]);
}

/*
 * Whether this thread has made the same successor a moment ago; if not, it has now.  Steps that can be taken in either order
 * lead to one state from two neighbours in the queue, so this small table saves about half of the look-ups in the big one.
 * Who is the first to make a successor enters it, in order; when entering fails, `forget_recent` must follow.
 */
INLINE int seen_lately(const kv_engine *e, worker *w, const uint64_t *s, const uint64_t *key, uint32_t tag, uint32_t words,
                       store_kind kind)
{
    if (w->recent == NULL)
        return 0;
    (void)e;
    uint32_t width = kind == NUMBERED ? words : kind == PRINTS ? 2 : words;
    const uint64_t *what = kind == NUMBERED ? s : key;
    uint64_t mark = (uint64_t)tag << 1 | 1, *at = w->recent + (uint64_t)(tag % RECENT) * (width + 1);
    if (at[0] == mark && same_words(at + 1, what, width))
        return 1;
    at[0] = mark;
    for (uint32_t i = 0; i < width; i++)
        at[1 + i] = what[i];
    return 0;
}

static void forget_recent(const kv_engine *e, worker *w)
{
    if (w->recent != NULL)
        memset(w->recent, 0, recent_words(e) * sizeof *w->recent);
}

/* The set of actions whose guards hold in `s`, left in w->candidates. */
INLINE void find_candidates(const kv_engine *e, worker *w, const uint64_t *s)
{
    uint64_t *set = w->candidates;
    for (uint32_t i = 0; i < e->set_words; i++)
        set[i] = e->all_actions[i];
    const window *end = e->window_table + e->windows;
    for (const window *at = e->window_table; at != end; at++) {
        uint64_t value = (s[at->word] >> at->shift) & (((uint64_t)1 << at->bits) - 1);
        const uint64_t *row = at->rows + value * (at->high - at->low);
        for (uint32_t i = at->low; i < at->high; i++)
            set[i] &= *row++;
    }
}

/* Appends the successors and faults of `s` to the batch; answers how many events there are then, NO_ACTION if broken. */
INLINE uint32_t expand(const kv_engine *e, worker *w, const uint64_t *s, uint32_t used, uint32_t words,
                       store_kind kind)
{
    find_candidates(e, w, s);
    for (uint32_t i = 0; i < e->set_words; i++)
        for (uint64_t left = w->candidates[i]; left != 0; left &= left - 1) {
            uint32_t action = i * 64 + lowest_bit(left);
            uint64_t *out = w->successors + (uint64_t)used * words;
            event *next = &w->events[used];
            switch (run_block(e, w, action, s, out, &next->tag)) {
            case NOT_ENABLED:
                break;
            case DONE:
                if (e->canon != NULL)
                    canonicalize(e, w, out);
                next->tag = key_of(e, out, w->keys + (uint64_t)used * KEY_ROOM, words, kind);
                next->like = 0;
                if (seen_lately(e, w, out, w->keys + (uint64_t)used * KEY_ROOM, next->tag, words, kind))
                    next->like = LATELY;
                else
                    PREFETCH(e->table + home(next->tag, e->table_slots) * e->slot_words);
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
INLINE uint32_t expand_state(const kv_engine *e, worker *w, const uint64_t *s, source *at, uint32_t used, uint32_t words,
                             store_kind kind)
{
    uint32_t before = used;
    at->deadlock = at->outside = 0;
    if (UNLIKELY(e->constraint != NO_BLOCK)) {
        used = judge_constraint(e, w, s, at, used);
        if (at->outside || used == NO_ACTION)
            return used;
    }
    used = expand(e, w, s, used, words, kind);
    if (used == before && e->terminal != NO_BLOCK)
        used = end_of_run(e, w, s, at, used);
    return used;
}

/* Expands up to `wanted` states from number `first` into the batch, as far as there is room; answers how many, or NO_ACTION. */
INLINE uint32_t generate(const kv_engine *e, worker *w, uint64_t first, uint64_t wanted, uint32_t words, store_kind kind)
{
    uint32_t count = 0, used = 0;
    while (count < wanted && count < BATCH && used + e->actions < w->event_room) {
        const uint64_t *s = state_words(e, first + count, words);
        source *at = &w->sources[count++];
        uint32_t before = used;
        used = expand_state(e, w, s, at, used, words, kind);
        if (UNLIKELY(used == NO_ACTION))
            return NO_ACTION;
        at->reduced = UNLIKELY(e->por != NULL) && used - before > 1 && por_choose(e, w, s, before, used);
        at->end = used;
    }
    if (kind == NUMBERED)
        for (uint32_t i = 0; i < used; i++)
            if (!(w->events[i].action & FAULTED) && w->events[i].like != LATELY)
                w->events[i].like = find_like(e, w->events[i].tag, words);
    return count;
}
