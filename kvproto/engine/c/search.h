/*
 * The search on one thread.  Successors of many states are generated and hashed first, the table slots they need are
 * prefetched, then the stored states they may equal, and only then are they inserted, in order.  So the order of
 * discovery is that of plain first-in first-out search.
 *
 * When memory is refused (by the limit or by the system) the state under expansion is left unexpanded: all counters
 * then describe exactly the states expanded before it.
 */

static void hit_fault(kv_engine *e, uint32_t fault, uint64_t state, int64_t action)
{
    if (fault >= e->faults)
        e->broken = 1;
    else if (e->fault_table[fault].state == NO_STATE)
        e->fault_table[fault] = (fault_hit){state, action};
}

/* The action of a fault event, -1 if it was a predicate that went wrong. */
INLINE int64_t fault_action(const event *met)
{
    return met->action == NO_ACTION ? -1 : (int64_t)(met->action & ~FAULTED);
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

/* Takes pending successor k of the state under expansion into the store, if it is new. */
INLINE void settle_successor(kv_engine *e, const worker *w, uint32_t k, uint32_t words, store_kind kind, uint32_t extra)
{
    const event *next = &w->events[k];
    const uint64_t *s = w->successors + (uint64_t)k * words;
    if (kind == NUMBERED && same_as_like(e, w, k, words))
        return;
    uint64_t state = add_state(e, s, key_at(w, k, words, kind), next->tag, words, kind, extra);
    if (state == NO_STATE)
        return;
    link_state(e, state, (uint32_t)e->expanded, next->action);
    judge(e, state, s);
}

/*
 * Takes the pending successors before number `end` into the store, from the one at place `at` on; answers the next
 * place.
 */
INLINE uint32_t settle_pending(kv_engine *e, const worker *w, uint32_t at, uint32_t end, int enough, uint32_t words,
                               store_kind kind, uint32_t extra)
{
    for (; w->pending[at] < end; at++)
        if (!(UNLIKELY(enough) && (w->events[w->pending[at]].action & SKIPPED)))
            settle_successor(e, w, w->pending[at], words, kind, extra);
    return at;
}

/* Takes the batch into the store, in order.  Stops before the first source for which there is no memory. */
INLINE int settle(kv_engine *e, worker *w, uint32_t count, uint32_t words, store_kind kind, uint32_t extra)
{
    uint32_t k = 0, at = 0;
    w->pending[w->pending_count] = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const source *from = &w->sources[i];
        if (!has_room(e, from->end - k) && !reserve(e, from->end - k)) {
            forget_recent(e, w);
            return KV_MEMORY;
        }
        int enough = from->reduced && por_leads_on(e, w, k, from->end);
        for (; k < from->end; k++) {
            const event *next = &w->events[k];
            if (UNLIKELY(enough) && (next->action & SKIPPED))
                continue;
            if (UNLIKELY(next->action & FAULTED)) {
                at = settle_pending(e, w, at, k, enough, words, kind, extra);
                hit_fault(e, next->tag, e->expanded, fault_action(next));
                continue;
            }
            e->transitions++;
            e->fired[next->action]++;
        }
        at = settle_pending(e, w, at, from->end, enough, words, kind, extra);
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

INLINE int advance(kv_engine *e, uint64_t wanted, uint32_t words, store_kind kind, uint32_t extra)
{
    while (wanted > 0 && !e->broken) {
        uint32_t count = generate(e, &e->own, e->expanded, wanted, words, kind);
        if (count == NO_ACTION) {
            e->broken = 1;
            break;
        }
        look_up_batch(e, &e->own, words, kind, extra);
        int status = settle(e, &e->own, count, words, kind, extra);
        if (status != KV_OK)
            return status;
        wanted -= count;
        free_expanded(e);
    }
    return e->broken ? KV_BROKEN : KV_OK;
}

/* A copy of `advance` for each of the usual kinds and widths, where loops over words melt away. */
static int advance_any(kv_engine *e, uint64_t wanted)
{
    if (e->kind == PRINTS)
        return advance(e, wanted, e->words, PRINTS, 8);
    if (e->kind == WHOLE)
        switch (e->extra) {
        case 0:
            return advance(e, wanted, 1, WHOLE, 0);
        case 1:
            return advance(e, wanted, 2, WHOLE, 1);
        case 2:
            return advance(e, wanted, 2, WHOLE, 2);
        case 4:
            return advance(e, wanted, 2, WHOLE, 4);
        default:
            return advance(e, wanted, 2, WHOLE, 8);
        }
    switch (e->words) {
    case 1:
        return advance(e, wanted, 1, NUMBERED, 0);
    case 2:
        return advance(e, wanted, 2, NUMBERED, 0);
    case 3:
        return advance(e, wanted, 3, NUMBERED, 0);
    case 4:
        return advance(e, wanted, 4, NUMBERED, 0);
    default:
        return advance(e, wanted, e->words, NUMBERED, 0);
    }
}
