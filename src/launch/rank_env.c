/* Names and values are those of torch 2.13 (torch/distributed/elastic/agent/server), measured from
 * a real run; dlrover's come on top under that name. One difference is wanted: the restart count is
 * the job's unless a per-agent count was asked for. */
#include "launch/rank_env.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/pairs.h"
#include "base/scan.h"
#include "launch/run_path_py.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PARAL_CONFIG "/tmp/dlrover/auto_paral_config.json"
#define METRICS_FILE "/tmp/dlrover/runtime_metrics.json"

/* ---- environment ---- */

/* An environment under construction: later values replace earlier ones of the same name. */
struct env {
    struct arena *arena;
    struct pairs pairs;
};

static void set(struct env *env, const char *name, const char *value)
{
    pairs_set(&env->pairs, env->arena, name, value);
}

static void set_number(struct env *env, const char *name, uint64_t value)
{
    pairs_setf(&env->pairs, env->arena, name, "%llu", (unsigned long long)value);
}

static void set_default(struct env *env, const char *name, const char *value)
{
    if (!pairs_get(&env->pairs, name))
        set(env, name, value);
}

bool rank_env_limits_omp(const struct settings *settings)
{
    return settings->ranks > 1 && !getenv("OMP_NUM_THREADS");
}

void rank_env_warn_omp(void)
{
    fputs("*****************************************\n"
          "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to "
          "avoid your system being overloaded, please further tune the variable for optimal "
          "performance in your application as needed. \n"
          "*****************************************\n",
          stderr);
}

static void set_places(struct env *env, const struct settings *settings,
                       const struct rank_place *place)
{
    const struct rdzv_round *round = place->round;
    const struct rdzv_place *own = &round->own;
    uint32_t rank = own->first_rank + place->local_rank;
    set_number(env, "RANK", rank);
    set_number(env, "GROUP_RANK", round->group_rank);
    set_number(env, "ROLE_RANK", round->role_first + place->local_rank);
    set(env, "ROLE_NAME", settings->role);
    set_number(env, "LOCAL_WORLD_SIZE", own->ranks);
    set_number(env, "WORLD_SIZE", round->world);
    set_number(env, "GROUP_WORLD_SIZE", round->nodes);
    set_number(env, "ROLE_WORLD_SIZE", round->role_world);
    set(env, "MASTER_ADDR", round->store_addr);
    set_number(env, "MASTER_PORT", round->store_port);
}

/* The n-th of a comma separated list, blanks around it dropped; NULL when it has fewer. */
static const char *nth_of(struct arena *arena, const char *list, uint32_t n)
{
    for (; n > 0 && list; n--) {
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    if (!list)
        return NULL;
    size_t len = strcspn(list, ",");
    for (; len > 0 && isspace((unsigned char)*list); list++)
        len--;
    for (; len > 0 && isspace((unsigned char)list[len - 1]);)
        len--;
    return arena_strndup(arena, list, len);
}

/* Virtual: every rank sees one device, as number 0. A list that is too short leaves the rank
 * without a device ("" hides all), which its program reports better than a guess would work. */
static void set_local_rank(struct env *env, const struct settings *settings, uint32_t local_rank)
{
    if (!settings->virtual_local_rank) {
        set_number(env, "LOCAL_RANK", local_rank);
        return;
    }
    set_number(env, "LOCAL_RANK", 0);
    const char *visible = pairs_get(&env->pairs, "CUDA_VISIBLE_DEVICES");
    if (!visible) {
        set_number(env, "CUDA_VISIBLE_DEVICES", local_rank);
        return;
    }
    const char *own = nth_of(env->arena, visible, local_rank);
    set(env, "CUDA_VISIBLE_DEVICES", own ? own : "");
}

static void set_elastic(struct env *env, const struct settings *settings,
                        const struct rank_place *place)
{
    set_number(env, "TORCHELASTIC_RESTART_COUNT",
               settings->count_per_agent ? place->own_restarts : place->round->restarts);
    set_number(env, "TORCHELASTIC_MAX_RESTARTS", settings->rdzv.max_restarts);
    set(env, "TORCHELASTIC_RUN_ID", settings->run_id);
    set(env, "TORCHELASTIC_USE_AGENT_STORE", "True");
    set(env, "TORCHELASTIC_ERROR_FILE", place->error_file);
    if (settings->timer_file)
        set(env, "TORCHELASTIC_TIMER_FILE", settings->timer_file);
    set_default(env, "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
    if (rank_env_limits_omp(settings))
        set(env, "OMP_NUM_THREADS", "1");
}

struct limit { /* "0=" 40779 "M" */
    const char *name, *before, *behind;
};

/* For each rank its part, at least 1. Only where it is still what the task was told. */
static void divide_limit(struct env *env, const struct limit *limit, uint64_t whole, uint32_t ranks)
{
    const char *value = pairs_get(&env->pairs, limit->name);
    uint64_t part = whole / ranks ? whole / ranks : 1;
    const char *told =
        arena_printf(env->arena, "%s%" PRIu64 "%s", limit->before, whole, limit->behind);
    if (value && strcmp(value, told) == 0)
        pairs_setf(&env->pairs, env->arena, limit->name, "%s%" PRIu64 "%s", limit->before, part,
                   limit->behind);
}

/* A task's share of a device (dialect/gpu_share.h) is all its ranks' together, and what holds a
 * process to it holds each of them alone. */
static void divide_gpu_share(struct env *env, uint32_t ranks)
{
    static const struct limit of_memory[] = {
        { .name = "MUSTER_GPU_MEMORY_MIB", .before = "", .behind = "" },
        { .name = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", .before = "0=", .behind = "M" },
    };
    static const struct limit of_threads = { .name = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                                             .before = "",
                                             .behind = "" };
    uint64_t milli, mib = 0;
    const char *share = pairs_get(&env->pairs, "MUSTER_GPU_SHARE");
    const char *memory = pairs_get(&env->pairs, "MUSTER_GPU_MEMORY_MIB");
    if (ranks < 2 || !share || !scan_milli(share, &milli) || milli == 0 || milli >= 1000)
        return;
    bool known = memory && scan_u64(memory, 1, UINT32_MAX, &mib);
    for (size_t i = 0; known && i < ARRAY_LEN(of_memory); i++)
        divide_limit(env, &of_memory[i], mib, ranks);
    divide_limit(env, &of_threads, (milli + 9) / 10, ranks);
    uint64_t parts = milli * 1000 / ranks; /* of a million */
    pairs_setf(&env->pairs, env->arena, "MUSTER_GPU_SHARE", "0.%06llu", (unsigned long long)parts);
}

static void set_dlrover(struct env *env, const struct settings *settings)
{
    set(env, "DLROVER_PARAL_CONFIG_PATH", PARAL_CONFIG);
    set(env, "RUNTIME_METRICS_PATH", METRICS_FILE);
    if (settings->accelerator)
        set(env, "DLROVER_ACCELERATOR_TYPE", settings->accelerator);
    if (settings->membind)
        set(env, "DLROVER_MEMBIND_POLICY", settings->membind);
    if (settings->training_port > 0 && !pairs_get(&env->pairs, "HCCL_IF_BASE_PORT"))
        set_number(env, "HCCL_IF_BASE_PORT", settings->training_port);
}

static void inherit(struct env *env)
{
    for (char **at = environ; at && *at; at++) {
        const char *equals = strchr(*at, '=');
        if (equals && equals != *at)
            set(env, arena_strndup(env->arena, *at, (size_t)(equals - *at)), equals + 1);
    }
}

char **rank_env_make(struct arena *arena, const struct settings *settings,
                     const struct rank_place *place)
{
    struct env env = { .arena = arena };
    inherit(&env);
    set_places(&env, settings, place);
    set_local_rank(&env, settings, place->local_rank);
    set_elastic(&env, settings, place);
    divide_gpu_share(&env, place->round->own.ranks);
    if (settings->name == LAUNCH_DLROVER_RUN)
        set_dlrover(&env, settings);
    else
        set(&env, "TORCHELASTIC_SIGNALS_TO_HANDLE", settings->signals_said);
    char **list = ARENA_ARRAY(arena, env.pairs.n + 1, char *);
    for (size_t i = 0; i < env.pairs.n; i++)
        list[i] = arena_printf(arena, "%s=%s", env.pairs.at[i].name, env.pairs.at[i].value);
    return list;
}

/* ---- command ---- */

struct word_list {
    char **at;
    size_t n;
};

static void add(struct word_list *out, struct arena *arena, const char *word)
{
    out->at[out->n++] = arena_strdup(arena, word);
}

/* The name at text (after a dollar sign), bare or in braces; 0 when there is none. */
static size_t macro_len(const char *text, const char *name)
{
    size_t len = strlen(name);
    if (text[0] == '{')
        return strncmp(text + 1, name, len) == 0 && text[len + 1] == '}' ? len + 2 : 0;
    bool goes_on =
        strncmp(text, name, len) == 0 && (isalnum((unsigned char)text[len]) || text[len] == '_');
    return strncmp(text, name, len) == 0 && !goes_on ? len : 0;
}

/* As Python's Template.safe_substitute: $local_rank, ${local_rank}, $$ is one dollar; anything else
 * stays as it is. */
static const char *expand(struct arena *arena, const char *text, uint32_t local_rank)
{
    if (!strchr(text, '$'))
        return text;
    struct buf AUTO_BUF out = BUF_INIT(strlen(text) * 11u + 16u);
    while (*text) {
        size_t name = *text == '$' ? macro_len(text + 1, "local_rank") : 0;
        if (name > 0) {
            buf_addf(&out, "%u", local_rank);
            text += name + 1;
        } else {
            buf_putc(&out, *text);
            text += text[0] == '$' && text[1] == '$' ? 2 : 1;
        }
    }
    return arena_strdup(arena, buf_str(&out));
}

char **rank_argv_make(struct arena *arena, const struct settings *settings, uint32_t local_rank)
{
    struct word_list out = { .at = ARENA_ARRAY(arena, settings->args.n + 8, char *) };
    if (settings->kind != PROGRAM_BARE) {
        add(&out, arena, settings->python);
        add(&out, arena, "-u");
    }
    if (settings->kind == PROGRAM_MODULE)
        add(&out, arena, "-m");
    if (settings->kind == PROGRAM_RUN_PATH) {
        add(&out, arena, "-c");
        add(&out, arena, (const char *)launch_run_path_py);
    }
    bool first_is_program = settings->kind == PROGRAM_BARE;
    add(&out, arena,
        first_is_program ? settings->script : expand(arena, settings->script, local_rank));
    for (size_t i = 0; i < settings->args.n; i++)
        add(&out, arena, expand(arena, settings->args.at[i], local_rank));
    return out.at;
}
