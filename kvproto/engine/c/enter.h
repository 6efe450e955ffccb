/*
 * Steps 2 and 3 of a round on several threads: findings are entered into the table, and what is new into the store.
 *
 * A part of the table is those lines that are home to nothing but the tags of one thread.  What has its home between
 * two parts, or would run over the end of one, is left to the end of the step and entered by one thread.  That does not
 * change what stays: equal findings go the same way, and a line that was full once stays full.
 */
#if KV_THREADS

enum { AHEAD = 12 };

/* The lowest tag of a part. */
static uint64_t first_tag(const team *t, uint32_t part)
{
    return (((uint64_t)part << 32) + t->count - 1) / t->count;
}

/* The first line of a part, and of the one after it less what they share. */
static uint64_t part_begin(const team *t, uint32_t part)
{
    return part == 0 ? 0 : home((uint32_t)first_tag(t, part), t->e->table_lines) + 1;
}

static uint64_t part_end(const team *t, uint32_t part)
{
    return part + 1 == t->count ? t->e->table_lines : home((uint32_t)first_tag(t, part + 1), t->e->table_lines);
}

/* What a slot holds for a finding. */
INLINE const uint64_t *key_of_finding(const kv_engine *e, const share *from, uint64_t k)
{
    return e->kind == PRINTS ? from->prints + k * KEY_ROOM : from->words + k * e->words;
}

/*
 * In a numbered store: enters a finding under a provisional number, unless an equal one is there.  Answers like
 * `find_single`. Equal findings have equal tags and so the same thread, which knows what its provisional numbers mean.
 */
static int enter_finding(kv_engine *e, member *m, finding *f, const uint64_t *s, uint64_t end)
{
    uint64_t at = home(f->tag, e->table_lines) * LINE_WORDS, stop = end == NO_END ? NO_END : end * LINE_WORDS;
    for (uint64_t entry; (entry = e->table[at]) != 0;) {
        if ((uint32_t)(entry >> 32) == f->tag) {
            uint64_t number = (uint32_t)entry - 1;
            const uint64_t *other =
                number < e->states ? state_words(e, number, e->words) : m->entered[number - e->states];
            if (same_words(other, s, e->words))
                return THERE;
        }
        if (++at == stop)
            return NO_SLOT;
        if (at == table_words(e))
            at = 0;
    }
    m->entered[m->entered_count++] = s;
    e->table[at] = (uint64_t)f->tag << 32 | (e->states + m->entered_count);
    f->slot = at + 1;
    return FREE;
}

/* Else: enters the key of a finding, unless the table knows it. */
INLINE int enter_finding_key(kv_engine *e, finding *f, const uint64_t *key, uint64_t end, uint32_t extra)
{
    place at;
    int found = extra == 0 ? find_single(e, key[0], f->tag, end, &at) : find_pair(e, key, f->tag, extra, end, &at);
    if (found != FREE)
        return found;
    if (extra == 0)
        at.line[at.number] = key[0];
    else
        put_pair(e, at, key, extra);
    f->slot = 1;
    return FREE;
}

INLINE void enter_slice(team *t, member *m, uint64_t run, uint64_t begin, uint64_t end, store_kind kind, uint32_t extra)
{
    kv_engine *e = t->e;
    slice *at = &t->slices[run * t->count + m->number];
    share *from = &t->members[t->table_of_runs[run].owner].shares[m->number];
    for (uint32_t k = at->begin; k < at->end; k++) {
        finding *f = &from->found[k];
        if (k + AHEAD < from->count)
            PREFETCH(line_at(e, home(from->found[k + AHEAD].tag, e->table_lines)));
        int done = NO_SLOT;
        if (home(f->tag, e->table_lines) >= begin && home(f->tag, e->table_lines) < end)
            done = kind == NUMBERED ? enter_finding(e, m, f, from->words + (uint64_t)k * e->words, end)
                                    : enter_finding_key(e, f, key_of_finding(e, from, k), end, extra);
        at->fresh += done == FREE;
        if (UNLIKELY(done == NO_SLOT))
            m->left[m->left_count++] = (leftover){run, k};
    }
}

INLINE void enter_slices(team *t, member *m, store_kind kind, uint32_t extra)
{
    uint64_t begin = part_begin(t, m->number), end = part_end(t, m->number);
    for (uint64_t run = 0; run < t->runs; run++)
        enter_slice(t, m, run, begin, end, kind, extra);
}

static void enter_share(team *t, member *m)
{
    if (t->e->kind == NUMBERED)
        enter_slices(t, m, NUMBERED, 0);
    else
        switch (t->e->extra) {
        case 0:
            enter_slices(t, m, WHOLE, 0);
            break;
        case 1:
            enter_slices(t, m, WHOLE, 1);
            break;
        case 2:
            enter_slices(t, m, WHOLE, 2);
            break;
        case 4:
            enter_slices(t, m, WHOLE, 4);
            break;
        default:
            enter_slices(t, m, WHOLE, 8);
        }
}

/* Room for what a member has to note while it enters, so that nothing can fail then. */
static int enter_room(team *t, member *m)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < t->count; i++)
        count += t->members[i].shares[m->number].count;
    if (count <= m->enter_room)
        return 1;
    leftover *left = realloc(m->left, (size_t)(2 * count) * sizeof *left);
    if (left != NULL)
        m->left = left;
    const uint64_t **entered = NULL;
    if (t->e->kind == NUMBERED)
        entered = realloc(m->entered, (size_t)(2 * count) * sizeof *entered);
    if (entered != NULL)
        m->entered = entered;
    if (left == NULL || (t->e->kind == NUMBERED && entered == NULL))
        return 0;
    m->enter_room = 2 * count;
    return 1;
}

/* Enters what the threads have left. */
static void enter_leftovers(team *t)
{
    kv_engine *e = t->e;
    for (uint32_t part = 0; part < t->count; part++) {
        member *m = &t->members[part];
        for (uint64_t i = 0; i < m->left_count; i++) {
            const leftover *left = &m->left[i];
            share *from = &t->members[t->table_of_runs[left->run].owner].shares[part];
            finding *f = &from->found[left->number];
            const uint64_t *s = from->words + (uint64_t)left->number * e->words;
            int fresh = e->kind == NUMBERED ? enter_finding(e, m, f, s, NO_END) == FREE
                                            : enter_key(e, key_of_finding(e, from, left->number), f->tag, e->extra);
            if (fresh && f->slot == 0)
                f->slot = 1;
            t->slices[left->run * t->count + part].fresh += (uint32_t)fresh;
        }
        m->left_count = 0;
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

/* Takes the new findings of a run into the store; its parts say in which share each one is. */
INLINE void settle_run(team *t, member *m, uint64_t run, uint32_t words)
{
    kv_engine *e = t->e;
    const run_of_states *at = &t->table_of_runs[run];
    const member *owner = &t->members[at->owner];
    uint64_t state = e->states + at->first;
    uint32_t next[MAX_WORKERS];
    for (uint32_t part = 0; part < t->count; part++)
        next[part] = t->slices[run * t->count + part].begin;
    for (uint32_t i = at->begin; i < at->end; i++) {
        uint32_t part = owner->parts[i], k = next[part]++;
        const share *from = &owner->shares[part];
        const finding *f = &from->found[k];
        if (f->slot == 0)
            continue;
        const uint64_t *s = from->words + (uint64_t)k * words;
        if (e->kind == NUMBERED)
            e->table[f->slot - 1] = (uint64_t)f->tag << 32 | (state + 1);
        put_words(e, state, s, words);
        link_state(e, state, (uint32_t)(t->first + f->source), f->action);
        judge_finding(e, m, state, s, moment_of(f->source, f->action));
        state++;
    }
}

static void settle_runs(team *t, member *m)
{
    uint64_t run;
    while ((run = __atomic_fetch_add(&t->next_run, 1, __ATOMIC_RELAXED)) < t->runs)
        switch (t->e->words) {
        case 1:
            settle_run(t, m, run, 1);
            break;
        case 2:
            settle_run(t, m, run, 2);
            break;
        default:
            settle_run(t, m, run, t->e->words);
        }
}

#endif
