/* The variables are those of dialect/sbatch/env.c; the config is the one its reader made, in the
 * file of $MUSTER_CONFIG. */
#include "step/node_conf.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "text/json.h"

#include <stdlib.h>
#include <string.h>

enum { CONFIG_MAX = 32 << 20, ARGS_MAX = 4096 };

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static const char *or_else(const char *text, const char *other)
{
    return text ? text : other;
}

void node_conf_facts(struct pattern_facts *facts)
{
    uint64_t node = 0;
    const char *id = variable("SLURM_NODEID");
    *facts = (struct pattern_facts){
        .job = or_else(variable("SLURM_JOB_ID"), "0"),
        .array_job = variable("SLURM_ARRAY_JOB_ID"),
        .array_index = variable("SLURM_ARRAY_TASK_ID"),
        .name = or_else(variable("SLURM_JOB_NAME"), "sbatch"),
        .user = or_else(variable("SLURM_JOB_USER"), or_else(variable("USER"), "")),
        .node = or_else(variable("SLURMD_NODENAME"), "localhost"),
    };
    if (id && scan_u64(id, 0, UINT32_MAX, &node))
        facts->node_id = (uint32_t)node;
}

static const char *word(const struct text_node *map, const char *key)
{
    const char *text = text_word(map, key);
    return *text ? text : NULL;
}

static void take_args(struct arena *a, const struct text_node *list, struct words *out)
{
    if (!list || list->kind != TEXT_LIST || list->count > ARGS_MAX)
        return;
    out->at = ARENA_ARRAY(a, list->count, const char *);
    for (const struct text_node *one = list->first; one; one = one->next)
        if (one->str)
            out->at[out->n++] = one->str;
}

static void take_signal(const struct text_node *map, struct node_conf *conf)
{
    uint64_t limit = 0, before = text_number(map, "seconds");
    const char *seconds = variable("MUSTER_STEP_TIME");
    conf->signal = (int)text_number(map, "number");
    conf->signal_batch = text_flag(map, "batch");
    if (!map || !seconds || !scan_u64(seconds, 1, UINT32_MAX, &limit) || conf->signal > 64)
        conf->signal = 0;
    conf->signal_after_ms = limit > before ? (limit - before) * 1000 : 0;
}

static int read_config(struct arena *a, struct node_conf *conf, struct err *err)
{
    const char *path = variable("MUSTER_CONFIG"), *slash = path ? strrchr(path, '/') : NULL;
    struct report report;
    size_t len;
    if (!slash)
        return err_set(err, ERR_CANNOT, "MUSTER_CONFIG is not set: no batch script is known");
    AUTO_FREE char *text = NULL;
    if (file_read(path, CONFIG_MAX, &text, &len, err) != 0)
        return -1;
    report_init(&report, a);
    const struct text_node *root = json_parse(a, text, len, JSON_ANSWER, &report);
    const struct text_node *ours = root ? text_get(root, "sbatch") : NULL;
    if (!ours)
        return err_set(err, ERR_CANNOT, "%s has no batch script", path);
    conf->dir = arena_strndup(a, path, (size_t)(slash - path));
    conf->script = word(ours, "script");
    conf->output = word(ours, "output");
    conf->error = word(ours, "error");
    conf->input = word(ours, "input");
    conf->chdir = word(ours, "chdir");
    conf->append = text_flag(ours, "append");
    take_args(a, text_get(ours, "args"), &conf->args);
    take_signal(text_get(ours, "signal"), conf);
    return 0;
}

int node_conf_read(struct arena *a, struct node_conf *conf, struct err *err)
{
    uint64_t port;
    const char *number = variable("MUSTER_STEP_PORT");
    *conf = (struct node_conf){ .secret = variable("MUSTER_JOB_SECRET"),
                                .address = or_else(variable("MUSTER_TASK_ADDRESS"), "*"),
                                .first = variable("MUSTER_STEP_FIRST") != NULL,
                                .room = variable("MUSTER_STEP_ROOM") };
    if (!conf->secret || !number || !scan_u64(number, 1, 65535, &port)) {
        err_set(err, ERR_CANNOT, "this is no node of a job that came as a batch script");
        return err_hint(err, "it is started for a job whose file is a batch script");
    }
    conf->port = (uint16_t)port;
    node_conf_facts(&conf->facts);
    return read_config(a, conf, err);
}
