/*
 * The hash table.  It is made of lines of the cache, 64 bytes each, and lines fill from the front, so one look at a
 * line tells whether something is in it and how full it is.  What finds its line full goes to the next one.
 *
 * In a table of single words a line is 8 words: the states themselves, or 32 bits of hash and a number (`store_kind`).
 * In a table of pairs it is 4 to 7 first words and behind them as many extras of 8, 4, 2 or 1 bytes: what remains of
 * the second word without its quotient, and in the lowest bits how many lines were tried to get here.  Each try goes a
 * longer way than the one before, else full lines would cling together.  The few pairs for which all tries fail are
 * kept apart, as strays.
 */

enum { LINE_WORDS = 8, LINE_BYTES = 64, FAR_BITS = 3, FARTHEST = (1 << FAR_BITS) - 1, MAX_QUOTIENT = 13 };
enum { FIRST_LINES = 128, DOUBLING_LINES = 1 << 18, FEW_STRAYS = 512, MANY_STRAYS = 4096 };

#define NO_END UINT64_MAX

/*
 * What a look-up answers: it is there, it belongs into a slot that is free, or all slots where it could be are taken.
 */
enum { THERE, FREE, NO_SLOT };

/* How far from home the tries of a pair are, counted from 1. */
INLINE uint64_t way(uint32_t tries)
{
    return (uint64_t)tries * (tries - 1) / 2;
}

/* Slots of a line, by the bytes of an extra; no extra: single words. */
INLINE uint32_t line_slots(uint32_t extra)
{
    return LINE_BYTES / (8 + extra);
}

INLINE uint64_t home(uint32_t tag, uint64_t lines)
{
    return ((uint64_t)tag * lines) >> 32;
}

INLINE uint64_t *line_at(const kv_engine *e, uint64_t number)
{
    return e->table + number * LINE_WORDS;
}

INLINE uint64_t get_extra(const uint64_t *line, uint32_t i, uint32_t extra)
{
    const uint64_t *extras = line + line_slots(extra);
    switch (extra) {
    case 1:
        return ((const uint8_t *)extras)[i];
    case 2:
        return ((const uint16_t *)(const void *)extras)[i];
    case 4:
        return ((const uint32_t *)(const void *)extras)[i];
    default:
        return extras[i];
    }
}

INLINE void put_extra(uint64_t *line, uint32_t i, uint32_t extra, uint64_t value)
{
    uint64_t *extras = line + line_slots(extra);
    switch (extra) {
    case 1:
        ((uint8_t *)extras)[i] = (uint8_t)value;
        break;
    case 2:
        ((uint16_t *)(void *)extras)[i] = (uint16_t)value;
        break;
    case 4:
        ((uint32_t *)(void *)extras)[i] = (uint32_t)value;
        break;
    default:
        extras[i] = value;
    }
}

/* A slot: its line, its number there, and how many lines were tried to get to it. */
typedef struct {
    uint64_t *line;
    uint32_t number, far;
} place;

INLINE void put_pair(const kv_engine *e, place at, const uint64_t *pair, uint32_t extra)
{
    at.line[at.number] = pair[0];
    put_extra(at.line, at.number, extra, (pair[1] >> e->quotient) << FAR_BITS | at.far);
}

static int is_stray(const kv_engine *e, const uint64_t *pair)
{
    for (uint64_t i = 0; i < e->stray_count; i++)
        if (e->strays[2 * i] == pair[0] && e->strays[2 * i + 1] == pair[1])
            return 1;
    return 0;
}

/* Looks for a pair in the lines from its home on, but not in line `end`; after the last line comes the first. */
INLINE int find_pair(const kv_engine *e, const uint64_t *pair, uint32_t tag, uint32_t extra, uint64_t end, place *at)
{
    uint32_t slots = line_slots(extra);
    uint64_t rest = (pair[1] >> e->quotient) << FAR_BITS, number = home(tag, e->table_lines);
    for (uint32_t far = 1; far <= FARTHEST; far++) {
        uint64_t *line = line_at(e, number);
        uint32_t used = 0;
        int known = 0;
        for (uint32_t i = 0; i < slots; i++) {
            uint64_t x = get_extra(line, i, extra);
            used += x != 0;
            known |= (line[i] == pair[0]) & (x == (rest | far));
        }
        if (known)
            return THERE;
        if (LIKELY(used < slots)) {
            *at = (place){line, used, far};
            return FREE;
        }
        number += far;
        if (UNLIKELY(number >= end))
            return NO_SLOT;
        if (UNLIKELY(number >= e->table_lines))
            number -= e->table_lines;
    }
    return UNLIKELY(e->stray_count != 0) && is_stray(e, pair) ? THERE : NO_SLOT;
}

/* The same for a single word that is not 0, where a look-up may go through the whole table. */
INLINE int find_single(const kv_engine *e, uint64_t word, uint32_t tag, uint64_t end, place *at)
{
    for (uint64_t number = home(tag, e->table_lines);;) {
        uint64_t *line = line_at(e, number);
        uint32_t used = 0;
        int known = 0;
        for (uint32_t i = 0; i < LINE_WORDS; i++) {
            used += line[i] != 0;
            known |= line[i] == word;
        }
        if (known)
            return THERE;
        if (LIKELY(used < LINE_WORDS)) {
            *at = (place){line, used, 1};
            return FREE;
        }
        if (UNLIKELY(++number == end))
            return NO_SLOT;
        if (UNLIKELY(number == e->table_lines))
            number = 0;
    }
}

/* So many strays call for a bigger table: they are searched one by one, though seldom. */
static uint64_t too_many_strays(const kv_engine *e)
{
    uint64_t many = FEW_STRAYS + e->table_lines / 1024;
    return many < MANY_STRAYS ? many : MANY_STRAYS;
}

/* Keeps a pair apart.  If they become too many, the next `reserve` makes the table bigger. */
static void add_stray(kv_engine *e, const uint64_t *pair)
{
    if (e->stray_count == e->stray_room) {
        uint64_t room = e->stray_room == 0 ? FEW_STRAYS : 2 * e->stray_room;
        uint64_t *more = realloc(e->strays, (size_t)room * 2 * sizeof *more);
        if (more == NULL)
            abort(); /* in the middle of a step: there is no way back */
        e->strays = more;
        e->stray_room = room;
    }
    memcpy(e->strays + 2 * e->stray_count++, pair, 2 * sizeof *pair);
    if (e->stray_count >= too_many_strays(e))
        e->table_limit = e->states;
}

/* Whether the table gets this key now (1) or knows it already (0). */
INLINE int enter_key(kv_engine *e, const uint64_t *key, uint32_t tag, uint32_t extra)
{
    place at;
    if (extra == 0) {
        if (find_single(e, key[0], tag, NO_END, &at) == THERE)
            return 0;
        at.line[at.number] = key[0];
        return 1;
    }
    int found = find_pair(e, key, tag, extra, NO_END, &at);
    if (found == FREE)
        put_pair(e, at, key, extra);
    else if (found == NO_SLOT)
        add_stray(e, key);
    return found != THERE;
}

/* Whether the table knows this key. */
INLINE int knows_key(const kv_engine *e, const uint64_t *key, uint32_t tag, uint32_t extra)
{
    place at;
    return extra == 0 ? find_single(e, key[0], tag, NO_END, &at) == THERE
                      : find_pair(e, key, tag, extra, NO_END, &at) == THERE;
}

/* --------------------------------------------------------------------------------------------- growing */

/* The pair in slot i of a line, and its tag: the quotient is what leads from the hash of the rest to the home line. */
INLINE uint32_t pair_in(const kv_engine *e, const uint64_t *line, uint32_t i, uint64_t number, uint64_t lines,
                        uint32_t extra, uint64_t *pair)
{
    uint64_t x = get_extra(line, i, extra), rest = x >> FAR_BITS, back = way((uint32_t)x & FARTHEST);
    uint64_t at = number >= back ? number - back : number + lines - back;
    uint32_t scattered = 0, tag = tag_of_parts(e, line[i], rest, 0);
    if (e->quotient != 0) {
        uint32_t lowest = (uint32_t)(((at << 32) + lines - 1) / lines), apart = 32 - e->quotient;
        uint64_t missing = (uint32_t)(lowest - tag);
        scattered = (uint32_t)((missing + ((uint64_t)1 << apart) - 1) >> apart) & (((uint32_t)1 << e->quotient) - 1);
        tag += scattered << apart;
    }
    pair[0] = line[i];
    pair[1] = rest << e->quotient | in_quotient(e, scattered, GATHER);
    return tag;
}

/* What has to wait while a table is spread: keys of one or two words. */
typedef struct {
    uint64_t *keys, count, room;
} kept_aside;

static void wait_aside(kept_aside *aside, const uint64_t *key, uint32_t width)
{
    if (aside->count == aside->room) {
        uint64_t *more = realloc(aside->keys, (size_t)(aside->room * 2) * width * sizeof *more);
        if (more == NULL)
            abort(); /* half of the table has moved: there is no way back */
        aside->keys = more;
        aside->room *= 2;
    }
    memcpy(aside->keys + aside->count++ * width, key, width * sizeof *key);
}

/* Puts a key into the first line with room from `number` on, if there is one in reach. */
INLINE int put_from(kv_engine *e, uint64_t number, const uint64_t *key, uint32_t extra)
{
    uint32_t slots = line_slots(extra);
    for (uint32_t far = 1; number < e->table_lines && far <= FARTHEST; number += extra == 0 ? 1 : far++) {
        uint64_t *line = line_at(e, number);
        uint32_t used = 0;
        for (uint32_t i = 0; i < slots; i++)
            used += (extra == 0 ? line[i] : get_extra(line, i, extra)) != 0;
        if (used == slots)
            continue;
        if (extra == 0)
            line[used] = key[0];
        else
            put_pair(e, (place){line, used, far}, key, extra);
        return 1;
    }
    return 0;
}

/* The tag of a single word of the table. */
INLINE uint32_t tag_in(const kv_engine *e, uint64_t word)
{
    return e->kind == NUMBERED ? (uint32_t)(word >> 32) : hash_state(&word, 1, e->seed);
}

/*
 * Moves what is in one line of a table of `lines` lines to where it now belongs, which lies above all that has not
 * moved yet. What does not (it is far from its home at the low end, or there is no room before the end of the table)
 * waits.
 */
INLINE void move_line(kv_engine *e, uint64_t *from, uint64_t number, uint64_t lines, uint32_t extra, int in_place,
                      kept_aside *aside)
{
    uint32_t slots = line_slots(extra);
    uint64_t line[LINE_WORDS], key[2];
    memcpy(line, from, LINE_BYTES);
    if (in_place)
        memset(from, 0, LINE_BYTES);
    for (uint32_t i = 0; i < slots; i++) {
        uint32_t tag;
        if ((extra == 0 ? line[i] : get_extra(line, i, extra)) == 0)
            return;
        if (extra == 0) {
            key[0] = line[i];
            tag = tag_in(e, line[i]);
        } else
            tag = pair_in(e, line, i, number, lines, extra, key);
        uint64_t to = home(tag, e->table_lines);
        if (UNLIKELY(in_place && to <= number) || UNLIKELY(!put_from(e, to, key, extra)))
            wait_aside(aside, key, extra == 0 ? 1 : 2);
    }
}

INLINE void enter_again(kv_engine *e, const uint64_t *key, uint32_t extra)
{
    place at = {NULL, 0, 0};
    if (extra != 0)
        enter_key(e, key, tag_of_pair(e, key), extra);
    else if (find_single(e, key[0], tag_in(e, key[0]), NO_END, &at) == FREE)
        at.line[at.number] = key[0];
}

/* Moves all that is in the `lines` lines at `old` into the table as it is now, which may begin at the same place. */
INLINE int move_lines(kv_engine *e, uint64_t *old, uint64_t lines, uint32_t extra)
{
    uint32_t width = extra == 0 ? 1 : 2;
    kept_aside aside = {malloc((size_t)1024 * width * sizeof(uint64_t)), 0, 1024};
    uint64_t *strays = e->strays, stray_count = e->stray_count;
    if (aside.keys == NULL)
        return 0;
    e->strays = NULL;
    e->stray_count = e->stray_room = 0;
    for (uint64_t i = lines; i-- > 0;)
        move_line(e, old + i * LINE_WORDS, i, lines, extra, old == e->table, &aside);
    for (uint64_t k = 0; k < aside.count; k++)
        enter_again(e, aside.keys + k * width, extra);
    for (uint64_t k = 0; k < stray_count; k++)
        enter_again(e, strays + 2 * k, extra);
    free(aside.keys);
    free(strays);
    return 1;
}

static int move_all(kv_engine *e, uint64_t *old, uint64_t lines)
{
    switch (e->extra) {
    case 0:
        return move_lines(e, old, lines, 0);
    case 1:
        return move_lines(e, old, lines, 1);
    case 2:
        return move_lines(e, old, lines, 2);
    case 4:
        return move_lines(e, old, lines, 4);
    default:
        return move_lines(e, old, lines, 8);
    }
}

/* How many states a table of that many lines may take: four fifths of its slots. */
static uint64_t states_in(const kv_engine *e, uint64_t lines)
{
    uint64_t slots = lines * line_slots(e->extra);
    return slots - slots / 5;
}

/* A table of that many lines, with all that the present one holds; 0 when there is no memory. */
static int grow_table(kv_engine *e, uint64_t lines)
{
    uint64_t bytes = lines * LINE_BYTES, old_lines = e->table_lines, old_bytes = old_lines * LINE_BYTES;
    uint64_t *old = e->table, *bigger;
    if (e->region_bytes >= bytes) { /* where it is */
        if (!within_limit(e, bytes - old_bytes))
            return 0;
        bigger = e->region;
    } else if (bytes >= HUGE_BYTES && e->region_bytes == 0 && within_limit(e, bytes) && open_region(e, bytes)) {
        e->held += bytes;
        bigger = e->region;
    } else
        bigger = take(e, lines, LINE_BYTES);
    if (bigger == NULL)
        return 0;
    e->table = bigger;
    e->table_lines = lines;
    if (!move_all(e, old, old_lines)) {
        e->table = old;
        e->table_lines = old_lines;
        if (bigger == e->region && old != e->region)
            e->held -= bytes;
        else if (bigger != e->region)
            give(e, bigger, bytes);
        return 0;
    }
    if (old == bigger)
        e->held += bytes - old_bytes;
    else
        give(e, old, old_bytes);
    e->table_limit = states_in(e, lines);
    return 1;
}

/* A table for that many states, or 0. */
static int reserve_slots(kv_engine *e, uint64_t wanted)
{
    if (wanted <= e->table_limit)
        return 1;
    uint64_t lines = e->table_lines;
    if (lines == 0)
        lines = FIRST_LINES >> e->quotient == 0 ? (uint64_t)1 << e->quotient : FIRST_LINES;
    else
        lines += lines < DOUBLING_LINES ? lines : lines / 2;
    while (states_in(e, lines) < wanted)
        lines += lines < DOUBLING_LINES ? lines : lines / 2;
    return grow_table(e, lines);
}
