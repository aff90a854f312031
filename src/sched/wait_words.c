/* Words for reasons of waiting, a row for each kind of statement: a fixed line, or what makes one
 * of the reason's members alone. */
#include "sched/wait_words.h"

#include "base/mem.h"
#include "base/scan.h"

#include <string.h>

#define WORDS_MAX 4096u

static void add_amount(struct buf *out, const struct wait_reason *r, uint64_t amount)
{
    char text[FMT_MAX];
    switch (r->amounts) {
    case AMOUNT_BYTES: buf_puts(out, fmt_size(text, amount)); break;
    case AMOUNT_COUNT: buf_addf(out, "%llu", (unsigned long long)amount); break;
    default: buf_puts(out, fmt_milli(text, amount));
    }
}

/* "4 gpu", "16Gi memory" */
static void add_named(struct buf *out, const struct wait_reason *r, uint64_t amount)
{
    add_amount(out, r, amount);
    buf_addf(out, " %s", r->resource);
}

static const char *unit_word(const struct wait_reason *r)
{
    return r->units ? "unit" : "task";
}

/* ---- shares ---- */

static void say_quota(struct buf *out, const struct wait_reason *r)
{
    bool user = r->says == SAYS_USER_QUOTA;
    if (user)
        buf_puts(out, "a user has at most ");
    else
        buf_addf(out, "queue \"%.60s\" has at most ", r->queue_name);
    add_named(out, r, r->total);
    if (user)
        buf_addf(out, " of \"%.60s\"", r->queue_name);
    buf_puts(out, ", ");
    add_amount(out, r, r->used);
    buf_puts(out, " are in use and it asks for ");
    add_amount(out, r, r->need);
}

/* ---- what no room can cure ---- */

static void say_type(struct buf *out, const struct wait_reason *r)
{
    buf_addf(out, "no node %shas gpu type %s",
             r->narrowed ? "with the labels and names asked for " : "", r->asked);
    if (*r->there)
        buf_addf(out, "; there are %s", r->there);
    else
        buf_puts(out, "; no node says the type of its devices");
}

static void say_asked(struct buf *out, const struct wait_reason *r)
{
    static const char *const lacks[WAIT_SAYS_N] = { [SAYS_NO_LABEL] = "has the label",
                                                    [SAYS_NO_NAME] = "is named",
                                                    [SAYS_NO_ENGINE] = "is of the engine" };
    buf_addf(out, "no node %s %s", lacks[r->says], r->asked);
}

static void say_labels(struct buf *out, const struct wait_reason *r)
{
    buf_addf(out, "no node %shas all labels asked for", r->narrowed ? "that is named " : "");
}

static void say_time(struct buf *out, const struct wait_reason *r)
{
    char limit[FMT_MAX], left[FMT_MAX];
    buf_addf(out, "its limit of %s is longer than any node it could use has left; %s has %s",
             fmt_duration(limit, r->limit_ms), r->node, fmt_duration(left, r->left_ms));
}

/* ---- too little is free ---- */

static void say_short_nodes(struct buf *out, const struct wait_reason *r)
{
    buf_addf(out, "node: %u of the %u nodes that %s needs %s room", r->fits, r->needed, r->role,
             r->fits == 1 ? "has" : "have");
}

static void say_short_port(struct buf *out, const struct wait_reason *r)
{
    buf_addf(out, "%s: free on %u of the %u hosts that %s needs", r->resource, r->fits, r->needed,
             r->role);
}

static void add_closest(struct buf *out, const struct wait_reason *r)
{
    if (!*r->closest) {
        buf_puts(out, "; no node is up");
        return;
    }
    buf_addf(out, "; %s comes closest with ", r->closest);
    add_amount(out, r, r->best);
    buf_puts(out, " of ");
    add_amount(out, r, r->need);
    buf_puts(out, r->one_device ? " free on one device" : " free");
}

static void say_short(struct buf *out, const struct wait_reason *r)
{
    buf_puts(out, r->resource);
    if (r->types)
        buf_addf(out, " of type %s", r->types);
    buf_puts(out, ": ");
    add_amount(out, r, r->short_by);
    buf_puts(out, " short");
    if (r->says == SAYS_SHORT_TOGETHER) {
        buf_addf(out, "; %u roles need ", r->short_roles);
        add_amount(out, r, r->need);
        buf_puts(out, " together, ");
        add_amount(out, r, r->free);
        buf_puts(out, " are free");
        return;
    }
    if (r->fits)
        buf_addf(out, ", %u of %u %s %ss fit", r->fits, r->needed, r->role, unit_word(r));
    add_closest(out, r);
}

/* ---- too little is there ---- */

static void say_never_nodes(struct buf *out, const struct wait_reason *r)
{
    buf_addf(out, "%s needs %u nodes for itself, the cluster has %u", r->role, r->needed, r->fits);
}

static void say_never_together(struct buf *out, const struct wait_reason *r)
{
    buf_addf(out, "%u roles need ", r->short_roles);
    add_named(out, r, r->need);
    buf_puts(out, " together, the cluster has ");
    add_amount(out, r, r->free);
}

static void say_never_port(struct buf *out, const struct wait_reason *r)
{
    buf_addf(out, "%s wants %s on %u hosts, the cluster has %u", r->role, r->resource, r->needed,
             r->fits);
}

static void say_never_in_all(struct buf *out, const struct wait_reason *r)
{
    uint64_t all;
    if (__builtin_mul_overflow(r->need, r->needed, &all))
        all = UINT64_MAX;
    buf_addf(out, "%s needs ", r->role);
    add_named(out, r, all);
    buf_puts(out, ", the cluster has ");
    add_amount(out, r, r->free);
}

static void say_never_units(struct buf *out, const struct wait_reason *r)
{
    buf_addf(out, "%s asks ", r->role);
    add_named(out, r, r->need);
    buf_addf(out, " a %s, ", unit_word(r));
    if (r->says == SAYS_NEVER_ON_ONE) {
        buf_puts(out, "the largest node has ");
        add_amount(out, r, r->free);
        return;
    }
    buf_addf(out, "the cluster has room for %u of %u", r->fits, r->needed);
    if (r->says == SAYS_NEVER_MIX) {
        buf_addf(out, " with all else it asks; %s comes closest with ", r->closest);
        add_amount(out, r, r->best);
    }
}

/* ---- domains ---- */

static void say_no_level(struct buf *out, const struct wait_reason *r)
{
    buf_addf(out, "the cluster has no topology level %s", r->level);
}

static void say_no_domain(struct buf *out, const struct wait_reason *r)
{
    buf_addf(out, "no node has the label %s", r->level);
}

static void say_domain_together(struct buf *out, const struct wait_reason *r)
{
    buf_addf(out, "no %s has room for all tasks together", r->level);
}

static void say_domain_nodes(struct buf *out, const struct wait_reason *r)
{
    buf_addf(out, "%u nodes in one %s that %s can use; %s %s has %u", r->needed, r->level, r->role,
             r->level, r->domain, r->fits);
}

/* "16 gpu in one rack; rack r3 comes closest with 12 free" */
static void say_domain_short(struct buf *out, const struct wait_reason *r)
{
    bool never = r->says == SAYS_DOMAIN_NEVER;
    add_named(out, r, r->need);
    buf_addf(out, " in one %s; %s %s %s with ", r->level, r->level, r->domain,
             never ? "is the largest" : "comes closest");
    add_amount(out, r, r->best);
    if (!never)
        buf_puts(out, " free");
    if (r->pieces)
        buf_addf(out, ", in pieces: %u of %u %s %ss fit", r->fits, r->needed, r->role,
                 unit_word(r));
}

/* ---- all ---- */

static const char *const plain[WAIT_SAYS_N] = {
    [SAYS_AHEAD] = "jobs ahead of it in the queue come first",
    [SAYS_BACK_OFF] = "waits a while before it is tried again",
    [SAYS_AFTER] = "other jobs must end first",
    [SAYS_PROMISED] = "there is room, and starting now would delay one that was promised it",
    [SAYS_SHARE_KEPT] =
        "its queue may have more, and what is left is kept for one that was there before",
    [SAYS_NO_PRICE] = "no node it could use costs as little as it bids",
    [SAYS_NO_NODE_OF_OWN] = "its own allocation has no node",
    [SAYS_NODES_OF_OTHERS] = "all nodes are of allocations that other jobs have for themselves",
    [SAYS_NODES_END] = "the allocations of the nodes it could use are about to end",
    [SAYS_NO_ARRANGEMENT] = "no arrangement of the tasks on the nodes found",
    [SAYS_NO_CLUSTER] = "the cluster has no node",
};

static void (*const says[WAIT_SAYS_N])(struct buf *, const struct wait_reason *) = {
    [SAYS_QUOTA] = say_quota,
    [SAYS_USER_QUOTA] = say_quota,
    [SAYS_NO_TYPE] = say_type,
    [SAYS_NO_LABEL] = say_asked,
    [SAYS_NO_LABELS] = say_labels,
    [SAYS_NO_NAME] = say_asked,
    [SAYS_NO_ENGINE] = say_asked,
    [SAYS_NODES_END_EARLY] = say_time,
    [SAYS_SHORT] = say_short,
    [SAYS_SHORT_TOGETHER] = say_short,
    [SAYS_SHORT_NODES] = say_short_nodes,
    [SAYS_SHORT_PORT] = say_short_port,
    [SAYS_NEVER_TOGETHER] = say_never_together,
    [SAYS_NEVER_NODES] = say_never_nodes,
    [SAYS_NEVER_PORT] = say_never_port,
    [SAYS_NEVER_ON_ONE] = say_never_units,
    [SAYS_NEVER_IN_ALL] = say_never_in_all,
    [SAYS_NEVER_UNITS] = say_never_units,
    [SAYS_NEVER_MIX] = say_never_units,
    [SAYS_NO_LEVEL] = say_no_level,
    [SAYS_NO_DOMAIN] = say_no_domain,
    [SAYS_DOMAIN_TOGETHER] = say_domain_together,
    [SAYS_DOMAIN_NODES] = say_domain_nodes,
    [SAYS_DOMAIN_SHORT] = say_domain_short,
    [SAYS_DOMAIN_NEVER] = say_domain_short,
};

static void add_back(struct buf *out, const struct wait_reason *r)
{
    if (r->n_back == 1)
        buf_addf(out, "; would fit if %s were back (%s)", r->back, r->back_up ? "drained" : "lost");
    else
        buf_addf(out, "; would fit if %u lost or drained nodes were back (%s ...)", r->n_back,
                 r->back);
}

void wait_words(struct buf *out, const struct wait_reason *r)
{
    if (r->says == SAYS_NOTHING)
        return;
    if (r->why == WAIT_EVICTING)
        buf_puts(out, "others are being ended for it; ");
    if (r->together)
        buf_addf(out, "%u jobs start together; %s: ", r->together, r->bundle_name);
    if (r->not_found)
        buf_puts(out, "no arrangement found; ");
    if (r->beside)
        buf_addf(out, "%s beside the other tasks: ", r->role);
    if (plain[r->says])
        buf_puts(out, plain[r->says]);
    else
        says[r->says](out, r);
    if (r->n_back)
        add_back(out, r);
}

const char *wait_text(struct arena *arena, const struct wait_reason *r)
{
    AUTO_BUF struct buf text = BUF_INIT(WORDS_MAX);
    if (r->says == SAYS_NOTHING)
        return NULL;
    wait_words(&text, r);
    return arena_strndup(arena, buf_str(&text), text.len);
}
