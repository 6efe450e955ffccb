/*
 * Where the symmetry reduction meets the search: states are replaced by their representatives before they are hashed.
 */

static uint64_t canonical_scratch(const kv_engine *e)
{
    return e->canon == NULL ? 0 : canon_scratch(e->canon);
}

/* Replaces the state by its representative. */
static void canonicalize(const kv_engine *e, worker *w, uint64_t *s)
{
    unmark_present(e, s);
    canon_apply(e->canon, w->canonical, s, s);
    mark_present(e, s);
}

static int fill_canon(kv_engine *e, const kv_spec *spec)
{
    if (spec->canon == NULL)
        return 1;
    e->canon = canon_new(spec->canon);
    return e->canon != NULL;
}

static void free_canon(kv_engine *e)
{
    if (e->canon != NULL)
        canon_free(e->canon);
}
