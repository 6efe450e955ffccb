/*
 * Rounds of the search on several threads, and the threads themselves; what a round does is told in parallel.h and
 * enter.h.
 */
#if KV_THREADS

static void do_step(team *t, member *m)
{
    kv_engine *e = t->e;
    switch (t->step) {
    case STEP_EXPAND:
        if (e->kind == PRINTS)
            expand_runs(t, m, e->words, PRINTS);
        else if (e->kind == NUMBERED)
            expand_runs(t, m, e->words, NUMBERED);
        else if (e->words == 1)
            expand_runs(t, m, 1, WHOLE);
        else
            expand_runs(t, m, 2, WHOLE);
        break;
    case STEP_ENTER:
        enter_share(t, m);
        break;
    default:
        settle_runs(t, m);
    }
}

static void *member_main(void *argument)
{
    member *m = argument;
    team *t = m->team;
    for (;;) {
        meet(t);
        if (t->step == STEP_LEAVE)
            return NULL;
        do_step(t, m);
        meet(t);
    }
}

/* All members do one step; the caller is member 0. */
static void together(team *t, int step)
{
    t->step = step;
    t->next_run = 0;
    meet(t);
    do_step(t, &t->members[0]);
    meet(t);
}

static void clear_round(team *t)
{
    const kv_engine *e = t->e;
    for (uint32_t i = 0; i < t->count; i++) {
        member *m = &t->members[i];
        for (uint32_t part = 0; part < t->count; part++)
            m->shares[part].count = 0;
        m->part_count = m->entered_count = m->left_count = m->transitions = m->violating = m->outside = m->inside = 0;
        m->deadlock = NO_STATE;
        m->broken = m->full = 0;
        memset(m->fired, 0, e->actions * sizeof(uint64_t));
        memset(m->violation, 0xff, e->claims * sizeof(uint64_t));
        memset(m->witness, 0xff, e->probes * sizeof(uint64_t));
        for (uint32_t k = 0; k < e->faults; k++)
            m->faults[k] = (first_hit){UINT64_MAX, NO_STATE, -1};
    }
}

/* Takes what one member found out over into the engine. */
static void merge_member(kv_engine *e, const member *m)
{
    e->transitions += m->transitions;
    e->violating += m->violating;
    e->outside += m->outside;
    if (m->inside != 0)
        e->depth = e->level;
    if (m->broken)
        e->broken = 1;
    if (m->deadlock < e->deadlock)
        e->deadlock = m->deadlock;
    for (uint32_t i = 0; i < e->actions; i++)
        e->fired[i] += m->fired[i];
    for (uint32_t i = 0; i < e->claims; i++)
        if (m->violation[i] < e->violation[i])
            e->violation[i] = m->violation[i];
    for (uint32_t i = 0; i < e->probes; i++)
        if (m->witness[i] < e->witness[i])
            e->witness[i] = m->witness[i];
}

static void merge_faults(kv_engine *e, const team *t)
{
    for (uint32_t k = 0; k < e->faults; k++) {
        const first_hit *best = NULL;
        for (uint32_t i = 0; i < t->count; i++) {
            const first_hit *hit = &t->members[i].faults[k];
            if (hit->state != NO_STATE && (best == NULL || hit->moment < best->moment))
                best = hit;
        }
        if (best != NULL)
            hit_fault(e, k, best->state, best->action);
    }
}

/* Numbers the new states of the runs in order; answers how many there are. */
static uint64_t number_runs(team *t)
{
    uint64_t total = 0;
    for (uint64_t run = 0; run < t->runs; run++) {
        t->table_of_runs[run].first = (uint32_t)total;
        for (uint32_t part = 0; part < t->count; part++)
            total += t->slices[run * t->count + part].fresh;
    }
    return total;
}

/* Room for all that was found, wherever it goes; 0 if there is none. */
static int round_room(team *t)
{
    uint64_t found = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        found += t->members[i].part_count;
        if (!enter_room(t, &t->members[i]))
            return 0;
    }
    return reserve(t->e, found);
}

static void close_probes(kv_engine *e)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < e->open_count; k++)
        if (e->witness[e->open_probes[k]] == NO_STATE)
            e->open_probes[kept++] = e->open_probes[k];
    e->open_count = kept;
}

/* Expands the next `sources` states; 0 when there is no memory for it, and then nothing has changed. */
static int play_round(team *t, uint64_t sources)
{
    kv_engine *e = t->e;
    t->first = e->expanded;
    t->sources = sources;
    t->runs = (sources + RUN - 1) / RUN;
    clear_round(t);
    together(t, STEP_EXPAND);
    for (uint32_t i = 0; i < t->count; i++)
        if (t->members[i].full) {
            for (uint32_t k = 0; k < t->count; k++)
                forget_recent(e, &t->members[k].scratch);
            return 0;
        }
        else if (t->members[i].broken) {
            e->broken = 1;
            return 1;
        }
    if (!round_room(t)) {
        for (uint32_t i = 0; i < t->count; i++)
            forget_recent(e, &t->members[i].scratch);
        return 0;
    }
    together(t, STEP_ENTER);
    enter_leftovers(t);
    uint64_t fresh = number_runs(t);
    together(t, STEP_SETTLE);
    e->states += fresh;
    e->expanded += sources;
    for (uint32_t i = 0; i < t->count; i++)
        merge_member(e, &t->members[i]);
    merge_faults(e, t);
    close_probes(e);
    free_expanded(e);
    return 1;
}

/* ---------------------------------------------------------------------------------------- the threads */

static void close_team(kv_engine *e)
{
    team *t = e->team;
    if (t == NULL)
        return;
    if (t->started == t->count) {
        t->step = STEP_LEAVE;
        meet(t);
    }
    for (uint32_t i = 1; i < t->started; i++)
        pthread_join(t->members[i].thread, NULL);
    for (uint32_t i = 0; t->members != NULL && i < t->room; i++) {
        member *m = &t->members[i];
        free_worker(&m->scratch);
        for (uint32_t part = 0; m->shares != NULL && part < t->room; part++) {
            free(m->shares[part].found);
            free(m->shares[part].words);
            free(m->shares[part].prints);
        }
        void *const blocks[] = {m->shares, m->parts,     (void *)m->entered, m->left,
                                m->fired,  m->violation, m->witness,         m->faults};
        for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++)
            free(blocks[k]);
    }
    free(t->members);
    free(t->table_of_runs);
    free(t->slices);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->turn);
    free(t);
    e->team = NULL;
}

static int fill_member(kv_engine *e, team *t, uint32_t number)
{
    member *m = &t->members[number];
    m->team = t;
    m->number = number;
    m->shares = calloc(t->room, sizeof *m->shares);
    m->fired = calloc((size_t)e->actions + 1, sizeof(uint64_t));
    m->violation = calloc((size_t)e->claims + 1, sizeof(uint64_t));
    m->witness = calloc((size_t)e->probes + 1, sizeof(uint64_t));
    m->faults = calloc((size_t)e->faults + 1, sizeof(first_hit));
    return m->shares != NULL && m->fired != NULL && m->violation != NULL && m->witness != NULL
           && m->faults != NULL && fill_worker(e, &m->scratch);
}

/* Starts the threads; without them (no memory, no permission) the search goes on alone. */
static void open_team(kv_engine *e)
{
    team *t = calloc(1, sizeof *t);
    if (t == NULL)
        return;
    e->team = t;
    t->e = e;
    t->count = t->room = e->workers;
    t->members = calloc(t->count, sizeof *t->members);
    t->table_of_runs = calloc(ROUND / RUN + 1, sizeof *t->table_of_runs);
    t->slices = calloc((size_t)(ROUND / RUN + 1) * t->count, sizeof *t->slices);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->turn, NULL);
    int good = t->members != NULL && t->table_of_runs != NULL && t->slices != NULL;
    for (uint32_t i = 0; good && i < t->count; i++)
        good = fill_member(e, t, i);
    t->started = 1;
    while (good && t->started < t->count) {
        member *m = &t->members[t->started];
        good = pthread_create(&m->thread, NULL, member_main, m) == 0;
        t->started += (uint32_t)good;
    }
    if (!good) {
        /* Those that run wait for the rest; let them go with a team of their size. */
        pthread_mutex_lock(&t->lock);
        __atomic_store_n(&t->count, t->started, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&t->lock);
        close_team(e);
    }
}

static int advance_together(kv_engine *e, uint64_t wanted)
{
    while (wanted >= e->share_from && !e->broken) {
        uint64_t sources = wanted < ROUND ? wanted : ROUND;
        if (!play_round(e->team, sources))
            break; /* alone, memory is used to the last state */
        wanted -= sources;
    }
    if (e->broken)
        return KV_BROKEN;
    return wanted > 0 ? advance_any(e, wanted) : KV_OK;
}
#endif
