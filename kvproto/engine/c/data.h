/* The data: what Python passes in, and the engine itself. */

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
    uint64_t mask, *rows;
} window;

/* A condition on a few bits of the state, and the row of nodes of which one has to happen before it becomes true. */
typedef struct {
    uint32_t word, shift, mask, row;
    uint64_t allowed[4];
} por_condition;

/*
 * A node of the partial-order reduction: its action (or NOBODY), the claim or probe it is about (or NOBODY), and rows.
 */
typedef struct {
    uint32_t owner, group, needs, final, fallback, dependent;
} por_node;

/* The tables of the partial-order reduction; row i has the items row_start[i] up to row_start[i + 1]. */
typedef struct {
    uint64_t nodes, conditions, rows;
    const por_node *node_table;
    const por_condition *condition_table;
    const uint32_t *row_start, *item_table;
} kv_por;

/*
 * What Python passes to kv_new; mirrored in c_explorer.py.  The blocks of the program have numbers: actions first, then
 * claims, probes and predicates, then the terminal predicate and the constraint, if there are any.
 */
typedef struct {
    uint64_t words, registers, slots, leaves, actions, claims, probes, predicates, blocks, windows, guards, faults;
    uint64_t terminal, constraint; /* block numbers, or NO_BLOCK */
    const slot *code;
    const leaf *leaf_table;
    const uint32_t *block_entry;
    const uint32_t *window_table; /* word, shift, bits */
    const guard *guard_table;
    uint64_t memory_limit, seed, numbered, fingerprints, workers, share_from;
    const uint64_t *canon; /* tables of the symmetry reduction, see tables.py, or NULL */
    const kv_por *por; /* tables of the partial-order reduction, or NULL */
    const char *spill; /* an open file's path to put states into when memory is short, or NULL */
} kv_spec;

/* A block as printed C: the same arguments and answers as `interpret`. */
typedef int (*compiled_block)(const uint64_t *from, uint64_t *out, uint32_t *fault);

/*
 * A successor (tag = its hash) or a fault (tag = its number), in the order in which they were met.  `like`: in a
 * numbered store, the state of the same hash that the table held while the batch was generated, plus 1, or 0.
 */
typedef struct {
    uint32_t tag, action, like;
} event;

/* One expanded state of a batch: its events end before `end`. */
typedef struct {
    uint32_t end;
    uint8_t deadlock, outside, reduced;
} source;

typedef struct {
    uint64_t state;
    int64_t action;
} fault_hit;

/*
 * A run of states: packed words, parents, and the actions that led here.  In a numbered store the words are kept in
 * front of the parents; else they are a block of their own, which serves again once all its states are expanded.
 */
typedef struct {
    uint64_t *words;
    void *block;
    uint32_t *parents;
    uint16_t *short_actions; /* one of the two is used, depending on the number of actions */
    uint32_t *long_actions;
    uint64_t mapped; /* bytes, if the block lies in the spill file */
    int piece;       /* whether the block is part of an arena */
} chunk;

/* Memory that chunks are cut from. */
typedef struct arena {
    char *block, *aligned;
    uint64_t mapped, used;
    struct arena *next;
} arena;

/* What one thread needs to expand states. */
typedef struct {
    int64_t *registers;
    uint64_t *candidates;
    uint64_t *canonical; /* scratch of the symmetry reduction */
    uint64_t *successors, *keys; /* keys: for fingerprints only */
    uint64_t *recent; /* successors met a moment ago, see `seen_lately` */
    event *events;
    uint32_t *pending; /* the events whose states may be new, in order */
    uint32_t event_room, pending_count;
    source sources[BATCH];
} worker;

/*
 * What a slot of the table holds.
 *  NUMBERED: 32 bits of hash and the number of a state, whose words are in the store.  Small, and the number of any
 *            state can be found; but most look-ups go on to the store.
 *  WHOLE:    a state of one or two words, and nothing else to look at.  Words of expanded states are dropped.
 *  PRINTS:   a fingerprint of 128 bits instead, which is kept like a state of two words: lossy.
 */
typedef enum { NUMBERED, WHOLE, PRINTS } store_kind;

struct team;

struct por;

typedef struct kv_engine {
    /* the program */
    uint32_t words, registers, leaves, actions, claims, probes, predicates, blocks, windows, faults, set_words;
    uint32_t terminal, constraint;
    slot *code;
    uint64_t code_bytes;
    leaf *leaf_table;
    uint32_t *block_entry;
    compiled_block *compiled;
    window *window_table;
    uint64_t *all_actions;
    canon *canon;
    struct por *por;
    /* states */
    chunk *chunks;
    uint64_t chunk_count, chunk_room, states, roots, freed_chunks;
    uint64_t *root_words;
    uint64_t **spare; /* blocks of words of expanded states, for new ones */
    uint64_t spare_count, spare_room;
    arena *arenas;
    uint32_t chunk_bits;
    int spill_file;
    uint64_t spilled;
    /* table */
    store_kind kind;
    uint32_t extra, quotient; /* of a table of pairs: bytes of an extra, and bits that the place tells (table.h) */
    uint64_t present;         /* a bit that no leaf uses, set in all WHOLE states of one word; else 0 */
    uint64_t *table;
    uint64_t table_lines, table_limit, seed; /* limit: of states */
    uint64_t *strays, stray_count, stray_room; /* pairs that found no slot */
    uint64_t *region; /* where the table lies once it is big, and how far it can grow there */
    void *region_block;
    uint64_t region_bytes, region_mapped;
    /* search */
    uint64_t expanded, transitions, level, level_begin, level_end, depth, outside;
    uint64_t violating, deadlock, held, limit;
    uint64_t *violation, *fired, *witness;
    uint32_t *open_probes, open_count;
    fault_hit *fault_table;
    int broken;
    /* threads */
    uint32_t workers;
    uint64_t share_from; /* so many states of a level are worth waking the threads */
    worker own;
    struct team *team;
} kv_engine;
