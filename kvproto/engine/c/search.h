/*
 * The search on one thread.  Successors of many states are generated and hashed first, the table slots they need are
 * prefetched, then the stored states they may equal, and only then are they inserted, in order.  So the order of
 * discovery is that of plain first-in first-out search.
 *
 * When memory is refused (by the limit or by the system) the state under expansion is left unexpanded: all counters then
 * describe exactly the states expanded before it.
 */

static void hit_fault(kv_engine *e, uint32_t fault, uint64_t state, int64_t action)
{
    if (fault >= e->faults)
        e->broken = 1;
    else if (e->fault_table[fault].state == NO_STATE)
        e->fault_table[fault] = (fault_hit){state, action};
}

/* Evaluates the claims and the open probes on a new state. */
static void judge(kv_engine *e, uint64_t state, const uint64_t *s)
{
    int violates = 0;
    uint32_t fault = 0;
    for (uint32_t i = 0; i < e->claims; i++)
        switch (run_block(e, &e->own, e->actions + i, s, NULL, &fault)) {
        case IS_TRUE:
            break;
        case IS_FALSE:
            violates = 1;
            if (e->violation[i] == NO_STATE)
                e->violation[i] = state;
            break;
        case IS_FAULT:
            hit_fault(e, fault, state, -1);
            break;
        default:
            e->broken = 1;
        }
    e->violating += (uint64_t)violates;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < e->open_count; k++) {
        uint32_t probe = e->open_probes[k];
        if (run_block(e, &e->own, e->actions + e->claims + probe, s, NULL, &fault) == IS_FALSE)
            e->open_probes[kept++] = probe;
        else
            e->witness[probe] = state;
    }
    e->open_count = kept;
}

/* Takes the batch into the store, in order.  Stops before the first source for which there is no memory. */
INLINE int settle(kv_engine *e, worker *w, uint32_t count, uint32_t words, uint32_t key_words, int exact)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < count; i++) {
        const source *from = &w->sources[i];
        if (!reserve(e, from->end - k))
            return KV_MEMORY;
        for (; k < from->end; k++) {
            const event *next = &w->events[k];
            if (next->action & FAULTED) {
                int64_t action = next->action == NO_ACTION ? -1 : (int64_t)(next->action & ~FAULTED);
                hit_fault(e, next->tag, e->expanded, action);
                continue;
            }
            e->transitions++;
            e->fired[next->action]++;
            const uint64_t *key = successor_key(w, k, words, key_words, exact);
            if (next->like != 0 && LIKELY(same_key(state_key(e, next->like - 1, key_words), key, key_words)))
                continue;
            const uint64_t *s = w->successors + (uint64_t)k * words;
            uint64_t state = add_state(e, s, key, next->tag, words, key_words);
            if (state == NO_STATE)
                continue;
            link_state(e, state, (uint32_t)e->expanded, next->action);
            judge(e, state, s);
        }
        if (from->deadlock && e->deadlock == NO_STATE)
            e->deadlock = e->expanded;
        if (from->outside)
            e->outside++;
        else
            e->depth = e->level;
        e->expanded++;
    }
    return KV_OK;
}

INLINE int advance(kv_engine *e, uint64_t wanted, uint32_t words, uint32_t key_words, int exact)
{
    while (wanted > 0 && !e->broken) {
        uint32_t count = generate(e, &e->own, e->expanded, wanted, words, key_words);
        if (count == NO_ACTION) {
            e->broken = 1;
            break;
        }
        int status = settle(e, &e->own, count, words, key_words, exact);
        if (status != KV_OK)
            return status;
        wanted -= count;
        free_expanded(e);
    }
    return e->broken ? KV_BROKEN : KV_OK;
}

/* A copy of `advance` for each of the usual widths, where loops over words melt away. */
static int advance_any(kv_engine *e, uint64_t wanted)
{
    if (e->key_words != e->words)
        return advance(e, wanted, e->words, FINGERPRINT_WORDS, 0);
    switch (e->words) {
    case 1:
        return advance(e, wanted, 1, 1, 1);
    case 2:
        return advance(e, wanted, 2, 2, 1);
    case 3:
        return advance(e, wanted, 3, 3, 1);
    case 4:
        return advance(e, wanted, 4, 4, 1);
    default:
        return advance(e, wanted, e->words, e->words, 1);
    }
}
