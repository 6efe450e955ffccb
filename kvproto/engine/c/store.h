/*
 * The store: states by number, and the hash table that finds them.
 *
 * A slot of the table is 32 hash bits and a state number.  The slot position is those hash bits scaled to the table size,
 * so a bigger table has the same order and growing streams through both.
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
    out[1] = mix(b ^ (a >> 1));
}

/* What the table compares for a state (the state itself, or its fingerprint in `room`), and its hash. */
INLINE const uint64_t *key_of(const kv_engine *e, const uint64_t *s, uint64_t *room, uint32_t *tag, uint32_t words)
{
    if (e->key_words == e->words) {
        *tag = hash_state(s, words, e->seed);
        return s;
    }
    fingerprint(s, words, e->seed, room);
    *tag = (uint32_t)(room[0] >> 32);
    return room;
}

INLINE uint64_t home(uint32_t tag, uint64_t slots)
{
    return ((uint64_t)tag * slots) >> 32;
}

INLINE uint64_t offset_of(const kv_engine *e, uint64_t state)
{
    return state & (((uint64_t)1 << e->chunk_bits) - 1);
}

INLINE uint64_t *state_key(const kv_engine *e, uint64_t state, uint32_t key_words)
{
    return e->chunks[state >> e->chunk_bits].keys + offset_of(e, state) * key_words;
}

/* The packed words of a state; with fingerprints only of one that is not expanded yet. */
INLINE uint64_t *state_words(const kv_engine *e, uint64_t state, uint32_t words)
{
    return e->chunks[state >> e->chunk_bits].full + offset_of(e, state) * words;
}

INLINE int same_key(const uint64_t *x, const uint64_t *y, uint32_t words)
{
    uint64_t difference = 0;
    for (uint32_t w = 0; w < words; w++)
        difference |= x[w] ^ y[w];
    return difference == 0;
}

static uint64_t action_bytes(const kv_engine *e)
{
    return e->actions < UINT16_MAX ? sizeof(uint16_t) : sizeof(uint32_t);
}

static uint64_t chunk_bytes(const kv_engine *e)
{
    uint64_t bytes = (e->key_words * sizeof(uint64_t) + sizeof(uint32_t) + action_bytes(e)) << e->chunk_bits;
    return (bytes + 0xffff) & ~(uint64_t)0xffff; /* whole pages, so that a chunk may lie in a file */
}

static uint64_t full_bytes(const kv_engine *e)
{
    return ((uint64_t)e->words * sizeof(uint64_t)) << e->chunk_bits;
}

/* Room for one more entry in the list of chunks. */
static int grow_chunk_list(kv_engine *e)
{
    if (e->chunk_count < e->chunk_room)
        return 1;
    uint64_t room = e->chunk_room == 0 ? 16 : e->chunk_room * 2;
    chunk *bigger = take(e, room, sizeof(chunk));
    if (bigger == NULL)
        return 0;
    if (e->chunk_count != 0)
        memcpy(bigger, e->chunks, e->chunk_count * sizeof(chunk));
    give(e, e->chunks, e->chunk_room * sizeof(chunk));
    e->chunks = bigger;
    e->chunk_room = room;
    return 1;
}

static int add_chunk(kv_engine *e)
{
    if (!grow_chunk_list(e))
        return 0;
    uint64_t states = (uint64_t)1 << e->chunk_bits, bytes = chunk_bytes(e), mapped = 0;
    uint64_t *block = take(e, bytes, 1);
    if (block == NULL) {
        block = take_spilled(e, bytes);
        mapped = bytes;
    }
    if (block == NULL)
        return 0;
    uint64_t *full = e->key_words == e->words ? block : take(e, full_bytes(e), 1);
    if (full == NULL) {
        if (mapped == 0)
            give(e, block, bytes);
        else
            unmap_block(block, bytes);
        return 0;
    }
    chunk *c = &e->chunks[e->chunk_count++];
    c->keys = block;
    c->full = full;
    c->parents = (uint32_t *)(block + states * e->key_words);
    c->long_actions = c->parents + states;
    c->short_actions = (uint16_t *)c->long_actions;
    c->mapped = mapped;
    return 1;
}

/* With fingerprints the words of expanded states are of no more use. */
static void free_expanded(kv_engine *e)
{
    if (e->key_words == e->words)
        return;
    for (; e->freed_chunks < e->expanded >> e->chunk_bits; e->freed_chunks++) {
        give(e, e->chunks[e->freed_chunks].full, full_bytes(e));
        e->chunks[e->freed_chunks].full = NULL;
    }
}

/* Gives pages of the old table back while it is read, so that the peak is the new table and not both. */
static uint64_t release_behind(uint64_t *table, uint64_t slots, uint64_t done, uint64_t released)
{
#if KV_POSIX && defined(MADV_DONTNEED)
    uint64_t bytes = done * sizeof(uint64_t) & ~(uint64_t)(RELEASE_BYTES - 1);
    if (slots * sizeof(uint64_t) >= 2 * (uint64_t)RELEASE_BYTES && bytes > released) {
        (void)madvise((char *)table + released, (size_t)(bytes - released), MADV_DONTNEED);
        return bytes;
    }
#else
    (void)table;
    (void)slots;
    (void)done;
#endif
    return released;
}

/* Moves the table to a bigger one.  Both are in hash order, so this is two streams, not random access. */
static int grow_table(kv_engine *e, uint64_t slots)
{
    uint64_t old_bytes = e->table_slots * sizeof(uint64_t), released = 0;
    e->held -= old_bytes; /* it goes as the new one comes: see release_behind */
    uint64_t *bigger = take(e, slots, sizeof(uint64_t));
    e->held += old_bytes;
    if (bigger == NULL)
        return 0;
    for (uint64_t i = 0; i < e->table_slots; i++) {
        if (i % (RELEASE_BYTES / sizeof(uint64_t)) == 0)
            released = release_behind(e->table, e->table_slots, i, released);
        uint64_t entry = e->table[i];
        if (entry == 0)
            continue;
        uint64_t at = home((uint32_t)(entry >> 32), slots);
        while (bigger[at] != 0)
            at = at + 1 == slots ? 0 : at + 1;
        bigger[at] = entry;
    }
    give(e, e->table, old_bytes);
    e->table = bigger;
    e->table_slots = slots;
    e->table_limit = slots - slots / 4;
    return 1;
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

/* Writes a state under its number; the table knows of it already. */
INLINE void put_state(kv_engine *e, uint64_t state, const uint64_t *s, const uint64_t *key, uint32_t words,
                      uint32_t key_words)
{
    uint64_t *to = state_key(e, state, key_words);
    for (uint32_t w = 0; w < key_words; w++)
        to[w] = key[w];
    if (key_words != words || key != s) {
        to = state_words(e, state, words);
        for (uint32_t w = 0; w < words; w++)
            to[w] = s[w];
    }
}

/* Adds a state unless it is known; room was reserved.  Answers its number if it is new, else NO_STATE. */
INLINE uint64_t add_state(kv_engine *e, const uint64_t *s, const uint64_t *key, uint32_t tag, uint32_t words,
                          uint32_t key_words)
{
    uint64_t at = home(tag, e->table_slots);
    for (uint64_t entry; (entry = e->table[at]) != 0; at = at + 1 == e->table_slots ? 0 : at + 1)
        if ((uint32_t)(entry >> 32) == tag
            && LIKELY(same_key(state_key(e, (uint32_t)entry - 1, key_words), key, key_words)))
            return NO_STATE;
    uint64_t state = e->states++;
    e->table[at] = (uint64_t)tag << 32 | (state + 1);
    put_state(e, state, s, key, words, key_words);
    return state;
}

/* The stored state that `tag` probably stands for, plus 1, on its way into the cache; or 0. */
INLINE uint32_t find_like(const kv_engine *e, uint32_t tag, uint32_t key_words)
{
    uint64_t at = home(tag, e->table_slots);
    for (uint64_t entry; (entry = e->table[at]) != 0; at = at + 1 == e->table_slots ? 0 : at + 1)
        if ((uint32_t)(entry >> 32) == tag) {
            PREFETCH(state_key(e, (uint32_t)entry - 1, key_words));
            return (uint32_t)entry;
        }
    return 0;
}

/* The number of a state that is in the store, or NO_STATE. */
static uint64_t lookup(const kv_engine *e, const uint64_t *key, uint32_t tag)
{
    uint64_t at = home(tag, e->table_slots);
    for (uint64_t entry; (entry = e->table[at]) != 0; at = at + 1 == e->table_slots ? 0 : at + 1)
        if ((uint32_t)(entry >> 32) == tag && same_key(state_key(e, (uint32_t)entry - 1, e->key_words), key, e->key_words))
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
