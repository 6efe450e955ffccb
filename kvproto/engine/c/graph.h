/*
 * Graphs for liveness: states as numbers, steps in compressed rows, sets of states as bytes.
 *
 * Pure functions on arrays that the caller owns; nothing here allocates, recurses or keeps state.
 * kvproto/engine/liveness/kernels.py has the same functions in Python, and both give the same answers.
 *
 * The steps of state s are the edges offsets[s] .. offsets[s + 1] - 1.  A target that is no state of the graph (a
 * number from `states` up) is a step that leads out of it: it counts as enabled and is never followed.  An edge
 * carries a label, and a label stands for a set of fairness groups: groups[heads[label]] .. groups[heads[label + 1] - 1].
 * No edge leads from a state to itself.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef EXPORT
#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif
#endif

#define GRAPH_NONE UINT32_MAX          /* no state, no component */
#define GRAPH_TOP (UINT32_MAX - 1)     /* components are numbered down from here while a search runs */
#define GRAPH_NO_ROOT 0x80000000u      /* flag in a cursor: the state reaches one that was found before it */

enum { GRAPH_OUT = 0, GRAPH_IN = 1, GRAPH_DONE = 2 }; /* what a byte of a mask says of its state */

/* Mirrored in kernels_c.py. */
typedef struct {
    uint64_t states;
    const uint64_t *offsets;
    const uint32_t *targets;
    const uint16_t *labels;
    const uint32_t *heads, *groups;
    const uint8_t *strong; /* by group: strongly fair, else weakly */
} kv_graph;

/*
 * Take the successors of the states first .. first + count - 1: steps that change nothing are dropped.  `ends[i]`
 * becomes the end of row i, counted from `base`; `restless[i]` tells whether a step of some group is enabled.
 * Returns the number of edges kept.
 */
EXPORT uint64_t kv_graph_take(uint64_t first, uint64_t count, const uint64_t *offsets, const uint32_t *actions,
                              const uint32_t *targets, const uint16_t *label_of, uint64_t base, uint64_t *ends,
                              uint32_t *kept, uint16_t *labels, uint8_t *restless)
{
    uint64_t edges = 0;
    for (uint64_t i = 0; i < count; i++) {
        restless[i] = 0;
        for (uint64_t e = offsets[i] - offsets[0]; e < offsets[i + 1] - offsets[0]; e++) {
            if (targets[e] == first + i)
                continue;
            kept[edges] = targets[e];
            labels[edges] = label_of[actions[e]];
            restless[i] |= labels[edges] != 0;
            edges++;
        }
        ends[i] = base + edges;
    }
    return edges;
}

/* A component is complete: its members leave the stack and get their number. */
static uint64_t graph_close(uint32_t root, uint32_t number, uint32_t *component, uint32_t *members, uint64_t count,
                            const uint32_t *stack, uint64_t *waiting, uint64_t states)
{
    uint32_t low = component[root];
    while (*waiting < states && component[stack[*waiting]] >= low) {
        uint32_t member = stack[(*waiting)++];
        component[member] = GRAPH_TOP - number;
        members[count++] = member;
    }
    component[root] = GRAPH_TOP - number;
    members[count++] = root;
    return count;
}

/*
 * Strongly connected components of the states with mask GRAPH_IN and the edges between them (Pearce's one-pass variant
 * of Tarjan's algorithm).  `component` gets their numbers, in order of completion, and GRAPH_NONE elsewhere; `members`
 * lists the states, component by component.  Returns how many states that are.
 *
 * While it runs a state's `component` is 0 (not found), or the least index it is known to reach (found, still open).
 * `stack` holds both stacks: states under visit from the front, states that wait for their root from the back; a
 * state is on at most one of them.  `cursor` (by depth) is the next edge to look at.
 */
EXPORT uint64_t kv_graph_components(const kv_graph *g, const uint8_t *mask, uint32_t *component, uint32_t *members,
                                    uint32_t *stack, uint32_t *cursor)
{
    uint64_t waiting = g->states, count = 0, depth = 0;
    uint32_t found = 0, number = 0;
    for (uint64_t s = 0; s < g->states; s++)
        component[s] = mask[s] == GRAPH_IN ? 0 : GRAPH_NONE;
    for (uint64_t s = 0; s < g->states; s++) {
        if (component[s] != 0)
            continue;
        stack[depth] = (uint32_t)s;
        cursor[depth++] = 0;
        component[s] = ++found;
        while (depth > 0) {
            uint32_t v = stack[depth - 1];
            uint64_t at = g->offsets[v] + (cursor[depth - 1] & ~GRAPH_NO_ROOT);
            if (at < g->offsets[v + 1]) {
                uint32_t w = g->targets[at];
                if (w < g->states && component[w] == 0) {
                    /* The cursor stays: the edge is looked at again when w is done. */
                    stack[depth] = w;
                    cursor[depth++] = 0;
                    component[w] = ++found;
                    continue;
                }
                cursor[depth - 1]++;
                if (w < g->states && component[w] < component[v]) {
                    component[v] = component[w];
                    cursor[depth - 1] |= GRAPH_NO_ROOT;
                }
                continue;
            }
            depth--;
            if (cursor[depth] & GRAPH_NO_ROOT) {
                stack[--waiting] = v;
            } else {
                uint64_t before = count;
                count = graph_close(v, number++, component, members, count, stack, &waiting, g->states);
                found -= (uint32_t)(count - before);
            }
        }
    }
    for (uint64_t i = 0; i < count; i++)
        component[members[i]] = GRAPH_TOP - component[members[i]];
    return count;
}

/* Counts of one component, by group; only `touched` ones are not zero. */
typedef struct {
    uint32_t *enabled; /* how many of its states have a step of the group */
    uint32_t *stamp;   /* the last state (plus 1) that was counted there */
    uint8_t *taken;    /* whether a step of the group stays inside */
    uint32_t *touched;
    uint64_t count;
} tally;

static void graph_tally(const kv_graph *g, const uint32_t *component, uint32_t s, tally *t)
{
    for (uint64_t e = g->offsets[s]; e < g->offsets[s + 1]; e++) {
        uint32_t target = g->targets[e], label = g->labels[e];
        uint8_t inside = target < g->states && component[target] == component[s];
        for (uint32_t i = g->heads[label]; i < g->heads[label + 1]; i++) {
            uint32_t group = g->groups[i];
            if (t->stamp[group] != s + 1) {
                if (t->enabled[group] == 0)
                    t->touched[t->count++] = group;
                t->stamp[group] = s + 1;
                t->enabled[group]++;
            }
            t->taken[group] |= inside;
        }
    }
}

/* Whether some step of the state is of a group with a mark. */
static int graph_offers(const kv_graph *g, uint32_t s, const uint8_t *marks, uint8_t mark)
{
    for (uint64_t e = g->offsets[s]; e < g->offsets[s + 1]; e++)
        for (uint32_t i = g->heads[g->labels[e]]; i < g->heads[g->labels[e] + 1]; i++)
            if (marks[g->groups[i]] == mark)
                return 1;
    return 0;
}

/*
 * Judge every component as a place where a fair run may stay, visiting all of it again and again.  `must` (may be
 * NULL): one of these states has to be inside.
 *  - Fair: its states become GRAPH_DONE.
 *  - A weakly fair group is enabled in every state and never taken inside, or no `must` state: so it is in every part
 *    of the component; its states become GRAPH_OUT.
 *  - Else a strongly fair group is enabled and never taken inside: a fair run in a part of it keeps out of the states
 *    where such a group is enabled; these become GRAPH_OUT, the others are left to be divided again.
 * Returns how many states are left (GRAPH_IN).  The work arrays have one entry for each group and start as zero.
 */
EXPORT uint64_t kv_graph_judge(const kv_graph *g, const uint8_t *must, uint8_t *mask, const uint32_t *component,
                               const uint32_t *members, uint64_t count, uint32_t *enabled, uint32_t *stamp,
                               uint8_t *taken, uint32_t *touched)
{
    enum { SPOILT = 2 };
    tally t = {enabled, stamp, taken, touched, 0};
    uint64_t left = 0;
    for (uint64_t begin = 0, end; begin < count; begin = end) {
        int wanted = must == NULL, weak = 0, strong = 0;
        for (end = begin; end < count && component[members[end]] == component[members[begin]]; end++) {
            wanted |= must != NULL && must[members[end]];
            graph_tally(g, component, members[end], &t);
        }
        for (uint64_t i = 0; i < t.count; i++) {
            uint32_t group = touched[i];
            if (taken[group])
                continue;
            if (g->strong[group]) {
                strong = 1;
                taken[group] = SPOILT;
            } else {
                weak |= enabled[group] == end - begin;
            }
        }
        for (uint64_t i = begin; i < end; i++) {
            if (!wanted || weak)
                mask[members[i]] = GRAPH_OUT;
            else if (!strong)
                mask[members[i]] = GRAPH_DONE;
            else if (graph_offers(g, members[i], taken, SPOILT))
                mask[members[i]] = GRAPH_OUT;
            else
                left++;
        }
        for (uint64_t i = 0; i < t.count; i++)
            enabled[touched[i]] = taken[touched[i]] = 0;
        t.count = 0;
    }
    return left;
}

/*
 * Breadth-first search among the states with mask GRAPH_IN, which become GRAPH_DONE as they are found.  Source i has
 * distance starts[i], in ascending order (all 0 if `starts` is NULL).  `parent` and `level` are set for states found;
 * a source is its own parent.  Returns the first state with `goal` (may be NULL), or GRAPH_NONE after all of them.
 */
EXPORT uint32_t kv_graph_reach(const kv_graph *g, uint8_t *mask, const uint32_t *sources, const uint32_t *starts,
                               uint64_t count, const uint8_t *goal, uint32_t *parent, uint32_t *level,
                               uint32_t *queue)
{
    uint64_t head = 0, tail = 0, next = 0;
    while (head < tail || next < count) {
        uint32_t depth = head < tail ? level[queue[head]] : starts ? starts[next] : 0;
        for (; next < count && (starts ? starts[next] : 0) <= depth; next++) {
            uint32_t s = sources[next];
            if (mask[s] != GRAPH_IN)
                continue;
            mask[s] = GRAPH_DONE;
            parent[s] = s;
            level[s] = starts ? starts[next] : 0;
            queue[tail++] = s;
        }
        if (head == tail)
            continue;
        uint32_t s = queue[head++];
        if (goal && goal[s])
            return s;
        for (uint64_t e = g->offsets[s]; e < g->offsets[s + 1]; e++) {
            uint32_t target = g->targets[e];
            if (target >= g->states || mask[target] != GRAPH_IN)
                continue;
            mask[target] = GRAPH_DONE;
            parent[target] = s;
            level[target] = level[s] + 1;
            queue[tail++] = target;
        }
    }
    return GRAPH_NONE;
}

/*
 * Mark the states (among those with mask GRAPH_IN) where a run does something for the `wanted` groups: a step of one
 * of them stays inside, or one of the `weak` many weakly fair ones among them is not enabled.  `stamp` has one entry
 * for each group and starts as zero.
 */
EXPORT void kv_graph_mark(const kv_graph *g, const uint8_t *mask, const uint8_t *wanted, uint32_t weak,
                          uint32_t *stamp, uint8_t *marks)
{
    for (uint64_t s = 0; s < g->states; s++) {
        uint32_t enabled = 0, taken = 0;
        marks[s] = 0;
        if (mask[s] != GRAPH_IN)
            continue;
        for (uint64_t e = g->offsets[s]; e < g->offsets[s + 1]; e++) {
            uint32_t target = g->targets[e], label = g->labels[e];
            for (uint32_t i = g->heads[label]; i < g->heads[label + 1]; i++) {
                uint32_t group = g->groups[i];
                if (!wanted[group])
                    continue;
                taken |= target < g->states && mask[target] == GRAPH_IN;
                enabled += !g->strong[group] && stamp[group] != s + 1;
                stamp[group] = (uint32_t)s + 1;
            }
        }
        marks[s] = taken || enabled < weak;
    }
}
