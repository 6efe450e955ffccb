/* The bytecode interpreter of tier 1, and the arithmetic that it needs. */

INLINE uint64_t popcount(uint64_t x)
{
    x = x - ((x >> 1) & 0x5555555555555555u);
    x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (x * 0x0101010101010101u) >> 56;
}

/* Index of the lowest one bit; x is not 0. */
INLINE uint32_t lowest_bit(uint64_t x)
{
#if defined(__GNUC__)
    return (uint32_t)__builtin_ctzll(x);
#else
    return (uint32_t)popcount((x & (~x + 1)) - 1);
#endif
}

/* Python's division.  The caller has excluded b == 0; b == -1 is apart because INT64_MIN / -1 traps. */
INLINE int64_t floor_div(int64_t a, int64_t b)
{
    if (b == -1)
        return (int64_t)(0 - (uint64_t)a);
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

INLINE int64_t floor_mod(int64_t a, int64_t b)
{
    if (b == -1)
        return 0;
    int64_t m = a % b;
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

/* The order is that of `Code` in bytecode.py. */
#define OPCODES(X)                                                                                     \
    X(CONST) X(MOVE) X(LOAD) X(LOADX) X(STORE) X(STOREX) X(PUT) X(TEST) X(NEVER) X(REQUIRE) X(FAULT)   \
    X(CHECK) X(RET) X(JUMP) X(JUMP_ZERO) X(DONE)                                                       \
    X(BEGIN1) X(BEGIN2) X(BEGIN3) X(BEGIN4) X(BEGIN) X(IS) X(JUMP_IS) X(JUMP_IS_NOT) X(JUMP_NONZERO)    \
    X(ADD) X(SUB) X(MUL) X(FLOORDIV) X(MOD) X(MIN) X(MAX) X(EQ) X(NE) X(LT) X(LE)                      \
    X(BAND) X(BOR) X(BXOR) X(BANDN) X(HAS)                                                             \
    X(ADDI) X(MULI) X(EQI) X(LTI) X(NOT) X(BIT) X(POPCOUNT) X(LOWBIT)

#if defined(__GNUC__) && !defined(KV_SWITCH)
#define KV_GOTO 1
#define LABEL(name) &&label_##name,
#define CASE(name) label_##name
#define DISPATCH() goto *labels[ip->i.op]
#else
#define KV_GOTO 0
#define NAME(name) OP_##name,
enum { OPCODES(NAME) OP_COUNT };
#define CASE(name) case OP_##name
#define DISPATCH() goto dispatch
#endif
#define NEXT(n)                                                                                        \
    do {                                                                                               \
        ip += (n);                                                                                     \
        DISPATCH();                                                                                    \
    } while (0)

#define D (r[ip->i.d])
#define A (r[ip->i.a])
#define B (r[ip->i.b])
#define IMM (ip->i.imm)
/* Whether a state word has certain values in certain bits, given in the next slot. */
#define MATCHES(word) ((t[word] & ip[1].pair.mask) == ip[1].pair.value)
/* Unsigned views: signed overflow is undefined in C, and the two agree in the low 64 bits. */
#define UA ((uint64_t)A)
#define UB ((uint64_t)B)
#define BINARY(name, expression)                                                                       \
    CASE(name) : D = (int64_t)(expression);                                                            \
    NEXT(1)

#define BEGIN_CASE(name, count)                                                                        \
    CASE(name) : memcpy(out, from, (count) * sizeof(uint64_t));                                        \
    t = out;                                                                                           \
    NEXT(1)

INLINE void store_leaf(uint64_t *words, uint32_t word, uint32_t shift, uint64_t mask, int64_t value)
{
    words[word] = (words[word] & ~(mask << shift)) | (((uint64_t)value & mask) << shift);
}

/*
 * Runs one block on `from`.  Stores go to `out`, which BEGIN has made a copy of `from`; from then on loads
 * read `out` as well.  A fault number is left in *fault.
 */
static int interpret(const kv_engine *e, const worker *w, uint32_t entry,
                     const uint64_t *from, uint64_t *out, uint32_t *fault)
{
    const slot *ip = e->code + entry;
    const leaf *leaves = e->leaf_table;
    int64_t *r = w->registers;
    const uint64_t *t = from;
    uint64_t index;
#if KV_GOTO
    static const void *const labels[] = {OPCODES(LABEL)};
    DISPATCH();
#else
dispatch:
    switch (ip->i.op) {
#endif
    CASE(CONST):
        D = IMM;
        NEXT(1);
    CASE(MOVE):
        D = A;
        NEXT(1);
    CASE(LOAD):
        D = (int64_t)((t[ip->i.a] >> ip->i.b) & (uint64_t)IMM);
        NEXT(1);
    CASE(LOADX):
        index = (uint64_t)IMM + UA;
        if (UNLIKELY(index >= e->leaves))
            return IS_BROKEN;
        D = (int64_t)((t[leaves[index].word] >> leaves[index].shift) & leaves[index].mask);
        NEXT(1);
    CASE(STORE):
        store_leaf(out, ip->i.d, ip->i.b, (uint64_t)IMM, A);
        NEXT(1);
    CASE(STOREX):
        index = (uint64_t)IMM + UA;
        if (UNLIKELY(index >= e->leaves))
            return IS_BROKEN;
        store_leaf(out, leaves[index].word, leaves[index].shift, leaves[index].mask, B);
        NEXT(1);
    CASE(PUT):
        out[ip->i.d] = (out[ip->i.d] & ~ip[1].pair.mask) | ip[1].pair.value;
        NEXT(2);
    CASE(TEST):
        if (!MATCHES(ip->i.d))
            return NOT_ENABLED;
        NEXT(2);
    CASE(NEVER):
        return NOT_ENABLED;
    CASE(REQUIRE):
        if (A == 0)
            return NOT_ENABLED;
        NEXT(1);
    CASE(FAULT):
        *fault = (uint32_t)IMM;
        return IS_FAULT;
    CASE(CHECK):
        if (UNLIKELY(A == 0)) {
            *fault = (uint32_t)IMM;
            return IS_FAULT;
        }
        NEXT(1);
    CASE(RET):
        return A != 0 ? IS_TRUE : IS_FALSE;
    CASE(JUMP):
        NEXT(IMM);
    CASE(JUMP_ZERO):
        NEXT(A == 0 ? IMM : 1);
    CASE(JUMP_NONZERO):
        NEXT(A != 0 ? IMM : 1);
    CASE(IS):
        D = MATCHES(ip->i.a);
        NEXT(2);
    CASE(JUMP_IS):
        NEXT(MATCHES(ip->i.a) ? IMM : 2);
    CASE(JUMP_IS_NOT):
        NEXT(MATCHES(ip->i.a) ? 2 : IMM);
    CASE(DONE):
        return DONE;
    BEGIN_CASE(BEGIN1, 1);
    BEGIN_CASE(BEGIN2, 2);
    BEGIN_CASE(BEGIN3, 3);
    BEGIN_CASE(BEGIN4, 4);
    BEGIN_CASE(BEGIN, e->words);
    CASE(FLOORDIV):
        if (UNLIKELY(B == 0))
            return IS_BROKEN;
        D = floor_div(A, B);
        NEXT(1);
    CASE(MOD):
        if (UNLIKELY(B == 0))
            return IS_BROKEN;
        D = floor_mod(A, B);
        NEXT(1);
    BINARY(ADD, UA + UB);
    BINARY(SUB, UA - UB);
    BINARY(MUL, UA * UB);
    BINARY(MIN, A < B ? A : B);
    BINARY(MAX, A > B ? A : B);
    BINARY(EQ, A == B);
    BINARY(NE, A != B);
    BINARY(LT, A < B);
    BINARY(LE, A <= B);
    BINARY(BAND, UA & UB);
    BINARY(BOR, UA | UB);
    BINARY(BXOR, UA ^ UB);
    BINARY(BANDN, UA & ~UB);
    BINARY(HAS, (UA >> (UB & 63)) & 1);
    BINARY(ADDI, UA + (uint64_t)IMM);
    BINARY(MULI, UA * (uint64_t)IMM);
    BINARY(EQI, A == IMM);
    BINARY(LTI, A < IMM);
    BINARY(NOT, A == 0);
    BINARY(BIT, (uint64_t)1 << (UA & 63));
    BINARY(POPCOUNT, popcount(UA));
    BINARY(LOWBIT, A == 0 ? 0 : lowest_bit(UA));
#if !KV_GOTO
    default:
        return IS_BROKEN;
    }
#endif
}

/* Runs block number `block` as printed C if there is any, else as bytecode. */
INLINE int run_block(const kv_engine *e, const worker *w, uint32_t block, const uint64_t *from, uint64_t *out,
                     uint32_t *fault)
{
    if (e->compiled != NULL)
        return e->compiled[block](from, out, fault);
    return interpret(e, w, e->block_entry[block], from, out, fault);
}
