/* Memory, counted against the limit. */

#define REGION_BYTES ((uint64_t)128 << 30)
enum { HUGE_BYTES = 1 << 20, ARENA_BYTES = 64 << 20, ARENA_ALIGN = 2 << 20 };

static int within_limit(const kv_engine *e, uint64_t bytes)
{
    return bytes <= SIZE_MAX / 2 && e->held <= e->limit && bytes <= e->limit - e->held;
}

/* Big blocks come straight from the system and ask for huge pages: probing is bound by TLB misses. */
static void *map_block(uint64_t bytes)
{
#if KV_POSIX && defined(MAP_ANONYMOUS)
    void *p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
#if defined(MADV_HUGEPAGE)
    (void)madvise(p, (size_t)bytes, MADV_HUGEPAGE);
#endif
    return p;
#else
    return calloc((size_t)bytes, 1);
#endif
}

static void unmap_block(void *p, uint64_t bytes)
{
#if KV_POSIX && defined(MAP_ANONYMOUS)
    munmap(p, (size_t)bytes);
#else
    (void)bytes;
    free(p);
#endif
}

/*
 * A zeroed piece of an arena within the limit, or NULL.  Pieces follow each other in memory that is aligned for huge
 * pages, which a piece by itself would be too small for.  They are given back all together.
 */
static void *take_piece(kv_engine *e, uint64_t bytes)
{
    if (!within_limit(e, bytes))
        return NULL;
    arena *last = e->arenas;
    if (last == NULL || last->used + bytes > ARENA_BYTES) {
        uint64_t mapped = ARENA_BYTES + ARENA_ALIGN;
        char *p = map_block(mapped);
        arena *fresh = p == NULL ? NULL : malloc(sizeof *fresh);
        if (fresh == NULL) {
            if (p != NULL)
                unmap_block(p, mapped);
            return NULL;
        }
        uint64_t skip = (ARENA_ALIGN - ((uintptr_t)p & (ARENA_ALIGN - 1))) & (ARENA_ALIGN - 1);
        *fresh = (arena){p, p + skip, mapped, 0, last};
        e->arenas = last = fresh;
    }
    void *piece = last->aligned + last->used;
    last->used += bytes;
    e->held += bytes;
    return piece;
}

static void free_arenas(kv_engine *e)
{
    while (e->arenas != NULL) {
        arena *next = e->arenas->next;
        unmap_block(e->arenas->block, e->arenas->mapped);
        free(e->arenas);
        e->arenas = next;
    }
}

/*
 * Address space for a table that can grow where it is: the largest that the machine lets us have, of `least` bytes or
 * more. Pages of it are taken when they are touched.
 */
static int open_region(kv_engine *e, uint64_t least)
{
#if KV_POSIX && defined(MAP_NORESERVE) && defined(MAP_ANONYMOUS)
    uint64_t wanted = e->limit < REGION_BYTES ? e->limit : REGION_BYTES;
    for (; wanted >= 2 * least && wanted >= 2 * ARENA_ALIGN; wanted /= 2) {
        void *p = mmap(NULL, (size_t)wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            continue;
#if defined(MADV_HUGEPAGE)
        (void)madvise(p, (size_t)wanted, MADV_HUGEPAGE);
#endif
        uint64_t skip = (ARENA_ALIGN - ((uintptr_t)p & (ARENA_ALIGN - 1))) & (ARENA_ALIGN - 1);
        e->region_block = p;
        e->region_mapped = wanted;
        e->region = (uint64_t *)(void *)((char *)p + skip);
        e->region_bytes = wanted - skip;
        return 1;
    }
#endif
    (void)e;
    (void)least;
    return 0;
}

static void close_region(kv_engine *e)
{
    if (e->region_block != NULL)
        unmap_block(e->region_block, e->region_mapped);
}

/* Zeroed memory within the limit, or NULL; `give` takes it back, with the same number of bytes. */
static void *take(kv_engine *e, uint64_t count, uint64_t size)
{
    if (size != 0 && count > (UINT64_MAX / 4) / size)
        return NULL;
    uint64_t bytes = count * size;
    if (!within_limit(e, bytes))
        return NULL;
    void *p = bytes >= HUGE_BYTES ? map_block(bytes) : calloc(bytes == 0 ? 1 : (size_t)bytes, 1);
    if (p != NULL)
        e->held += bytes;
    return p;
}

static void give(kv_engine *e, void *p, uint64_t bytes)
{
    if (p == NULL)
        return;
    if (bytes >= HUGE_BYTES)
        unmap_block(p, bytes);
    else
        free(p);
    e->held -= bytes;
}

/* A copy of an array that belongs to the caller, or NULL. */
static void *take_copy(kv_engine *e, const void *from, uint64_t count, uint64_t size)
{
    void *p = take(e, count, size);
    if (p != NULL && count != 0)
        memcpy(p, from, (size_t)(count * size));
    return p;
}

/*
 * Zeroed memory in the spill file, or NULL.  The system writes such pages to disk when memory is short and reads them
 * back when they are looked at, so they do not count against the limit.
 */
static void *take_spilled(kv_engine *e, uint64_t bytes)
{
#if KV_POSIX
    if (e->spill_file < 0 || ftruncate(e->spill_file, (off_t)(e->spilled + bytes)) != 0)
        return NULL;
#if defined(__linux__)
    /* Blocks are asked for now: a full disk must be an answer here and not a signal later. */
    if (posix_fallocate(e->spill_file, (off_t)e->spilled, (off_t)bytes) != 0)
        return NULL;
#endif
    void *p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, e->spill_file, (off_t)e->spilled);
    if (p == MAP_FAILED)
        return NULL;
    e->spilled += bytes;
    return p;
#else
    (void)e;
    (void)bytes;
    return NULL;
#endif
}
