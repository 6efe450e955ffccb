/*
 * The C tier: breadth-first exploration of one kvproto program.
 *
 * `bytecode.py` packs a program into 16-byte slots; this file interprets them, stores the states they
 * produce and answers what `explorer.py` asks.  Everything hangs off one `kv_engine`; there are no globals.
 *
 * How it is fast, in the order in which it matters:
 *  - Guards.  Conditions that depend on one small leaf do not run as code.  For each window of up to 8 state
 *    bits a table holds, for each value of these bits, the set of actions that may be enabled.  And-ing
 *    one row per window leaves few actions to interpret.
 *  - Batches.  Successors of many states are generated and hashed first, the table slots they need are
 *    prefetched, then the stored states they may equal, and only then are they inserted, in order.  So the
 *    order of discovery is that of plain first-in first-out search.
 *  - A small table.  A slot is 32 hash bits and a state number.  The slot position is those hash bits scaled
 *    to the table size, so a bigger table has the same order and growing streams through both.
 *
 * When memory is refused (by the limit or by malloc) the state under expansion is left unexpanded: all
 * counters then describe exactly the states expanded before it.
 */
#if defined(__linux__) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE /* for madvise */
#endif

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

/* Raised whenever an exported function, a structure or the meaning of the bytecode changes. */
#define KV_ABI 1
#ifndef KV_SOURCE_HASH
#define KV_SOURCE_HASH "unknown"
#endif

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define PREFETCH(address) __builtin_prefetch(address)
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define INLINE static inline
#define PREFETCH(address) ((void)(address))
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
#endif

/* ---------------------------------------------------------------------------------------------- data */

enum { BATCH = 16, EVENTS = 512, WINDOW_BITS = 8 };
enum { FIRST_SLOTS = 1024, DOUBLING_SLOTS = 1 << 18, CHUNK_BYTES = 1 << 20, MAX_CHUNK_BITS = 16 };

#define NO_STATE UINT64_MAX
#define NO_PARENT UINT32_MAX
#define NO_ACTION UINT32_MAX
#define FAULTED 0x80000000u /* flag in event.action */

/* What an exported function answers. */
enum { KV_OK = 0, KV_MEMORY = 1, KV_BROKEN = 2 };

/* What one run of a block answers. */
enum { NOT_ENABLED, DONE, IS_FAULT, IS_FALSE, IS_TRUE, IS_BROKEN };

/* One slot of bytecode: an instruction, or the operands of the instruction before it. */
typedef union {
    struct {
        uint16_t op, d, a, b;
        int64_t imm;
    } i;
    struct {
        uint64_t mask, value;
    } pair;
} slot;

/* Where a leaf lies; `mask` is not shifted. */
typedef struct {
    uint64_t mask;
    uint32_t word, shift;
} leaf;

/* `action` is enabled only if allowed bit v is set; v is `bits` bits from bit `shift` of the window. */
typedef struct {
    uint32_t action, window, shift, bits;
    uint64_t allowed[4];
} guard;

/* `bits` bits of a state word, and the rows of candidate actions, words `low` to `high` of the action set. */
typedef struct {
    uint32_t word, shift, bits, low, high;
    uint64_t *rows;
} window;

/* What Python passes to kv_new; mirrored in c_explorer.py. */
typedef struct {
    uint64_t words, registers, slots, leaves, actions, claims, windows, guards, faults;
    const slot *code;
    const leaf *leaf_table;
    const uint32_t *action_entry, *claim_entry;
    int64_t terminal_entry; /* -1: do not look for deadlocks */
    const uint32_t *window_table; /* word, shift, bits */
    const guard *guard_table;
    uint64_t memory_limit, seed;
} kv_spec;

/*
 * A successor (tag = its hash) or a fault (tag = its number), in the order in which they were met.  `like` is
 * the state of the same hash that the table held while the batch was generated, plus 1, or 0.
 */
typedef struct {
    uint32_t tag, action, like;
} event;

/* One expanded state of a batch: its events end before `end`. */
typedef struct {
    uint32_t end;
    int deadlock;
} source;

typedef struct {
    uint64_t state;
    int64_t action;
} fault_hit;

/* A run of states: packed words, then parents, then the actions that led here. */
typedef struct {
    uint64_t *words;
    uint32_t *parents;
    uint16_t *short_actions; /* one of the two is used, depending on the number of actions */
    uint32_t *long_actions;
} chunk;

typedef struct kv_engine {
    /* the program */
    uint32_t words, leaves, actions, claims, windows, faults, set_words;
    slot *code;
    leaf *leaf_table;
    uint32_t *action_entry, *claim_entry;
    int64_t terminal_entry;
    window *window_table;
    uint64_t *all_actions, *candidates;
    int64_t *registers;
    /* states */
    chunk *chunks;
    uint64_t chunk_count, chunk_room, states;
    uint32_t chunk_bits;
    /* table */
    uint64_t *table;
    uint64_t table_slots, table_limit, seed;
    /* search */
    uint64_t expanded, transitions, level, level_begin, level_end;
    uint64_t violating, deadlock, held, limit;
    uint64_t *violation, *fired;
    fault_hit *fault_table;
    int broken;
    /* batch */
    uint64_t *successors;
    event *events;
    uint32_t event_room;
    source sources[BATCH];
} kv_engine;

/* -------------------------------------------------------------------------------------------- memory */

/* Zeroed memory within the limit, or NULL.  Big blocks ask for huge pages: probing is bound by TLB misses. */
static void *take(kv_engine *e, uint64_t count, uint64_t size)
{
    if (size != 0 && count > (UINT64_MAX / 4) / size)
        return NULL;
    uint64_t bytes = count * size;
    if (bytes > SIZE_MAX / 2 || e->held > e->limit || bytes > e->limit - e->held)
        return NULL;
    char *p = calloc(bytes == 0 ? 1 : (size_t)bytes, 1);
    if (p == NULL)
        return NULL;
    e->held += bytes;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (bytes >= (1u << 20)) {
        uintptr_t first = ((uintptr_t)p + 4095) & ~(uintptr_t)4095;
        uintptr_t last = ((uintptr_t)p + (uintptr_t)bytes) & ~(uintptr_t)4095;
        (void)madvise((void *)first, last - first, MADV_HUGEPAGE);
    }
#endif
    return p;
}

static void give(kv_engine *e, void *p, uint64_t bytes)
{
    if (p != NULL) {
        free(p);
        e->held -= bytes;
    }
}

/* A copy of an array that belongs to the caller, or NULL. */
static void *take_copy(kv_engine *e, const void *from, uint64_t count, uint64_t size)
{
    void *p = take(e, count, size);
    if (p != NULL && count != 0)
        memcpy(p, from, (size_t)(count * size));
    return p;
}

/* ------------------------------------------------------------------------------------------ arithmetic */

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

/* ----------------------------------------------------------------------------------------- interpreter */

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
static int interpret(const kv_engine *e, uint32_t entry, const uint64_t *from, uint64_t *out, uint32_t *fault)
{
    const slot *ip = e->code + entry;
    const leaf *leaves = e->leaf_table;
    int64_t *r = e->registers;
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

/* ------------------------------------------------------------------------------------------- the store */

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

INLINE uint64_t home(uint32_t tag, uint64_t slots)
{
    return ((uint64_t)tag * slots) >> 32;
}

INLINE uint64_t *state_words(const kv_engine *e, uint64_t state, uint32_t words)
{
    uint64_t offset = state & (((uint64_t)1 << e->chunk_bits) - 1);
    return e->chunks[state >> e->chunk_bits].words + offset * words;
}

INLINE int same_state(const uint64_t *x, const uint64_t *y, uint32_t words)
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

static int add_chunk(kv_engine *e)
{
    if (e->chunk_count == e->chunk_room) {
        uint64_t room = e->chunk_room == 0 ? 16 : e->chunk_room * 2;
        chunk *bigger = take(e, room, sizeof(chunk));
        if (bigger == NULL)
            return 0;
        if (e->chunk_count != 0)
            memcpy(bigger, e->chunks, e->chunk_count * sizeof(chunk));
        give(e, e->chunks, e->chunk_room * sizeof(chunk));
        e->chunks = bigger;
        e->chunk_room = room;
    }
    uint64_t states = (uint64_t)1 << e->chunk_bits;
    uint64_t *block = take(e, states, e->words * sizeof(uint64_t) + sizeof(uint32_t) + action_bytes(e));
    if (block == NULL)
        return 0;
    chunk *c = &e->chunks[e->chunk_count++];
    c->words = block;
    c->parents = (uint32_t *)(block + states * e->words);
    c->long_actions = c->parents + states;
    c->short_actions = (uint16_t *)c->long_actions;
    return 1;
}

/* Moves the table to a bigger one.  Both are in hash order, so this is two streams, not random access. */
static int grow_table(kv_engine *e, uint64_t slots)
{
    uint64_t *bigger = take(e, slots, sizeof(uint64_t));
    if (bigger == NULL)
        return 0;
    for (uint64_t i = 0; i < e->table_slots; i++) {
        uint64_t entry = e->table[i];
        if (entry == 0)
            continue;
        uint64_t at = home((uint32_t)(entry >> 32), slots);
        while (bigger[at] != 0)
            at = at + 1 == slots ? 0 : at + 1;
        bigger[at] = entry;
    }
    give(e, e->table, e->table_slots * sizeof(uint64_t));
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

/* Adds a state unless it is known; room was reserved.  Answers its number if it is new, else NO_STATE. */
INLINE uint64_t add_state(kv_engine *e, const uint64_t *s, uint32_t tag, uint32_t words)
{
    uint64_t at = home(tag, e->table_slots);
    for (uint64_t entry; (entry = e->table[at]) != 0; at = at + 1 == e->table_slots ? 0 : at + 1)
        if ((uint32_t)(entry >> 32) == tag
            && LIKELY(same_state(state_words(e, (uint32_t)entry - 1, words), s, words)))
            return NO_STATE;
    uint64_t state = e->states++;
    e->table[at] = (uint64_t)tag << 32 | (state + 1);
    uint64_t *to = state_words(e, state, words);
    for (uint32_t w = 0; w < words; w++)
        to[w] = s[w];
    return state;
}

/* The stored state that `tag` probably stands for, plus 1, on its way into the cache; or 0. */
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

/* ------------------------------------------------------------------------------------------ the search */

static void hit_fault(kv_engine *e, uint32_t fault, uint64_t state, int64_t action)
{
    if (fault >= e->faults)
        e->broken = 1;
    else if (e->fault_table[fault].state == NO_STATE)
        e->fault_table[fault] = (fault_hit){state, action};
}

/* Links a new state to its parent and evaluates the claims on it. */
static void record(kv_engine *e, uint64_t state, uint32_t parent, uint32_t action)
{
    chunk *c = &e->chunks[state >> e->chunk_bits];
    uint64_t offset = state & (((uint64_t)1 << e->chunk_bits) - 1);
    c->parents[offset] = parent;
    if (action_bytes(e) == sizeof(uint16_t))
        c->short_actions[offset] = (uint16_t)action;
    else
        c->long_actions[offset] = action;
    const uint64_t *s = c->words + offset * e->words;
    int violates = 0;
    for (uint32_t i = 0; i < e->claims; i++) {
        uint32_t fault = 0;
        switch (interpret(e, e->claim_entry[i], s, NULL, &fault)) {
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
    }
    e->violating += (uint64_t)violates;
}

/* The set of actions whose guards hold in `s`, left in e->candidates. */
static void find_candidates(kv_engine *e, const uint64_t *s)
{
    uint64_t *set = e->candidates;
    for (uint32_t i = 0; i < e->set_words; i++)
        set[i] = e->all_actions[i];
    const window *end = e->window_table + e->windows;
    for (const window *w = e->window_table; w != end; w++) {
        uint64_t value = (s[w->word] >> w->shift) & (((uint64_t)1 << w->bits) - 1);
        const uint64_t *row = w->rows + value * (w->high - w->low);
        for (uint32_t i = w->low; i < w->high; i++)
            set[i] &= *row++;
    }
}

/* Appends the successors and faults of `s` to the batch; answers how many events there are then. */
INLINE uint32_t expand(kv_engine *e, const uint64_t *s, uint32_t used, uint32_t words)
{
    find_candidates(e, s);
    for (uint32_t i = 0; i < e->set_words; i++)
        for (uint64_t left = e->candidates[i]; left != 0; left &= left - 1) {
            uint32_t action = i * 64 + lowest_bit(left);
            uint64_t *out = e->successors + (uint64_t)used * words;
            event *next = &e->events[used];
            switch (interpret(e, e->action_entry[action], s, out, &next->tag)) {
            case NOT_ENABLED:
                break;
            case DONE:
                next->tag = hash_state(out, words, e->seed);
                PREFETCH(&e->table[home(next->tag, e->table_slots)]);
                next->action = action;
                used++;
                break;
            case IS_FAULT:
                next->action = action | FAULTED;
                used++;
                break;
            default:
                e->broken = 1;
            }
        }
    return used;
}

/* A state without successor and without fault: is it allowed to be one? */
static uint32_t end_of_run(kv_engine *e, const uint64_t *s, source *at, uint32_t used)
{
    event *next = &e->events[used];
    switch (interpret(e, (uint32_t)e->terminal_entry, s, NULL, &next->tag)) {
    case IS_TRUE:
        return used;
    case IS_FALSE:
        at->deadlock = 1;
        return used;
    case IS_FAULT:
        next->action = NO_ACTION;
        return used + 1;
    default:
        e->broken = 1;
        return used;
    }
}

/* Expands up to `wanted` states into the batch, as far as there is room, and answers how many. */
INLINE uint32_t generate(kv_engine *e, uint64_t wanted, uint32_t words)
{
    uint32_t count = 0, used = 0;
    while (count < wanted && count < BATCH && used + e->actions < e->event_room) {
        const uint64_t *s = state_words(e, e->expanded + count, words);
        source *at = &e->sources[count++];
        uint32_t before = used;
        at->deadlock = 0;
        used = expand(e, s, used, words);
        if (used == before && e->terminal_entry >= 0)
            used = end_of_run(e, s, at, used);
        at->end = used;
    }
    for (uint32_t i = 0; i < used; i++)
        if (!(e->events[i].action & FAULTED))
            e->events[i].like = find_like(e, e->events[i].tag, words);
    return count;
}

/* Takes the batch into the store, in order.  Stops before the first source for which there is no memory. */
INLINE int settle(kv_engine *e, uint32_t count, uint32_t words)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < count; i++) {
        const source *from = &e->sources[i];
        if (!reserve(e, from->end - k))
            return KV_MEMORY;
        for (; k < from->end; k++) {
            const event *next = &e->events[k];
            if (next->action & FAULTED) {
                int64_t action = next->action == NO_ACTION ? -1 : (int64_t)(next->action & ~FAULTED);
                hit_fault(e, next->tag, e->expanded, action);
                continue;
            }
            e->transitions++;
            e->fired[next->action]++;
            const uint64_t *s = e->successors + (uint64_t)k * words;
            if (next->like != 0 && LIKELY(same_state(state_words(e, next->like - 1, words), s, words)))
                continue;
            uint64_t state = add_state(e, s, next->tag, words);
            if (state != NO_STATE)
                record(e, state, (uint32_t)e->expanded, next->action);
        }
        if (from->deadlock && e->deadlock == NO_STATE)
            e->deadlock = e->expanded;
        e->expanded++;
    }
    return KV_OK;
}

INLINE int advance(kv_engine *e, uint64_t wanted, uint32_t words)
{
    while (wanted > 0 && !e->broken) {
        uint32_t count = generate(e, wanted, words);
        int status = settle(e, count, words);
        if (status != KV_OK)
            return status;
        wanted -= count;
    }
    return e->broken ? KV_BROKEN : KV_OK;
}

/* A copy of `advance` for each of the usual widths, where loops over words melt away. */
static int advance_any(kv_engine *e, uint64_t wanted)
{
    switch (e->words) {
    case 1:
        return advance(e, wanted, 1);
    case 2:
        return advance(e, wanted, 2);
    case 3:
        return advance(e, wanted, 3);
    case 4:
        return advance(e, wanted, 4);
    default:
        return advance(e, wanted, e->words);
    }
}

/* ------------------------------------------------------------------------------------------- interface */

EXPORT uint32_t kv_abi(void)
{
    return KV_ABI;
}

/* Hash of the source text this library was built from; see compile_c.py. */
EXPORT const char *kv_source_hash(void)
{
    return KV_SOURCE_HASH;
}

EXPORT void kv_free(kv_engine *e)
{
    if (e == NULL)
        return;
    for (uint64_t i = 0; i < e->chunk_count; i++)
        free(e->chunks[i].words);
    for (uint32_t i = 0; e->window_table != NULL && i < e->windows; i++)
        free(e->window_table[i].rows);
    void *const blocks[] = {e->chunks,      e->table,        e->code,       e->leaf_table, e->action_entry,
                            e->claim_entry, e->window_table, e->all_actions, e->candidates, e->registers,
                            e->violation,   e->fired,        e->fault_table, e->successors, e->events};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        free(blocks[i]);
    free(e);
}

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
    *w = (window){spec->window_table[3 * number], spec->window_table[3 * number + 1],
                  spec->window_table[3 * number + 2], low < high ? low : 0, high, NULL};
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
    e->set_words = (e->actions + 63) / 64;
    e->all_actions = take(e, e->set_words, sizeof(uint64_t));
    e->candidates = take(e, e->set_words, sizeof(uint64_t));
    e->window_table = take(e, spec->windows, sizeof(window));
    if (e->all_actions == NULL || e->candidates == NULL || e->window_table == NULL)
        return 0;
    for (uint32_t i = 0; i < e->actions; i++)
        e->all_actions[i / 64] |= (uint64_t)1 << (i % 64);
    e->windows = (uint32_t)spec->windows;
    for (uint32_t i = 0; i < e->windows; i++)
        if (!fill_window(e, spec, i))
            return 0;
    return 1;
}

static int fill(kv_engine *e, const kv_spec *spec)
{
    e->words = (uint32_t)spec->words;
    e->leaves = (uint32_t)spec->leaves;
    e->actions = (uint32_t)spec->actions;
    e->claims = (uint32_t)spec->claims;
    e->faults = (uint32_t)spec->faults;
    e->terminal_entry = spec->terminal_entry;
    e->seed = (spec->seed + 1) * 0x9e3779b97f4a7c15u;
    e->level = 1;
    e->deadlock = NO_STATE;
    for (e->chunk_bits = MAX_CHUNK_BITS; e->chunk_bits > 4; e->chunk_bits--)
        if (((uint64_t)e->words * sizeof(uint64_t)) << e->chunk_bits <= CHUNK_BYTES)
            break;
    e->event_room = e->actions + EVENTS;
    e->code = take_copy(e, spec->code, spec->slots, sizeof(slot));
    e->leaf_table = take_copy(e, spec->leaf_table, spec->leaves, sizeof(leaf));
    e->action_entry = take_copy(e, spec->action_entry, spec->actions, sizeof(uint32_t));
    e->claim_entry = take_copy(e, spec->claim_entry, spec->claims, sizeof(uint32_t));
    e->registers = take(e, spec->registers, sizeof(int64_t));
    e->violation = take(e, spec->claims, sizeof(uint64_t));
    e->fired = take(e, spec->actions, sizeof(uint64_t));
    e->fault_table = take(e, spec->faults, sizeof(fault_hit));
    e->successors = take(e, (uint64_t)e->event_room * e->words, sizeof(uint64_t));
    e->events = take(e, e->event_room, sizeof(event));
    if (e->code == NULL || e->leaf_table == NULL || e->action_entry == NULL || e->claim_entry == NULL
        || e->registers == NULL || e->violation == NULL || e->fired == NULL || e->fault_table == NULL
        || e->successors == NULL || e->events == NULL)
        return 0;
    for (uint32_t i = 0; i < e->claims; i++)
        e->violation[i] = NO_STATE;
    for (uint32_t i = 0; i < e->faults; i++)
        e->fault_table[i] = (fault_hit){NO_STATE, -1};
    return fill_guards(e, spec) && reserve(e, 1);
}

/* An engine for the program, or NULL when there is not enough memory.  Nothing of `spec` is kept. */
EXPORT kv_engine *kv_new(const kv_spec *spec)
{
    kv_engine *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    e->limit = spec->memory_limit;
    e->held = sizeof *e;
    if (!fill(e, spec)) {
        kv_free(e);
        return NULL;
    }
    return e;
}

/* Adds `count` initial states; known ones are dropped.  All of them come before the first kv_advance. */
EXPORT int kv_start(kv_engine *e, const uint64_t *initial, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t *s = initial + i * e->words;
        if (!reserve(e, 1))
            return KV_MEMORY;
        uint64_t state = add_state(e, s, hash_state(s, e->words, e->seed), e->words);
        if (state != NO_STATE)
            record(e, state, NO_PARENT, 0);
    }
    e->level_end = e->states;
    return e->broken ? KV_BROKEN : KV_OK;
}

/* Expands up to that many states, not past the end of the level. */
EXPORT int kv_advance(kv_engine *e, uint64_t expansions)
{
    uint64_t left = e->level_end - e->expanded;
    int status = advance_any(e, expansions < left ? expansions : left);
    if (e->expanded == e->level_end && e->states > e->expanded) {
        e->level++;
        e->level_begin = e->expanded;
        e->level_end = e->states;
    }
    return status;
}

/* states, expanded, transitions, level, first state of the level, violating states, deadlock, bytes held */
EXPORT void kv_counters(const kv_engine *e, uint64_t *out)
{
    const uint64_t counters[] = {e->states,      e->expanded,  e->transitions, e->level,
                                 e->level_begin, e->violating, e->deadlock,    e->held};
    memcpy(out, counters, sizeof counters);
}

/* First state that violates the claim, or all ones. */
EXPORT uint64_t kv_violation(const kv_engine *e, uint32_t claim)
{
    return e->violation[claim];
}

/* Whether the fault was met, and where first; action is -1 for a claim or the terminal predicate. */
EXPORT int kv_fault(const kv_engine *e, uint32_t fault, uint64_t *state, int64_t *action)
{
    *state = e->fault_table[fault].state;
    *action = e->fault_table[fault].action;
    return *state != NO_STATE;
}

/* How often each action produced a successor. */
EXPORT void kv_fired(const kv_engine *e, uint64_t *out)
{
    if (e->actions != 0)
        memcpy(out, e->fired, e->actions * sizeof(uint64_t));
}

EXPORT void kv_state(const kv_engine *e, uint64_t state, uint64_t *out)
{
    memcpy(out, state_words(e, state, e->words), e->words * sizeof(uint64_t));
}

/*
 * Number of steps from an initial state (left in *root) to `state`.  The last `room` actions are written,
 * last first, so one call with room 0 and one with the answer give the path.
 */
EXPORT uint64_t kv_path(const kv_engine *e, uint64_t state, uint64_t *root, uint32_t *actions, uint64_t room)
{
    uint64_t steps = 0;
    for (;;) {
        const chunk *c = &e->chunks[state >> e->chunk_bits];
        uint64_t offset = state & (((uint64_t)1 << e->chunk_bits) - 1);
        if (c->parents[offset] == NO_PARENT)
            break;
        if (steps < room)
            actions[steps] = action_bytes(e) == 2 ? c->short_actions[offset] : c->long_actions[offset];
        steps++;
        state = c->parents[offset];
    }
    *root = state;
    return steps;
}
