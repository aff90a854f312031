/* Reads what sinfo prints. What is not of the expected form is left out; of the nodes of a
 * partition the smallest counts, since an allocation may get any of them. */
#include "engine/slurm/partitions.h"

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/scan.h"
#include "engine/slurm/answers.h"
#include "job/gpu_model.h"

#include <string.h>
#include <strings.h>

struct gres {         /* GPUs of one type */
    const char *type; /* "": Slurm has no word for it */
    uint32_t n;
};

/* The next of "gpu:2(S:0-1)", "gpu:a100:4,gpu:t4:2", "(null)" that are GPUs. */
static bool next_gres(char **text, struct gres *out)
{
    uint64_t n;
    for (char *one; (one = strsep(text, ","));) {
        one[strcspn(one, "(")] = '\0';
        char *colon = strrchr(one, ':');
        if (strncmp(one, "gpu:", 4) != 0 || !colon || !scan_u64(colon + 1, 0, 1024, &n))
            continue;
        *colon = '\0';
        *out = (struct gres){ .type = one[3] ? one + 4 : "", .n = (uint32_t)n };
        return true;
    }
    return false;
}

struct partition_line { /* of sinfo */
    char *name;
    const char *gres, *nodes; /* a host list */
    bool standard;
    struct slurm_shape shape;
};

/* Servers of before asked for the first four, and for the first seven. */
static bool read_partition(char *line, struct partition_line *out)
{
    char *at[8];
    size_t n = 0;
    uint64_t cpus, memory, nodes = 0;
    while (n < ARRAY_LEN(at) && (at[n] = strsep(&line, "@")))
        n++;
    if (n < 3)
        return false;
    const size_t len = strlen(at[0]);
    *out = (struct partition_line){ .name = at[0],
                                    .gres = "",
                                    .nodes = n > 7 ? at[7] : "",
                                    .standard = len && at[0][len - 1] == '*' };
    if (out->standard)
        at[0][len - 1] = '\0';
    at[1][strcspn(at[1], "+")] = at[2][strcspn(at[2], "+")] = '\0';
    if (!scan_u64(at[1], 1, 1u << 20, &cpus) || !scan_u64(at[2], 1, 1ull << 40, &memory))
        return false;
    out->shape = (struct slurm_shape){
        .partition = at[0], .cpus = cpus, .memory = memory << 20, .gpu_type = ""
    };
    if (n > 6) {
        (void)slurm_read_span(at[4], &out->shape.time_ms);
        (void)scan_u64(at[5], 0, UINT32_MAX, &nodes);
        out->shape.nodes = (uint32_t)nodes;
        out->gres = at[6];
    }
    return true;
}

/* The next line of that partition. */
static bool next_line(char **rest, const char *partition, struct partition_line *out)
{
    for (char *line; (line = strsep(rest, "\n"));)
        if (read_partition(line, out) &&
            (*partition ? strcmp(out->name, partition) == 0 : out->standard))
            return true;
    return false;
}

static bool is_called(const char *type, const struct words *types)
{
    for (size_t i = 0; i < types->n; i++)
        if (strcasecmp(type, types->at[i]) == 0)
            return true;
    return false;
}

/* Is that type, as Slurm calls it, one of those? By either name for the other: a site may call an
 * "A100-SXM4-80GB" just a100, or say more than was asked for. */
static bool is_wanted(const char *type, const struct words *types)
{
    for (size_t i = 0; i < types->n; i++)
        if (gpu_model_is(type, types->at[i]) || gpu_model_is(types->at[i], type))
            return true;
    return is_called(type, types);
}

/* Nodes that have as many of that type. */
static uint32_t nodes_of_type(struct arena *arena, const char *text, const char *partition,
                              const struct gres *as)
{
    char *rest = arena_strdup(arena, text);
    uint32_t nodes = 0;
    for (struct partition_line one; next_line(&rest, partition, &one);) {
        char *list = arena_strdup(arena, one.gres);
        for (struct gres gres; next_gres(&list, &gres);)
            nodes += strcmp(gres.type, as->type) == 0 && gres.n >= as->n ? one.shape.nodes : 0;
    }
    return nodes;
}

/* The one that is called as it was asked for, else the one that most nodes have. "": none of the
 * types there is one of those. */
static const char *choose_type(struct arena *arena, const char *text, const char *partition,
                               const struct slurm_gpus *gpus)
{
    const char *best = "";
    uint64_t most = 0;
    char *rest = arena_strdup(arena, text);
    for (struct partition_line one; next_line(&rest, partition, &one);) {
        char *list = arena_strdup(arena, one.gres);
        for (struct gres gres; next_gres(&list, &gres);) {
            if (!*gres.type || gres.n < gpus->n || !is_wanted(gres.type, &gpus->types))
                continue;
            uint64_t worth = 1 + nodes_of_type(arena, text, partition, &gres);
            if (is_called(gres.type, &gpus->types))
                worth += UINT64_C(1) << 32;
            if (worth > most) {
                best = gres.type;
                most = worth;
            }
        }
    }
    return best;
}

/* Of that type; "": of any, or, where types were asked for, of those that have no word. */
static uint32_t count_gpus(struct arena *arena, const char *text, const char *type, bool any)
{
    char *list = arena_strdup(arena, text);
    uint32_t sum = 0;
    for (struct gres gres; next_gres(&list, &gres);)
        sum += any || strcmp(gres.type, type) == 0 ? gres.n : 0;
    return sum;
}

static void take_least(struct slurm_shape *to, const struct slurm_shape *of)
{
    to->cpus = of->cpus < to->cpus ? of->cpus : to->cpus;
    to->memory = of->memory < to->memory ? of->memory : to->memory;
    to->gpus = of->gpus < to->gpus ? of->gpus : to->gpus;
    to->nodes += of->nodes;
}

bool slurm_read_shape(struct arena *arena, const char *text, const char *partition,
                      const struct slurm_gpus *gpus, struct slurm_shape *out)
{
    const bool any = !gpus || !gpus->n || !gpus->types.n;
    const char *type = any ? "" : choose_type(arena, text, partition, gpus);
    const uint32_t least = gpus ? gpus->n : 0;
    char *rest = arena_strdup(arena, text);
    bool found = false;
    for (struct partition_line one; next_line(&rest, partition, &one);) {
        one.shape.gpus = count_gpus(arena, one.gres, type, any);
        one.shape.gpu_type = type;
        if (one.shape.gpus < least)
            continue;
        if (found)
            take_least(out, &one.shape);
        else
            *out = one.shape;
        found = true;
    }
    return found;
}

struct words slurm_gpu_types(struct arena *arena, const char *text, const char *partition)
{
    struct words types = { .at = ARENA_ARRAY(arena, SLURM_TYPES_MAX, const char *) };
    char *rest = arena_strdup(arena, text);
    for (struct partition_line one; next_line(&rest, partition, &one);) {
        char *list = arena_strdup(arena, one.gres);
        for (struct gres gres; types.n < SLURM_TYPES_MAX && next_gres(&list, &gres);)
            if (*gres.type && !words_have(&types, gres.type))
                types.at[types.n++] = gres.type;
    }
    return types;
}

struct words slurm_nodes(struct arena *arena, const char *text, const char *partition)
{
    struct words all = { .n = 0 };
    char *rest = arena_strdup(arena, text);
    for (struct partition_line one; next_line(&rest, partition, &one);) {
        const char **names, **both;
        struct err err;
        size_t n;
        if (hostlist_read(arena, one.nodes, &names, &n, &err) < 0)
            continue;
        both = ARENA_ARRAY(arena, all.n + n, const char *);
        for (size_t i = 0; i < all.n + n; i++)
            both[i] = i < all.n ? all.at[i] : names[i - all.n];
        all = (struct words){ .at = both, .n = all.n + n };
    }
    return all;
}

bool slurm_has_partition(struct arena *arena, const char *text, const char *partition)
{
    struct partition_line one;
    char *rest = arena_strdup(arena, text);
    return *partition && next_line(&rest, partition, &one);
}
