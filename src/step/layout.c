/* Counts first, then ranks. Slurm's rules for nodes that are alike: tasks are spread evenly, the
 * first nodes have one more; ranks go block by block, or round by round. Without an order, as many
 * tasks as nodes or fewer go round by round. */
#include "step/layout.h"

#include "base/buf.h"
#include "base/scan.h"

#include <string.h>

int layout_order(const char *text, struct layout_ask *ask, struct err *err)
{
    size_t n = strcspn(text, ":,=");
    uint64_t plane;
    if (n == 1 && text[0] == '*') {
        ask->order = LAYOUT_DEFAULT;
        return 0;
    }
    if (n == 5 && strncmp(text, "block", n) == 0) {
        ask->order = LAYOUT_BLOCK;
        return 0;
    }
    if (n == 6 && strncmp(text, "cyclic", n) == 0) {
        ask->order = LAYOUT_CYCLIC;
        return 0;
    }
    if (strncmp(text, "plane=", 6) == 0 && scan_u64(text + 6, 1, UINT32_MAX, &plane)) {
        ask->order = LAYOUT_PLANE;
        ask->plane = (uint32_t)plane;
        return 0;
    }
    err_set(err, ERR_INPUT, "--distribution=%.60s is no order", text);
    return err_hint(err, "block, cyclic or plane=N");
}

static void place_blocks(const struct layout_ask *ask, struct layout *out)
{
    uint32_t rank = 0;
    for (uint32_t node = 0; node < ask->nodes; node++)
        for (uint32_t i = 0; i < out->counts[node]; i++)
            out->node_of[rank++] = node;
}

/* Round by round, `plane` tasks on a node at a time. */
static void place_rounds(struct arena *a, const struct layout_ask *ask, uint32_t plane,
                         struct layout *out)
{
    uint32_t *left = ARENA_ARRAY(a, ask->nodes, uint32_t);
    memcpy(left, out->counts, ask->nodes * sizeof *left);
    for (uint32_t rank = 0; rank < ask->tasks;)
        for (uint32_t node = 0; node < ask->nodes; node++)
            for (uint32_t i = 0; i < plane && left[node] > 0; i++) {
                out->node_of[rank++] = node;
                left[node]--;
            }
}

/* Plane: whole planes round by round say how many a node has. */
static void count_planes(const struct layout_ask *ask, struct layout *out)
{
    memset(out->counts, 0, ask->nodes * sizeof *out->counts);
    for (uint32_t left = ask->tasks; left > 0;)
        for (uint32_t node = 0; node < ask->nodes && left > 0; node++) {
            uint32_t n = left < ask->plane ? left : ask->plane;
            out->counts[node] += n;
            left -= n;
        }
}

int layout_make(struct arena *a, const struct layout_ask *ask, struct layout *out, struct err *err)
{
    uint32_t each = ask->tasks / ask->nodes, more = ask->tasks % ask->nodes;
    *out = (struct layout){ .counts = ARENA_ARRAY(a, ask->nodes, uint32_t),
                            .node_of = ARENA_ARRAY(a, ask->tasks, uint32_t) };
    for (uint32_t node = 0; node < ask->nodes; node++)
        out->counts[node] = each + (node < more);
    if (ask->order == LAYOUT_PLANE)
        count_planes(ask, out);
    for (uint32_t node = 0; node < ask->nodes; node++)
        if (ask->per_node && out->counts[node] > ask->per_node) {
            err_set(err, ERR_INPUT, "%u tasks on %u nodes are more than %u on one", ask->tasks,
                    ask->nodes, ask->per_node);
            return err_hint(err, "more nodes (-N), or a larger --ntasks-per-node");
        }
    bool few = ask->order == LAYOUT_DEFAULT && ask->tasks <= ask->nodes;
    if (ask->order == LAYOUT_PLANE)
        place_rounds(a, ask, ask->plane, out);
    else if (ask->order == LAYOUT_CYCLIC || few)
        place_rounds(a, ask, 1, out);
    else
        place_blocks(ask, out);
    return 0;
}

const char *layout_counts(struct arena *a, const struct layout *layout, uint32_t nodes)
{
    AUTO_BUF struct buf out = BUF_INIT(64 << 10);
    for (uint32_t i = 0, n; i < nodes; i += n) {
        n = 1;
        while (i + n < nodes && layout->counts[i + n] == layout->counts[i])
            n++;
        buf_addf(&out, "%s%u", i ? "," : "", layout->counts[i]);
        if (n > 1)
            buf_addf(&out, "(x%u)", n);
    }
    return arena_strdup(a, buf_str(&out));
}
