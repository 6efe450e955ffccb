/* Where the symmetry reduction meets the search. */

static uint64_t canonical_scratch(const kv_engine *e)
{
    (void)e;
    return 0;
}

static void canonicalize(const kv_engine *e, worker *w, uint64_t *s)
{
    (void)e;
    (void)w;
    (void)s;
}

static int fill_canon(kv_engine *e, const kv_spec *spec)
{
    (void)e;
    (void)spec;
    return 1;
}

static void free_canon(kv_engine *e)
{
    (void)e;
}
