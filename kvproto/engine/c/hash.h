/*
 * Hashes of states, and the keys of states of two words.
 *
 * The tag of a state is 32 bits of hash, and where the state is looked for in the table is the tag scaled to the size
 * of the table.  So a bigger table has the same order.  For a pair of words the lowest `quotient` bits of the second
 * word are not hashed but added to the top of the tag: the place then tells them, and a slot need not hold them.  They
 * are multiplied by an odd number first, because states that differ in them alone come in flocks and would crowd a few
 * neighbouring lines.
 */

#define SCATTER 0x1e35a7bdu
#define GATHER 0x22b54b95u /* the inverse of SCATTER modulo any power of 2 up to 1 << 32 */

INLINE int same_words(const uint64_t *x, const uint64_t *y, uint32_t words)
{
    uint64_t difference = 0;
    for (uint32_t w = 0; w < words; w++)
        difference |= x[w] ^ y[w];
    return difference == 0;
}

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

/* The tag of a pair of which a slot holds `first` and `rest`, and its place the scattered quotient. */
INLINE uint32_t tag_of_parts(const kv_engine *e, uint64_t first, uint64_t rest, uint32_t scattered)
{
    const uint64_t parts[] = {first, rest};
    return hash_state(parts, 2, e->seed) + (uint32_t)((uint64_t)scattered << (32 - e->quotient));
}

/* Multiplies within the bits of the quotient; with SCATTER and then with GATHER nothing has changed. */
INLINE uint32_t in_quotient(const kv_engine *e, uint32_t bits, uint32_t factor)
{
    return bits * factor & (((uint32_t)1 << e->quotient) - 1);
}

INLINE uint32_t tag_of_pair(const kv_engine *e, const uint64_t *pair)
{
    return tag_of_parts(e, pair[0], pair[1] >> e->quotient, in_quotient(e, (uint32_t)pair[1], SCATTER));
}

/* The tag of a state; for PRINTS also the fingerprint that stands for the state, in `print`. */
INLINE uint32_t tag_of(const kv_engine *e, const uint64_t *s, uint64_t *print, uint32_t words, store_kind kind)
{
    if (kind == PRINTS) {
        fingerprint(s, words, e->seed, print);
        return tag_of_pair(e, print);
    }
    return kind == WHOLE && words == 2 ? tag_of_pair(e, s) : hash_state(s, words, e->seed);
}

/* In states of one word: sets, or takes away, the bit that tells a state in a slot from nothing. */
INLINE void mark_present(const kv_engine *e, uint64_t *s)
{
    s[0] |= e->present;
}

INLINE void unmark_present(const kv_engine *e, uint64_t *s)
{
    s[0] &= ~e->present;
}
