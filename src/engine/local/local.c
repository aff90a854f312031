/* The local engine's side of the contract: each (generation, node) is a run with a keeper of its
 * own; what is said to it goes through the link, and its end is a fact. Facts that a call produces
 * come up from the loop, never from inside the call. */
#include "engine/local/local.h"

#include "base/map.h"
#include "base/mem.h"
#include "run/run.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

struct local {
    struct engine base; /* first */
    uv_loop_t *loop;
    struct link_hub *link;
    char *program;
    char *server;            /* lines of agent.conf */
    struct string_map *runs; /* by key_of() */
    unsigned caps, agents;
};

static struct local *local_of(struct engine *e)
{
    return (struct local *)(void *)e;
}

#define KEY_MAX 320
static const char *key_of(char out[KEY_MAX], struct generation g, const char *node)
{
    snprintf(out, KEY_MAX, "%llu.%u.%s", (unsigned long long)g.job, g.number, node);
    return out;
}

static struct run *find(struct local *l, struct generation g, const char *node)
{
    char key[KEY_MAX];
    return string_map_get(l->runs, key_of(key, g, node));
}

static void on_ended(struct run *run)
{
    char key[KEY_MAX];
    struct local *l = run->owner;
    struct engine_fact fact = { .kind = FACT_AGENT_GONE,
                                .generation = run->generation,
                                .node = run->node,
                                .reason = "the agent ended" };
    string_map_remove(l->runs, key_of(key, run->generation, run->node));
    link_forget(l->link, run->generation, run->node);
    l->base.sink.fact(l->base.sink.arg, &fact);
    run_destroy(run);
}

static bool was_released(const struct run *run)
{
    const struct local *l = run->owner;
    return link_released(l->link, run->generation, run->node);
}

static struct run *add(struct local *l, struct generation g, const char *node, const char *dir)
{
    char key[KEY_MAX];
    struct run *run = run_create(l->loop, g, node, dir);
    run->owner = l;
    run->program = l->program;
    run->released = was_released;
    run->ended = on_ended;
    string_map_set(l->runs, key_of(key, g, node), run);
    return run;
}

static int spawn(struct local *l, struct run *run, const struct launch *launch, struct err *err)
{
    unsigned char token[32], hash[32];
    memcpy(token, launch->token, sizeof token);
    if (sodium_is_zero(token, sizeof token))
        return err_set(err, ERR_UNAVAILABLE, "the agent on %s is gone", launch->node);
    crypto_hash_sha256(hash, token, sizeof token);
    const struct run_place place = { .program = l->program, .server = l->server, .token = token };
    int rc = run_spawn(run, &place, launch, err);
    if (rc == 0) /* whoever lives there instead may have the same token: nobody asked for it */
        link_expect(l->link, launch->generation, launch->node, hash, 0);
    sodium_memzero(token, sizeof token);
    return rc;
}

static int local_start(struct engine *e, const struct launch *launch, struct err *err)
{
    struct local *l = local_of(e);
    struct run *run = find(l, launch->generation, launch->node);
    if (!run && l->agents && string_map_count(l->runs) >= l->agents) {
        err_set(err, ERR_UNAVAILABLE,
                "this server's limit of open files has no room for more than %u agents", l->agents);
        return err_hint(err, "raise the limit (LimitNOFILE of a service, ulimit -Hn)");
    }
    if (!run)
        run = add(l, launch->generation, launch->node, launch->dir);
    if (!run_lives(run) && spawn(l, run, launch, err) < 0) {
        run_settle(run); /* nothing lives: its end comes up as a fact */
        return err_in(err, "starting %s on %s", launch->job_name, launch->node);
    }
    return link_launch(l->link, launch, err);
}

static int local_stop(struct engine *e, struct generation g, const struct task_ref *task,
                      enum stop_how how, enum end_origin why, struct err *err)
{
    struct local *l = local_of(e);
    size_t cursor = 0;
    const char *key;
    void *value;
    (void)err;
    while (string_map_next(l->runs, &cursor, &key, &value)) {
        struct run *run = value;
        if (run->generation.job != g.job || run->generation.number != g.number)
            continue;
        if (run_lives(run))
            link_stop(l->link, g, run->node, task, how, why);
        else
            run_settle(run);
    }
    return 0;
}

static void local_ack(struct engine *e, struct generation g, const char *node, uint64_t seq)
{
    link_ack(local_of(e)->link, g, node, seq);
}

/* An agent of an earlier server keeps its directory, token and cookie. */
static int local_recover(struct engine *e, const struct engine_agent *known, size_t n,
                         struct err *err)
{
    struct local *l = local_of(e);
    (void)err;
    for (size_t i = 0; i < n; i++) {
        const struct engine_agent *k = &known[i];
        struct run *run = add(l, k->generation, k->node, k->dir);
        int found = run_adopt(run);
        /* Facts came from it, and nothing is left: its directory was removed, or lies on another
         * machine that the records were taken from. */
        if (found == 0 && k->last_seq > 0)
            run_settle(run);
        else if (found >= 0)
            link_expect(l->link, k->generation, k->node, k->token_hash, k->last_seq);
    }
    return 0;
}

static struct engine_stranger stranger_of(const struct run_conf *conf)
{
    struct engine_stranger one = { .job = conf->job, .pid = conf->pid };
    memcpy(one.node, conf->node, sizeof one.node);
    return one;
}

static int local_leave(struct engine *e, const char *dir, struct engine_stranger *out)
{
    struct run_conf conf;
    if (!run_look(dir, &conf))
        return 0;
    link_hold(local_of(e)->link, conf.token);
    *out = stranger_of(&conf);
    return 1;
}

static int local_end(struct engine *e, const char *dir, struct engine_stranger *out,
                     struct err *err)
{
    struct run_conf conf;
    if (!run_look(dir, &conf))
        return 0;
    *out = stranger_of(&conf);
    return run_end(dir, local_of(e)->program, err) < 0 ? -1 : 1;
}

static int local_exec(struct engine *e, const struct engine_exec *exec, struct err *err)
{
    return link_exec(local_of(e)->link, exec, err);
}

static int local_attach(struct engine *e, const struct engine_attach *attach, struct err *err)
{
    return link_join(local_of(e)->link, attach, err);
}

static int local_signal(struct engine *e, const struct engine_signal *ask, struct err *err)
{
    return link_signal(local_of(e)->link, ask, err);
}

static void local_secrets(struct engine *e, const struct engine_secrets *secrets)
{
    link_secrets(local_of(e)->link, secrets);
}

static void local_tell_launcher(struct engine *e, struct generation g, const char *node,
                                uint32_t channel, const void *bytes, size_t len)
{
    struct launcher_end end = { .generation = g, .node = node, .channel = channel };
    link_tell_launcher(local_of(e)->link, &end, bytes, len);
}

static int local_find_process(struct engine *e, uint32_t pid, struct generation *of)
{
    struct local *l = local_of(e);
    const struct run *run;
    int found = string_map_count(l->runs) ? process_run(l->runs, (pid_t)pid, &run) : 0;
    if (found == 1)
        *of = run->generation;
    return found;
}

static size_t local_room(const struct engine *e, size_t *all)
{
    const struct local *l = (const struct local *)(const void *)e;
    size_t run = string_map_count(l->runs);
    *all = l->agents ? l->agents : SIZE_MAX;
    return run < *all ? *all - run : 0;
}

static unsigned local_caps(const struct engine *e)
{
    return ((const struct local *)(const void *)e)->caps;
}

static void free_run(void *run)
{
    run_destroy(run);
}

static void local_destroy(struct engine *e)
{
    struct local *l = local_of(e);
    string_map_destroy_with(l->runs, free_run);
    free(l->program);
    free(l->server);
    free(l);
}

static const struct engine_ops local_ops = {
    .name = "local",
    .start = local_start,
    .stop = local_stop,
    .ack = local_ack,
    .recover = local_recover,
    .leave = local_leave,
    .end = local_end,
    .exec = local_exec,
    .attach = local_attach,
    .signal = local_signal,
    .secrets = local_secrets,
    .tell_launcher = local_tell_launcher,
    .find_process = local_find_process,
    .room = local_room,
    .caps = local_caps,
    .destroy = local_destroy,
};

bool local_lives(const char *dir, uint32_t *pid)
{
    struct run_conf conf;
    bool lives = run_look(dir, &conf);
    *pid = lives ? conf.pid : 0;
    return lives;
}

struct engine *local_create(const struct local_config *config, struct err *err)
{
    if (sodium_init() < 0) {
        err_set(err, ERR_SYSTEM, "libsodium does not start");
        return NULL;
    }
    if (access(config->node_program, X_OK) < 0) {
        err_sys(err, "%s cannot be run", config->node_program);
        err_hint(err, "muster-node is installed beside muster; \"make build\" makes both");
        return NULL;
    }
    struct local *l = mem_new(sizeof *l);
    l->base.ops = &local_ops;
    l->loop = config->loop;
    l->link = config->link;
    l->program = mem_strdup(config->node_program);
    l->server = mem_printf("socket=%s\n", config->socket_path);
    l->runs = string_map_create();
    l->agents = config->agents;
    l->caps = ENGINE_EXEC | ENGINE_STDIN | ENGINE_HOSTS | ENGINE_MOUNTS | ENGINE_MEMORY_LIMIT |
              ENGINE_CPU_LIMIT;
    return &l->base;
}
