/* Builds the tables of an engine from what Python passes in; and what the interface needs besides the search. */

/* The candidate rows of one window: all actions, less those whose guards exclude the value. */
static int fill_window(kv_engine *e, const kv_spec *spec, uint32_t number)
{
    window *w = &e->window_table[number];
    uint32_t low = UINT32_MAX, high = 0;
    for (uint64_t i = 0; i < spec->guards; i++) {
        uint32_t at = spec->guard_table[i].action / 64;
        if (spec->guard_table[i].window == number) {
            low = at < low ? at : low;
            high = at >= high ? at + 1 : high;
        }
    }
    if (e->set_words <= FEW_SET_WORDS) {
        low = 0;
        high = FEW_SET_WORDS;
    }
    uint32_t bits = spec->window_table[3 * number + 2];
    *w = (window){spec->window_table[3 * number], spec->window_table[3 * number + 1], bits, low < high ? low : 0, high,
                  ((uint64_t)1 << bits) - 1, NULL};
    uint32_t width = w->high - w->low, values = 1u << w->bits;
    w->rows = take(e, (uint64_t)values * width, sizeof(uint64_t));
    if (w->rows == NULL)
        return 0;
    memset(w->rows, 0xff, (size_t)values * width * sizeof(uint64_t));
    for (uint64_t i = 0; i < spec->guards; i++) {
        const guard *g = &spec->guard_table[i];
        if (g->window != number)
            continue;
        for (uint32_t value = 0; value < values; value++) {
            uint32_t seen = (value >> g->shift) & ((1u << g->bits) - 1);
            if (!(g->allowed[seen / 64] >> (seen % 64) & 1))
                w->rows[value * width + g->action / 64 - w->low] &= ~((uint64_t)1 << (g->action % 64));
        }
    }
    return 1;
}

static int fill_guards(kv_engine *e, const kv_spec *spec)
{
    e->all_actions = take(e, e->set_words + FEW_SET_WORDS, sizeof(uint64_t));
    e->window_table = take(e, spec->windows, sizeof(window));
    if (e->all_actions == NULL || e->window_table == NULL)
        return 0;
    for (uint32_t i = 0; i < e->actions; i++)
        e->all_actions[i / 64] |= (uint64_t)1 << (i % 64);
    e->windows = (uint32_t)spec->windows;
    for (uint32_t i = 0; i < e->windows; i++)
        if (!fill_window(e, spec, i))
            return 0;
    return 1;
}

/* A table of pairs: the smallest extra for second words of so many bits, and the quotient that makes them fit. */
static void choose_extra(kv_engine *e, uint32_t bits)
{
    for (e->extra = 1;; e->extra *= 2) {
        uint32_t room = 8 * e->extra - FAR_BITS;
        e->quotient = bits > room ? bits - room : 0;
        if (e->quotient <= MAX_QUOTIENT)
            return;
    }
}

/* How states are stored.  Whole states of one word need a bit that tells them from nothing: one that no leaf uses. */
static void choose_store(kv_engine *e, const kv_spec *spec)
{
    uint64_t used = 0;
    uint32_t bits = 0;
    for (uint64_t i = 0; i < spec->leaves; i++) {
        const leaf *x = &spec->leaf_table[i];
        if (x->word + 1 != e->words)
            continue;
        used |= x->mask << x->shift;
        while (bits < 64 && used >> bits != 0)
            bits++;
    }
    e->kind = NUMBERED;
    if (spec->numbered)
        return;
    if (e->words == 2) {
        e->kind = WHOLE;
        choose_extra(e, bits);
    } else if (e->words == 1 && used != UINT64_MAX) {
        e->kind = WHOLE;
        e->present = ~used & (used + 1);
    } else if (e->words > 2 && spec->fingerprints) {
        e->kind = PRINTS;
        choose_extra(e, 64);
    }
}

static void fill_sizes(kv_engine *e, const kv_spec *spec)
{
    e->words = (uint32_t)spec->words;
    choose_store(e, spec);
    e->registers = (uint32_t)spec->registers;
    e->leaves = (uint32_t)spec->leaves;
    e->actions = (uint32_t)spec->actions;
    e->claims = (uint32_t)spec->claims;
    e->probes = (uint32_t)spec->probes;
    e->predicates = (uint32_t)spec->predicates;
    e->blocks = (uint32_t)spec->blocks;
    e->faults = (uint32_t)spec->faults;
    e->terminal = (uint32_t)spec->terminal;
    e->constraint = (uint32_t)spec->constraint;
    e->workers = spec->workers < MAX_WORKERS ? (uint32_t)spec->workers : MAX_WORKERS;
    e->share_from = spec->share_from < 1 ? 1 : spec->share_from;
    e->set_words = (e->actions + 63) / 64;
    e->seed = (spec->seed + 1) * 0x9e3779b97f4a7c15u;
    e->level = e->depth = 1;
    e->deadlock = NO_STATE;
    for (e->chunk_bits = MAX_CHUNK_BITS; e->chunk_bits > 4; e->chunk_bits--)
        if (((uint64_t)e->words * sizeof(uint64_t)) << e->chunk_bits <= CHUNK_BYTES)
            break;
}

static int fill_tables(kv_engine *e, const kv_spec *spec)
{
    fill_sizes(e, spec);
    e->code_bytes = spec->slots * sizeof(slot);
    e->code = take_copy(e, spec->code, spec->slots, sizeof(slot));
    e->leaf_table = take_copy(e, spec->leaf_table, spec->leaves, sizeof(leaf));
    e->block_entry = take_copy(e, spec->block_entry, spec->blocks, sizeof(uint32_t));
    e->violation = take(e, spec->claims, sizeof(uint64_t));
    e->fired = take(e, spec->actions, sizeof(uint64_t));
    e->witness = take(e, spec->probes, sizeof(uint64_t));
    e->open_probes = take(e, spec->probes, sizeof(uint32_t));
    e->fault_table = take(e, spec->faults, sizeof(fault_hit));
    if (e->code == NULL || e->leaf_table == NULL || e->block_entry == NULL || e->violation == NULL || e->fired == NULL
        || e->witness == NULL || e->open_probes == NULL || e->fault_table == NULL)
        return 0;
    for (uint32_t i = 0; i < e->claims; i++)
        e->violation[i] = NO_STATE;
    for (uint32_t i = 0; i < e->probes; i++) {
        e->witness[i] = NO_STATE;
        e->open_probes[e->open_count++] = i;
    }
    for (uint32_t i = 0; i < e->faults; i++)
        e->fault_table[i] = (fault_hit){NO_STATE, -1};
    return fill_guards(e, spec);
}

/* What `fill_tables` made; sizes of blocks do not matter any more, except where `give` tells them apart. */
static void free_tables(kv_engine *e)
{
    for (uint32_t i = 0; e->window_table != NULL && i < e->windows; i++) {
        window *w = &e->window_table[i];
        give(e, w->rows, ((uint64_t)(w->high - w->low) << w->bits) * sizeof(uint64_t));
    }
    give(e, e->code, e->code_bytes);
    give(e, e->leaf_table, e->leaves * sizeof(leaf));
    give(e, e->block_entry, e->blocks * sizeof(uint32_t));
    give(e, e->violation, e->claims * sizeof(uint64_t));
    give(e, e->fired, e->actions * sizeof(uint64_t));
    give(e, e->witness, e->probes * sizeof(uint64_t));
    give(e, e->open_probes, e->probes * sizeof(uint32_t));
    give(e, e->fault_table, e->faults * sizeof(fault_hit));
    give(e, e->all_actions, (e->set_words + FEW_SET_WORDS) * sizeof(uint64_t));
    give(e, e->window_table, e->windows * sizeof(window));
}

/* Opens the file that takes states when memory is short; it loses its name at once, so nothing is left behind. */
static int open_spill(kv_engine *e, const char *path)
{
#if KV_POSIX
    if (path == NULL)
        return 1;
    e->spill_file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (e->spill_file >= 0)
        (void)unlink(path);
    return e->spill_file >= 0;
#else
    return path == NULL;
#endif
}

/* Unless the store is numbered the words of initial states are kept: from them every other state can be made again. */
static int keep_root(kv_engine *e, const uint64_t *s)
{
    uint64_t number = e->roots++;
    if (e->kind == NUMBERED)
        return 1;
    if ((number & (number + 1)) == 0) { /* 0, 1, 3, 7, ...: full */
        uint64_t *more = realloc(e->root_words, (size_t)(2 * number + 1) * e->words * sizeof *more);
        if (more == NULL)
            return 0;
        e->root_words = more;
    }
    memcpy(e->root_words + number * e->words, s, e->words * sizeof(uint64_t));
    return 1;
}

/* Runs the path to a state once more, from its initial state. */
static int remake_state(kv_engine *e, uint64_t state, uint64_t *out)
{
    uint64_t steps = 0, at = state;
    uint32_t parent, fault;
    while ((parent = parent_of(e, at)) != NO_PARENT) {
        steps++;
        at = parent;
    }
    uint32_t *path = malloc((size_t)(steps + 1) * sizeof *path);
    uint64_t *after = malloc(e->words * sizeof *after);
    int status = path != NULL && after != NULL ? KV_OK : KV_MEMORY;
    if (status == KV_OK) {
        memcpy(out, e->root_words + at * e->words, e->words * sizeof(uint64_t));
        at = state;
        for (uint64_t i = steps; i > 0; i--) {
            path[i - 1] = action_of(e, at);
            at = parent_of(e, at);
        }
        for (uint64_t i = 0; i < steps && status == KV_OK; i++) {
            if (run_block(e, &e->own, path[i], out, after, &fault) != DONE)
                status = KV_BROKEN;
            if (e->canon != NULL)
                canonicalize(e, &e->own, after);
            memcpy(out, after, e->words * sizeof(uint64_t));
        }
    }
    free(path);
    free(after);
    return status;
}

/* The transitions of one state of a finished search; answers how many. */
static uint64_t edges_of(kv_engine *e, uint64_t state, uint32_t *actions, uint32_t *targets)
{
    worker *w = &e->own;
    source at;
    uint64_t count = 0;
    uint32_t used = expand_state(e, w, state_words(e, state, e->words), &at, 0, e->words);
    if (used == NO_ACTION)
        e->broken = 1;
    else
        for (uint32_t k = 0; k < used; k++) {
            if (w->events[k].action & FAULTED)
                continue;
            const uint64_t *s = w->successors + (uint64_t)k * e->words;
            uint64_t target = lookup(e, s, hash_state(s, e->words, e->seed));
            if (target == NO_STATE)
                continue;
            actions[count] = w->events[k].action;
            targets[count++] = (uint32_t)target;
        }
    return count;
}
