/* The store: states by number, and how they are found in the table. */

INLINE uint64_t offset_of(const kv_engine *e, uint64_t state)
{
    return state & (((uint64_t)1 << e->chunk_bits) - 1);
}

/* The packed words of a state; unless the store is numbered only of one that is not expanded yet. */
INLINE uint64_t *state_words(const kv_engine *e, uint64_t state, uint32_t words)
{
    return e->chunks[state >> e->chunk_bits].words + offset_of(e, state) * words;
}

static uint64_t action_bytes(const kv_engine *e)
{
    return e->actions < UINT16_MAX ? sizeof(uint16_t) : sizeof(uint32_t);
}

/* ---------------------------------------------------------------------------------------------- chunks */

static uint64_t words_bytes(const kv_engine *e)
{
    return ((uint64_t)e->words * sizeof(uint64_t)) << e->chunk_bits;
}

static uint64_t chunk_bytes(const kv_engine *e)
{
    uint64_t bytes = (sizeof(uint32_t) + action_bytes(e)) << e->chunk_bits;
    if (e->kind == NUMBERED)
        bytes += words_bytes(e);
    return (bytes + 0xffff) & ~(uint64_t)0xffff; /* whole pages, so that a chunk may lie in a file */
}

/* An array of pointers or chunks with room for one more, or NULL. */
static void *grow_list(kv_engine *e, void *list, uint64_t count, uint64_t *room, uint64_t size)
{
    if (count < *room)
        return list;
    uint64_t wanted = *room == 0 ? 16 : *room * 2;
    void *bigger = take(e, wanted, size);
    if (bigger == NULL)
        return NULL;
    if (count != 0)
        memcpy(bigger, list, (size_t)(count * size));
    give(e, list, *room * size);
    *room = wanted;
    return bigger;
}

/* A block for the words of a chunk: one that serves again, or a new one. */
static uint64_t *take_words(kv_engine *e)
{
    if (e->spare_count > 0)
        return e->spare[--e->spare_count];
    return e->chunk_count >= FIRST_CHUNKS && words_bytes(e) <= ARENA_BYTES / 8 ? take_piece(e, words_bytes(e))
                                                                                  : take(e, words_bytes(e), 1);
}

/* Gives the words of chunk `number` back, or keeps them to serve again; 0 if there is no memory to keep them. */
static int drop_words(kv_engine *e, uint64_t *words, uint64_t number)
{
    if (words == NULL)
        return 1;
    if (number < FIRST_CHUNKS || words_bytes(e) > ARENA_BYTES / 8) {
        give(e, words, words_bytes(e));
        return 1;
    }
    uint64_t **list = grow_list(e, e->spare, e->spare_count, &e->spare_room, sizeof *list);
    if (list == NULL)
        return 0;
    e->spare = list;
    e->spare[e->spare_count++] = words;
    return 1;
}

static int add_chunk(kv_engine *e)
{
    chunk *list = grow_list(e, e->chunks, e->chunk_count, &e->chunk_room, sizeof(chunk));
    if (list == NULL)
        return 0;
    e->chunks = list;
    chunk *c = &e->chunks[e->chunk_count];
    uint64_t bytes = chunk_bytes(e);
    *c = (chunk){0};
    if (e->kind != NUMBERED && (c->words = take_words(e)) == NULL)
        return 0;
    /* Small searches do without arenas: touching a huge page costs more than they take. */
    c->piece = e->chunk_count >= FIRST_CHUNKS && bytes <= ARENA_BYTES / 8;
    /* Where states can go to a file they leave half of the memory to the table, which cannot. */
    if (e->spill_file < 0 || e->held + bytes <= e->limit / 2)
        c->block = c->piece ? take_piece(e, bytes) : take(e, bytes, 1);
    if (c->block == NULL) {
        c->piece = 0;
        c->mapped = bytes;
        c->block = take_spilled(e, bytes);
    }
    if (c->block == NULL) {
        drop_words(e, c->words, e->chunk_count);
        return 0;
    }
    e->chunk_count++;
    char *links = c->block;
    if (e->kind == NUMBERED) {
        c->words = c->block;
        links += words_bytes(e);
    }
    c->parents = (uint32_t *)links;
    c->long_actions = c->parents + ((uint64_t)1 << e->chunk_bits);
    c->short_actions = (uint16_t *)c->long_actions;
    return 1;
}

static void free_chunk(kv_engine *e, chunk *c, uint64_t number)
{
    int own_words = e->kind != NUMBERED && c->words != NULL;
    if (own_words && (number < FIRST_CHUNKS || words_bytes(e) > ARENA_BYTES / 8))
        give(e, c->words, words_bytes(e));
    if (c->block == NULL)
        return;
    if (c->mapped != 0)
        unmap_block(c->block, c->mapped);
    else if (!c->piece)
        give(e, c->block, chunk_bytes(e));
}

/* Unless the store is numbered the words of expanded states are of no more use. */
static void free_expanded(kv_engine *e)
{
    if (e->kind == NUMBERED)
        return;
    for (; e->freed_chunks < e->expanded >> e->chunk_bits; e->freed_chunks++) {
        chunk *c = &e->chunks[e->freed_chunks];
        if (!drop_words(e, c->words, e->freed_chunks))
            return; /* later, when there is memory */
        c->words = NULL;
    }
}

/* ---------------------------------------------------------------------------------------------- states */

/* Whether that many more states are provided for; `reserve` is the slow way to make it so. */
INLINE int has_room(const kv_engine *e, uint64_t more)
{
    uint64_t wanted = e->states + more;
    return wanted < UINT32_MAX && wanted <= e->table_limit && wanted <= e->chunk_count << e->chunk_bits;
}

/* Room for that many more states, or 0. */
static int reserve(kv_engine *e, uint64_t more)
{
    uint64_t wanted = e->states + more;
    if (wanted >= UINT32_MAX) /* a state number + 1 is 32 bits in the table */
        return 0;
    while (e->chunk_count << e->chunk_bits < wanted)
        if (!add_chunk(e))
            return 0;
    return reserve_slots(e, wanted);
}

INLINE void put_words(kv_engine *e, uint64_t state, const uint64_t *s, uint32_t words)
{
    uint64_t *to = state_words(e, state, words);
    for (uint32_t w = 0; w < words; w++)
        to[w] = s[w];
}

/* In a numbered store the table is searched word by word. */
INLINE uint64_t table_words(const kv_engine *e)
{
    return e->table_lines * LINE_WORDS;
}

/* Enters a state under the number that it would get (1), unless it is known (0). */
INLINE int enter_number(kv_engine *e, const uint64_t *s, uint32_t tag, uint64_t number, uint32_t words)
{
    for (uint64_t at = home(tag, e->table_lines) * LINE_WORDS;; at = at + 1 == table_words(e) ? 0 : at + 1) {
        uint64_t entry = e->table[at];
        if (entry == 0) {
            e->table[at] = (uint64_t)tag << 32 | (number + 1);
            return 1;
        }
        if ((uint32_t)(entry >> 32) == tag && LIKELY(same_words(state_words(e, (uint32_t)entry - 1, words), s, words)))
            return 0;
    }
}

/* Adds a state unless it is known; room was reserved.  Answers its number if it is new, else NO_STATE. */
INLINE uint64_t add_state(kv_engine *e, const uint64_t *s, const uint64_t *key, uint32_t tag, uint32_t words,
                          store_kind kind, uint32_t extra)
{
    int fresh = kind == NUMBERED ? enter_number(e, s, tag, e->states, words) : enter_key(e, key, tag, extra);
    if (!fresh)
        return NO_STATE;
    put_words(e, e->states, s, words);
    return e->states++;
}

/* In a numbered store: the stored state that `tag` probably stands for, plus 1, on its way into the cache; or 0. */
INLINE uint32_t find_like(const kv_engine *e, uint32_t tag, uint32_t words)
{
    uint64_t at = home(tag, e->table_lines) * LINE_WORDS;
    for (uint64_t entry; (entry = e->table[at]) != 0; at = at + 1 == table_words(e) ? 0 : at + 1)
        if ((uint32_t)(entry >> 32) == tag) {
            PREFETCH(state_words(e, (uint32_t)entry - 1, words));
            return (uint32_t)entry;
        }
    return 0;
}

/* In a numbered store: the number of a state, or NO_STATE. */
static uint64_t lookup(const kv_engine *e, const uint64_t *s, uint32_t tag)
{
    uint64_t at = home(tag, e->table_lines) * LINE_WORDS;
    for (uint64_t entry; (entry = e->table[at]) != 0; at = at + 1 == table_words(e) ? 0 : at + 1)
        if ((uint32_t)(entry >> 32) == tag && same_words(state_words(e, (uint32_t)entry - 1, e->words), s, e->words))
            return (uint32_t)entry - 1;
    return NO_STATE;
}

/* Links a new state to its parent. */
INLINE void link_state(kv_engine *e, uint64_t state, uint32_t parent, uint32_t action)
{
    chunk *c = &e->chunks[state >> e->chunk_bits];
    uint64_t offset = offset_of(e, state);
    c->parents[offset] = parent;
    if (action_bytes(e) == sizeof(uint16_t))
        c->short_actions[offset] = (uint16_t)action;
    else
        c->long_actions[offset] = action;
}

static uint32_t parent_of(const kv_engine *e, uint64_t state)
{
    return e->chunks[state >> e->chunk_bits].parents[offset_of(e, state)];
}

static uint32_t action_of(const kv_engine *e, uint64_t state)
{
    const chunk *c = &e->chunks[state >> e->chunk_bits];
    uint64_t offset = offset_of(e, state);
    return action_bytes(e) == sizeof(uint16_t) ? c->short_actions[offset] : c->long_actions[offset];
}
