/* Nodes by equal state.
 *
 * A change of a node only marks it; the next look takes all that are marked out of their classes
 * and puts them where they now belong, so that taking eight tasks on a node costs one move. The
 * nodes of a class form a treap in arrays of the cluster (a clone is a few copies of memory) whose
 * priorities are a hash of the position: what it looks like depends on which nodes are in it, not
 * on the order they came in. Nothing a caller decides may depend on the order of classes: that
 * does.
 */
#include "sched/node_class.h"

#include "base/mem.h"

#include <string.h>

#define MADE_PER_LIVE 8u /* classes made since rankings are, before these are forgotten */
#define MADE_LEAST    4096u

static void clear(struct node_classes *s)
{
    *s = (struct node_classes){
        .stale = true, .spare = POSITION_NONE, .stamps = s->stamps, .potential = s->potential
    };
    for (uint32_t i = 0; i < NODE_CLASS_LEVELS; i++)
        s->levels[i] = POSITION_NONE;
}

struct node_classes *node_classes_create(void)
{
    struct node_classes *s = mem_new(sizeof *s);
    clear(s);
    return s;
}

static void *copy_of(const void *from, size_t used, size_t room)
{
    char *to = mem_resize(NULL, room + 1); /* not zeroed only to be written */
    if (used)
        memcpy(to, from, used);
    memset(to + used, 0, room + 1 - used);
    return to;
}

/* Classes whose states are held; none without a potential. */
static uint32_t next_held(const struct node_classes *s, uint32_t at)
{
    return s->potential ? node_classes_next(s, at, 0) : POSITION_NONE;
}

/* One piece of memory for what is kept of each node. */
static void share_out(struct node_classes *s)
{
    s->left = s->of + s->n_nodes;
    s->right = s->left + s->n_nodes;
}

static void make_marks(struct node_classes *s)
{
    s->dirty = mem_resize(NULL, sizeof *s->dirty * s->n_nodes + 1);
    s->is_dirty = mem_new((size_t)s->n_nodes + 1);
}

struct node_classes *node_classes_copy(const struct node_classes *from)
{
    struct node_classes *s = mem_new(sizeof *s);
    *s = *from;
    s->rankings = NULL;
    s->made = NULL;
    s->n_made = s->made_cap = 0;
    if (s->stale)
        return s;
    ++*s->users;
    make_marks(s);
    for (uint32_t i = 0; i < s->n_dirty; i++)
        s->is_dirty[s->dirty[i] = from->dirty[i]] = 1;
    s->kind_asked = mem_new(sizeof *s->kind_asked * s->n_kinds + 1);
    return s;
}

static void keep_states(struct node_classes *s)
{
    for (uint32_t i = next_held(s, POSITION_NONE); i != POSITION_NONE; i = next_held(s, i))
        potential_keep(s->potential, s->at[i].state);
}

void node_classes_own(struct node_classes *s)
{
    if (*s->users == 1)
        return;
    size_t of_shelves = sizeof *s->at * s->n;
    size_t of_nodes = 3 * sizeof *s->of * s->n_nodes,
           of_devices = sizeof *s->free_milli * s->n_devices;
    --*s->users;
    s->users = mem_new(sizeof *s->users);
    *s->users = 1;
    s->at = copy_of(s->at, of_shelves, sizeof *s->at * s->cap);
    s->by_state = hash_index_copy(&s->by_state);
    s->of = copy_of(s->of, of_nodes, of_nodes);
    share_out(s);
    s->free_milli = copy_of(s->free_milli, of_devices, of_devices);
    keep_states(s);
}

/* The last one that shares them frees them. */
static void let_go(struct node_classes *s)
{
    if (!s->users || --*s->users)
        return;
    for (uint32_t i = next_held(s, POSITION_NONE); i != POSITION_NONE; i = next_held(s, i))
        potential_drop(s->potential, s->at[i].state);
    free(s->users);
    free(s->at);
    hash_index_fini(&s->by_state);
    free(s->of);
    free(s->free_milli);
}

void node_classes_price(struct node_classes *s, struct potential *p)
{
    node_classes_forget(s);
    s->potential = p;
}

void node_classes_forget(struct node_classes *s)
{
    let_go(s);
    class_rankings_destroy(s->rankings);
    free(s->made);
    free(s->dirty);
    free(s->is_dirty);
    free(s->kind_asked);
    clear(s);
}

void node_classes_destroy(struct node_classes *s)
{
    node_classes_forget(s);
    free(s);
}

/* ---- the nodes of one class ---- */

static uint32_t priority(uint32_t node)
{
    uint32_t h = node * 0x9e3779b1u;
    h = (h ^ h >> 15) * 0x85ebca6bu;
    return h ^ h >> 13;
}

/* Does a stand above b in a tree? */
static bool above(uint32_t a, uint32_t b)
{
    uint32_t pa = priority(a), pb = priority(b);
    return pa != pb ? pa > pb : a < b;
}

static void tree_add(struct node_classes *s, uint32_t *root, uint32_t node)
{
    uint32_t *link = root;
    while (*link != POSITION_NONE && above(*link, node))
        link = node < *link ? &s->left[*link] : &s->right[*link];
    uint32_t rest = *link, *lower = &s->left[node], *higher = &s->right[node];
    *link = node;
    while (rest !=
           POSITION_NONE) /* what stood here is split into what is lower and what is higher */
        if (rest < node) {
            *lower = rest;
            lower = &s->right[rest];
            rest = *lower;
        } else {
            *higher = rest;
            higher = &s->left[rest];
            rest = *higher;
        }
    *lower = *higher = POSITION_NONE;
}

static void tree_remove(struct node_classes *s, uint32_t *root, uint32_t node)
{
    uint32_t *link = root;
    while (*link != node)
        link = node < *link ? &s->left[*link] : &s->right[*link];
    uint32_t a = s->left[node], b = s->right[node];
    while (a != POSITION_NONE && b != POSITION_NONE)
        if (above(a, b)) {
            *link = a;
            link = &s->right[a];
            a = *link;
        } else {
            *link = b;
            link = &s->left[b];
            b = *link;
        }
    *link = a != POSITION_NONE ? a : b;
}

uint32_t node_classes_after(const struct node_classes *s, const struct node_class *class,
                            uint32_t node)
{
    uint32_t found = POSITION_NONE, at = class->root;
    while (at != POSITION_NONE)
        if (at > node) {
            found = at;
            at = s->left[at];
        } else {
            at = s->right[at];
        }
    return found;
}

/* ---- classes ---- */

uint32_t node_class_level(uint32_t whole, uint32_t milli)
{
    uint32_t most = NODE_CLASS_LEVELS - 1 - NODE_CLASS_PARTS;
    if (whole)
        return NODE_CLASS_PARTS + (whole < most ? whole : most);
    return (milli * NODE_CLASS_PARTS + 999) / 1000;
}

uint32_t node_classes_next(const struct node_classes *s, uint32_t at, uint32_t level)
{
    if (at != POSITION_NONE) {
        if (s->at[at].after != POSITION_NONE)
            return s->at[at].after;
        level = node_class_level(s->at[at].idle, s->at[at].most) + 1;
    }
    while (level < NODE_CLASS_LEVELS && s->levels[level] == POSITION_NONE)
        level++;
    return level < NODE_CLASS_LEVELS ? s->levels[level] : POSITION_NONE;
}

/* For the rankings, which take in what is new when they are asked. */
static void note_making(struct node_classes *s, uint32_t at)
{
    if (s->n_made == s->made_cap) {
        s->made_cap = s->made_cap ? 2 * s->made_cap : 1024;
        s->made = mem_resize(s->made, sizeof *s->made * s->made_cap);
    }
    s->at[at].serial = s->n_made;
    s->made[s->n_made++] = at;
}

struct class_rankings *node_classes_rankings(struct node_classes *s)
{
    uint64_t version = s->potential ? potential_version(s->potential) : 0;
    if (s->rankings && s->rankings->version == version)
        return s->rankings;
    if (!s->rankings)
        s->rankings = class_rankings_create();
    class_rankings_forget(s->rankings);
    s->rankings->version = version;
    s->n_made = 0;
    for (uint32_t at = node_classes_next(s, POSITION_NONE, 0); at != POSITION_NONE;
         at = node_classes_next(s, at, 0))
        note_making(s, at);
    return s->rankings;
}

uint32_t node_classes_add(struct node_classes *s, const struct node_class *state)
{
    uint32_t at = s->spare;
    if (at != POSITION_NONE) {
        s->spare = s->at[at].next;
    } else {
        if (s->n == s->cap) {
            s->cap = s->cap ? s->cap * 2 : 16;
            s->at = mem_resize(s->at, sizeof *s->at * s->cap);
        }
        at = s->n++;
    }
    struct node_class *class = &s->at[at];
    *class = *state;
    class->root = class->first = POSITION_NONE;
    hash_index_add(&s->by_state, at, state->hash);
    uint32_t *level = &s->levels[node_class_level(class->idle, class->most)];
    class->before = POSITION_NONE;
    s->n_live++;
    if (s->rankings && s->n_made > MADE_PER_LIVE * s->n_live + MADE_LEAST) {
        class_rankings_destroy(s->rankings); /* nobody asks, or most of what they know is gone */
        s->rankings = NULL;
    }
    if (s->rankings)
        note_making(s, at);
    class->after = *level;
    if (*level != POSITION_NONE)
        s->at[*level].before = at;
    *level = at;
    return at;
}

static void remove_shelf(struct node_classes *s, uint32_t at)
{
    struct node_class *class = &s->at[at];
    hash_index_remove(&s->by_state, at);
    if (class->after != POSITION_NONE)
        s->at[class->after].before = class->before;
    if (class->before != POSITION_NONE)
        s->at[class->before].after = class->after;
    else
        s->levels[node_class_level(class->idle, class->most)] = class->after;
    s->n_live--;
    class->serial = POSITION_NONE;
    if (s->potential)
        potential_drop(s->potential, class->state);
    class->next = s->spare;
    s->spare = at;
}

void node_classes_take_off(struct node_classes *s, uint32_t node)
{
    uint32_t at = s->of[node];
    struct node_class *class = &s->at[at];
    tree_remove(s, &class->root, node);
    if (--class->n == 0)
        remove_shelf(s, at);
    else if (class->first == node)
        class->first = node_classes_after(s, class, node);
}

void node_classes_put_on(struct node_classes *s, uint32_t at, uint32_t node)
{
    struct node_class *class = &s->at[at];
    tree_add(s, &class->root, node);
    class->n++;
    if (node < class->first)
        class->first = node;
    s->of[node] = at;
}

void node_classes_begin(struct node_classes *s, uint32_t nodes, size_t devices, uint32_t kinds)
{
    node_classes_forget(s);
    s->stale = false;
    s->n_nodes = nodes;
    s->n_devices = devices;
    s->n_kinds = kinds;
    s->users = mem_new(sizeof *s->users);
    *s->users = 1;
    s->of = mem_new(3 * sizeof(uint32_t) * nodes + 1);
    share_out(s);
    make_marks(s);
    s->free_milli = mem_new(sizeof *s->free_milli * devices + 1);
    s->kind_asked = mem_new(sizeof *s->kind_asked * kinds + 1);
}
