/*
 * The store: states by number, and the hash table that finds them.
 *
 * The position of a slot is 32 bits of hash scaled to the table size, so a bigger table has the same order and growing
 * streams through both.  Slots of the three kinds are described at `store_kind`.
 */

INLINE uint32_t hash_state(const uint64_t *s, uint32_t words, uint64_t seed)
{
    uint64_t h = seed;
    for (uint32_t w = 0; w < words; w++) {
        h = (h ^ s[w]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    h *= 0xd6e8feb86659fd93u;
    return (uint32_t)(h >> 32);
}

INLINE uint64_t mix(uint64_t h)
{
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

/* Two lanes of 64 bits that see every word through different functions. */
static void fingerprint(const uint64_t *s, uint32_t words, uint64_t seed, uint64_t *out)
{
    uint64_t a = seed, b = ~seed;
    for (uint32_t w = 0; w < words; w++) {
        a = mix(a ^ s[w]);
        b = mix((b + s[w]) * 0x9e3779b97f4a7c15u + w);
    }
    out[0] = mix(a + (b << 1));
    out[1] = mix(b ^ (a >> 1)) | 1;
}

/* The hash of a state; for WHOLE and PRINTS also what a slot holds for it, in `key`. */
INLINE uint32_t key_of(const kv_engine *e, const uint64_t *s, uint64_t *key, uint32_t words, store_kind kind)
{
    if (kind == PRINTS) {
        fingerprint(s, words, e->seed, key);
        return (uint32_t)(key[0] >> 32);
    }
    if (kind == WHOLE)
        for (uint32_t w = 0; w < words; w++)
            key[w] = s[w] | e->present[w];
    return hash_state(s, words, e->seed);
}

/* The hash of what is in a slot. */
INLINE uint32_t slot_tag(const kv_engine *e, const uint64_t *slot)
{
    uint64_t s[2];
    switch (e->kind) {
    case NUMBERED:
        return (uint32_t)(slot[0] >> 32);
    case PRINTS:
        return (uint32_t)(slot[0] >> 32);
    default:
        for (uint32_t w = 0; w < e->words; w++)
            s[w] = slot[w] & ~e->present[w];
        return hash_state(s, e->words, e->seed);
    }
}

INLINE uint64_t home(uint32_t tag, uint64_t slots)
{
    return ((uint64_t)tag * slots) >> 32;
}

INLINE uint64_t offset_of(const kv_engine *e, uint64_t state)
{
    return state & (((uint64_t)1 << e->chunk_bits) - 1);
}

/* The packed words of a state; unless the store is numbered only of one that is not expanded yet. */
INLINE uint64_t *state_words(const kv_engine *e, uint64_t state, uint32_t words)
{
    return e->chunks[state >> e->chunk_bits].words + offset_of(e, state) * words;
}

INLINE int same_words(const uint64_t *x, const uint64_t *y, uint32_t words)
{
    uint64_t difference = 0;
    for (uint32_t w = 0; w < words; w++)
        difference |= x[w] ^ y[w];
    return difference == 0;
}

INLINE int empty_slot(const uint64_t *slot, uint32_t slot_words)
{
    return slot_words == 1 ? slot[0] == 0 : (slot[0] | slot[1]) == 0;
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

/* ----------------------------------------------------------------------------------------------- table */

/* Enters what a slot held into the table as it is now. */
static void enter_again(kv_engine *e, const uint64_t *from)
{
    uint32_t width = e->slot_words;
    uint64_t at = home(slot_tag(e, from), e->table_slots);
    while (!empty_slot(e->table + at * width, width))
        at = at + 1 == e->table_slots ? 0 : at + 1;
    for (uint32_t w = 0; w < width; w++)
        e->table[at * width + w] = from[w];
}

/*
 * Spreads the table over more slots, in place.  From the last slot down, everything moves to where it now belongs, which lies
 * above all that has not moved yet.  What does not (it sits far from its home at the low end, or there is no room before the
 * end of the table and it belongs at its beginning, among what still has to move) waits in `aside`.
 */
static int spread_table(kv_engine *e, uint64_t old_slots, uint64_t slots)
{
    uint32_t width = e->slot_words;
    uint64_t count = 0, room = 1024, slot[KEY_ROOM];
    uint64_t *aside = malloc((size_t)room * width * sizeof *aside);
    if (aside == NULL)
        return 0;
    e->table_slots = slots;
    for (uint64_t i = old_slots; i-- > 0;) {
        uint64_t *from = e->table + i * width;
        if (empty_slot(from, width))
            continue;
        for (uint32_t w = 0; w < width; w++) {
            slot[w] = from[w];
            from[w] = 0;
        }
        uint64_t at = home(slot_tag(e, slot), slots);
        if (LIKELY(at > i)) {
            while (at < slots && !empty_slot(e->table + at * width, width))
                at++;
            if (LIKELY(at < slots)) {
                for (uint32_t w = 0; w < width; w++)
                    e->table[at * width + w] = slot[w];
                continue;
            }
        }
        if (count == room) {
            uint64_t *more = realloc(aside, (size_t)(room * 2) * width * sizeof *more);
            if (more == NULL)
                abort(); /* half of the table has moved: there is no way back */
            aside = more;
            room *= 2;
        }
        memcpy(aside + count++ * width, slot, width * sizeof *slot);
    }
    for (uint64_t k = 0; k < count; k++)
        enter_again(e, aside + k * width);
    free(aside);
    return 1;
}

/* Moves the table to a bigger one.  Both are in hash order, so this is two streams, not random access. */
static int move_table(kv_engine *e, uint64_t *bigger, uint64_t slots)
{
    uint64_t *old = e->table, old_slots = e->table_slots;
    e->table = bigger;
    e->table_slots = slots;
    for (uint64_t i = 0; i < old_slots; i++)
        if (!empty_slot(old + i * e->slot_words, e->slot_words))
            enter_again(e, old + i * e->slot_words);
    give(e, old, old_slots * e->slot_words * sizeof(uint64_t));
    return 1;
}

/* A table of that many slots, with all that the present one holds; 0 when there is no memory. */
static int grow_table(kv_engine *e, uint64_t slots)
{
    uint64_t bytes = slots * e->slot_words * sizeof(uint64_t), old_slots = e->table_slots;
    uint64_t old_bytes = old_slots * e->slot_words * sizeof(uint64_t);
    int done;
    if (e->region_bytes >= bytes) {
        done = within_limit(e, bytes - old_bytes) && spread_table(e, old_slots, slots);
        e->held += done ? bytes - old_bytes : 0;
    } else if (bytes >= HUGE_BYTES && e->region_bytes == 0 && within_limit(e, bytes) && open_region(e, bytes)) {
        e->held += bytes;
        done = move_table(e, e->region, slots);
    } else {
        uint64_t *bigger = take(e, slots, e->slot_words * sizeof(uint64_t));
        done = bigger != NULL && move_table(e, bigger, slots);
    }
    if (done)
        e->table_limit = slots - slots / 4;
    return done;
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
    if (wanted <= e->table_limit)
        return 1;
    uint64_t slots = e->table_slots == 0 ? FIRST_SLOTS : e->table_slots;
    while (slots - slots / 4 < wanted)
        slots += slots < DOUBLING_SLOTS ? slots : slots / 2;
    return grow_table(e, slots);
}

INLINE void put_words(kv_engine *e, uint64_t state, const uint64_t *s, uint32_t words)
{
    uint64_t *to = state_words(e, state, words);
    for (uint32_t w = 0; w < words; w++)
        to[w] = s[w];
}

/* Whether the table gets this key now (1) or knows it already (0). */
INLINE int enter_key(uint64_t *table, uint64_t slots, const uint64_t *key, uint32_t tag, uint32_t width)
{
    for (uint64_t at = home(tag, slots);; at = at + 1 == slots ? 0 : at + 1) {
        uint64_t *slot = table + at * width;
        if (same_words(slot, key, width))
            return 0;
        if (empty_slot(slot, width)) {
            for (uint32_t w = 0; w < width; w++)
                slot[w] = key[w];
            return 1;
        }
    }
}

/* Whether the table knows this key. */
INLINE int knows_key(const uint64_t *table, uint64_t slots, const uint64_t *key, uint32_t tag, uint32_t width)
{
    for (uint64_t at = home(tag, slots);; at = at + 1 == slots ? 0 : at + 1) {
        const uint64_t *slot = table + at * width;
        if (same_words(slot, key, width))
            return 1;
        if (empty_slot(slot, width))
            return 0;
    }
}

/* In a numbered store: the same with the number that the state would get. */
INLINE int enter_number(kv_engine *e, const uint64_t *s, uint32_t tag, uint64_t number, uint32_t words)
{
    for (uint64_t at = home(tag, e->table_slots);; at = at + 1 == e->table_slots ? 0 : at + 1) {
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
                          store_kind kind)
{
    int fresh = kind == NUMBERED ? enter_number(e, s, tag, e->states, words)
                                 : enter_key(e->table, e->table_slots, key, tag, kind == PRINTS ? 2 : words);
    if (!fresh)
        return NO_STATE;
    put_words(e, e->states, s, words);
    return e->states++;
}

/* In a numbered store: the stored state that `tag` probably stands for, plus 1, on its way into the cache; or 0. */
INLINE uint32_t find_like(const kv_engine *e, uint32_t tag, uint32_t words)
{
    uint64_t at = home(tag, e->table_slots);
    for (uint64_t entry; (entry = e->table[at]) != 0; at = at + 1 == e->table_slots ? 0 : at + 1)
        if ((uint32_t)(entry >> 32) == tag) {
            PREFETCH(state_words(e, (uint32_t)entry - 1, words));
            return (uint32_t)entry;
        }
    return 0;
}

/* In a numbered store: the number of a state, or NO_STATE. */
static uint64_t lookup(const kv_engine *e, const uint64_t *s, uint32_t tag)
{
    uint64_t at = home(tag, e->table_slots);
    for (uint64_t entry; (entry = e->table[at]) != 0; at = at + 1 == e->table_slots ? 0 : at + 1)
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
