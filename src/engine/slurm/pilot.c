/* What follows for a pilot from what Slurm says. An allocation is given up by two witnesses: Slurm
 * says that it has ended, or twice that it knows none, and none of its hosts is connected. While
 * Slurm cannot be asked nothing of this is called. */
#include "engine/slurm/pilot.h"

#include "base/buf.h"
#include "base/hostlist.h"
#include "base/mem.h"
#include "base/scan.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SUBMIT_MOST_MS 180000u /* an sbatch that an earlier server started has ended by then */
#define SHIFT_MS       30000u  /* ends that differ by less are the same */
#define TIME_MOST_MS   (400ull * 86400000u)
#define MIB            (UINT64_C(1) << 20)
#define FULL_WAIT_MS   10000u  /* until it is submitted again */
#define JOIN_MOST_MS   600000u /* a node that has not joined by then will not */

const char *pilot_state_word(enum pilot_state state)
{
#define WORD(id, word) [PILOT_##id] = word,
    static const char *const words[] = { PILOT_STATES(WORD) };
#undef WORD
    return words[state];
}

static const char *const end_words[] = {
#define WORD(id, word) [PILOT_END_##id] = word,
    PILOT_ENDS(WORD)
#undef WORD
};

/* ---- asking ---- */

/* Options without which nothing here holds, by what sbatch takes for them. */
static bool is_ours(const char *flag)
{
    static const char *const ours[] = { "--nodes",
                                        "-N",
                                        "--job-name",
                                        "-J",
                                        "--parsable",
                                        "--requeue",
                                        "--array",
                                        "-a",
                                        "--wrap",
                                        "--wait",
                                        "-W",
                                        "--ntasks",
                                        "-n",
                                        "--test-only",
                                        "--help",
                                        "--usage",
                                        "--version",
                                        "-V",
                                        "--ntasks-per-node",
                                        "--tasks-per-node" };
    for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
        size_t n = strlen(ours[i]);
        if (strncmp(flag, ours[i], n) == 0 && (!flag[n] || flag[n] == '=' || n == 2))
            return true;
    }
    return false;
}

int pilot_check_ask(const struct pilot_ask *ask, struct err *err)
{
    if (ask->nodes < 1 || ask->nodes > PILOT_NODES_MAX)
        return err_set(err, ERR_INPUT, "nodes: %u is not from 1 to %u", ask->nodes,
                       PILOT_NODES_MAX);
    if (ask->time_ms > TIME_MOST_MS || (ask->time_ms && ask->time_ms < 60000))
        return err_set(err, ERR_INPUT, "time: not from a minute to 400 days");
    if (ask->cpus > 65536 || ask->gpus > 1024)
        return err_set(err, ERR_INPUT, "cpus or gpus of a node: too many");
    if (ask->flags.n > PILOT_FLAGS_MAX)
        return err_set(err, ERR_INPUT, "more than %u words for sbatch", PILOT_FLAGS_MAX);
    for (size_t i = 0; i < ask->flags.n; i++) {
        const char *flag = ask->flags.at[i];
        if (strlen(flag) > PILOT_FLAG_MAX || strchr(flag, '\n'))
            return err_set(err, ERR_INPUT, "a word for sbatch is longer than a line");
        if (!is_ours(flag))
            continue;
        err_set(err, ERR_INPUT, "%.60s is set by muster for a pilot", flag);
        return err_hint(err,
                        "how many nodes stands before the --, and only what else is for sbatch "
                        "behind it");
    }
    if (strlen(ask->gpu_type) > 64 || strpbrk(ask->gpu_type, ":,( \n"))
        return err_set(err, ERR_INPUT, "gpus of a node: \"%.60s\" is no type", ask->gpu_type);
    return strlen(ask->partition) < 256 && !strchr(ask->partition, '\n')
               ? 0
               : err_set(err, ERR_INPUT, "partition: no name");
}

const char **pilot_sbatch(struct arena *a, const struct pilot *p)
{
    const struct pilot_ask *ask = &p->ask;
    const char **out = ARENA_ARRAY(a, 20 + ask->flags.n, const char *);
    size_t n = 0;
    out[n++] = "--parsable";
    out[n++] = "--no-requeue";
    out[n++] = "--no-kill";
    out[n++] = arena_printf(a, "--job-name=" PILOT_JOB_NAME "%s", p->nonce);
    out[n++] = p->job
                   ? arena_printf(a, "--comment=muster:job %llu", (unsigned long long)p->job_number)
                   : arena_printf(a, "--comment=muster:%s", p->name);
    if (ask->least && ask->least < ask->nodes) { /* with tasks per node Slurm gives the least */
        out[n++] = arena_printf(a, "--nodes=%u-%u", ask->least, ask->nodes);
    } else {
        out[n++] = arena_printf(a, "--nodes=%u", ask->nodes);
        out[n++] = "--ntasks-per-node=1";
    }
    out[n++] = "--output=/dev/null";
    if (*ask->partition)
        out[n++] = arena_printf(a, "--partition=%s", ask->partition);
    if (ask->time_ms) /* in whole minutes */
        out[n++] =
            arena_printf(a, "--time=%llu", (unsigned long long)((ask->time_ms + 59999) / 60000));
    if (ask->gpus)
        out[n++] = arena_printf(a, "--gres=gpu:%s%s%u", ask->gpu_type, *ask->gpu_type ? ":" : "",
                                ask->gpus);
    if (ask->cpus) {
        out[n++] = arena_printf(a, "--cpus-per-task=%u", ask->cpus);
        if (ask->memory)
            out[n++] =
                arena_printf(a, "--mem=%lluM", (unsigned long long)((ask->memory + MIB - 1) / MIB));
    } else {
        out[n++] = "--exclusive";
        out[n++] = "--mem=0";
    }
    for (size_t i = 0; i < ask->flags.n; i++) /* the later of two wins */
        out[n++] = ask->flags.at[i];
    out[n] = NULL;
    return out;
}

/* ---- life ---- */

static void set_text(char **to, const char *text)
{
    char *copy = mem_strdup(text);
    free(*to);
    *to = copy;
}

void pilot_set_reason(struct pilot *p, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    set_text(&p->reason, text);
}

struct pilot *pilot_create(const char *name, const char *nonce, const char *by,
                           const struct pilot_ask *ask)
{
    struct pilot *p = mem_new(sizeof *p);
    p->arena = arena_create();
    p->name = mem_strdup(name);
    p->nonce = mem_strdup(nonce);
    p->by = mem_strdup(by);
    p->id = mem_strdup("");
    p->partition = mem_strdup(ask->partition);
    p->nodes = mem_strdup("");
    p->reason = mem_strdup("");
    p->hears_again = true;
    p->ask = *ask;
    p->ask.partition = arena_strdup(p->arena, ask->partition);
    p->ask.gpu_type = arena_strdup(p->arena, ask->gpu_type);
    p->ask.flags.at = ARENA_ARRAY(p->arena, ask->flags.n + 1, const char *);
    for (size_t i = 0; i < ask->flags.n; i++)
        p->ask.flags.at[i] = arena_strdup(p->arena, ask->flags.at[i]);
    return p;
}

void pilot_destroy(struct pilot *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->hosts.n; i++) {
        free(p->hosts.at[i].slurm);
        free(p->hosts.at[i].name);
    }
    vec_fini(&p->hosts);
    arena_destroy(p->arena);
    free(p->name);
    free(p->nonce);
    free(p->by);
    free(p->id);
    free(p->partition);
    free(p->nodes);
    free(p->reason);
    free(p);
}

struct pilot_host *pilot_find_host(const struct pilot *p, const char *slurm_name)
{
    for (size_t i = 0; i < p->hosts.n; i++)
        if (strcmp(p->hosts.at[i].slurm, slurm_name) == 0)
            return &p->hosts.at[i];
    return NULL;
}

void pilot_add_host(struct pilot *p, const char *slurm_name, const char *name,
                    const unsigned char token_hash[32])
{
    struct pilot_host *host = pilot_find_host(p, slurm_name);
    if (host) {
        free(host->slurm);
        free(host->name);
    }
    host = host ? host : vec_add(&p->hosts);
    host->gone = false;
    host->slurm = mem_strdup(slurm_name);
    host->name = mem_strdup(name);
    memcpy(host->token_hash, token_hash, sizeof host->token_hash);
}

void pilot_drop_host(struct pilot *p, const char *slurm_name)
{
    for (size_t i = 0; i < p->hosts.n; i++) {
        if (strcmp(p->hosts.at[i].slurm, slurm_name) != 0)
            continue;
        free(p->hosts.at[i].slurm);
        free(p->hosts.at[i].name);
        vec_remove(&p->hosts, i);
        return;
    }
}

bool pilot_left(const struct pilot *p, uint64_t now_ms, uint64_t *ms)
{
    if (!p->ends_ms)
        return false;
    *ms = p->ends_ms > now_ms ? p->ends_ms - now_ms : 0;
    return true;
}

bool pilot_has_node(const struct pilot *p, const char *node)
{
    struct arena *arena = arena_create();
    struct words names = { 0 };
    bool has =
        hostlist_read(arena, p->nodes, &names.at, &names.n, NULL) == 0 && words_have(&names, node);
    arena_destroy(arena);
    return has;
}

uint32_t pilot_count_nodes(const struct pilot *p)
{
    struct arena *arena = arena_create();
    struct words names = { 0 };
    if (hostlist_read(arena, p->nodes, &names.at, &names.n, NULL) != 0)
        names.n = 0;
    arena_destroy(arena);
    return (uint32_t)names.n;
}

/* ---- its row ---- */

static void put_hash(struct arena *a, struct text_node *map, const char *key,
                     const unsigned char hash[32])
{
    char hex[65];
    text_str(a, map, key, sodium_bin2hex(hex, sizeof hex, hash, 32));
}

static bool get_hash(const struct text_node *map, const char *key, unsigned char hash[32])
{
    const char *hex = text_word(map, key);
    size_t len = 0;
    return sodium_hex2bin(hash, 32, hex, strlen(hex), NULL, &len, NULL) == 0 && len == 32;
}

static void put_ask(struct arena *a, struct text_node *map, const struct pilot_ask *ask)
{
    text_int(a, map, "nodes", ask->nodes);
    if (ask->least)
        text_int(a, map, "least", ask->least);
    if (ask->memory)
        text_int(a, map, "memory", (int64_t)ask->memory);
    text_str(a, map, "partition", ask->partition);
    text_int(a, map, "time_ms", (int64_t)ask->time_ms);
    text_int(a, map, "cpus", ask->cpus);
    text_int(a, map, "gpus", ask->gpus);
    if (*ask->gpu_type)
        text_str(a, map, "gpu_type", ask->gpu_type);
    text_int(a, map, "idle_ms", (int64_t)ask->idle_ms);
    struct text_node *flags = text_list(a, map, "flags");
    for (size_t i = 0; i < ask->flags.n; i++)
        text_str(a, flags, NULL, ask->flags.at[i]);
}

static struct pilot_ask get_ask(struct arena *a, const struct text_node *map)
{
    struct pilot_ask ask = { .nodes = (uint32_t)text_number(map, "nodes"),
                             .least = (uint32_t)text_number(map, "least"),
                             .memory = text_number(map, "memory"),
                             .partition = text_word(map, "partition"),
                             .time_ms = text_number(map, "time_ms"),
                             .cpus = (uint32_t)text_number(map, "cpus"),
                             .gpus = (uint32_t)text_number(map, "gpus"),
                             .gpu_type = text_word(map, "gpu_type"),
                             .idle_ms = text_number(map, "idle_ms") };
    const struct text_node *flags = text_get(map, "flags");
    ask.flags.at = ARENA_ARRAY(a, flags ? flags->count + 1 : 1, const char *);
    for (const struct text_node *n = flags ? flags->first : NULL; n; n = n->next)
        ask.flags.at[ask.flags.n++] = n->str ? n->str : "";
    return ask;
}

struct text_node *pilot_row(struct arena *a, const struct pilot *p)
{
    struct text_node *map = text_map(a, NULL, NULL), *list;
    put_ask(a, text_map(a, map, "ask"), &p->ask);
    text_str(a, map, "nonce", p->nonce);
    text_str(a, map, "by", p->by);
    if (p->account)
        account_put(a, map, p->account);
    put_hash(a, map, "join", p->join_hash);
    text_int(a, map, "at", (int64_t)p->at_ms);
    if (p->job) {
        text_int(a, map, "job", (int64_t)p->job);
        text_int(a, map, "job_number", (int64_t)p->job_number);
        text_int(a, map, "grace", (int64_t)p->grace_ms);
    }
    text_str(a, map, "state", pilot_state_word(p->state));
    if (p->end != PILOT_END_NONE)
        text_str(a, map, "end", end_words[p->end]);
    if (p->given_back)
        text_bool(a, map, "given_back", true);
    if (p->hears_again)
        text_bool(a, map, "hears_again", true);
    text_str(a, map, "id", p->id);
    text_str(a, map, "in", p->partition);
    text_str(a, map, "nodes", p->nodes);
    text_str(a, map, "reason", p->reason);
    text_int(a, map, "start", (int64_t)p->start_ms);
    text_int(a, map, "ends", (int64_t)p->ends_ms);
    list = text_list(a, map, "hosts");
    for (size_t i = 0; i < p->hosts.n; i++) {
        const struct pilot_host *host = &p->hosts.at[i];
        struct text_node *one = text_map(a, list, NULL);
        text_str(a, one, "slurm", host->slurm);
        text_str(a, one, "name", host->name);
        put_hash(a, one, "token", host->token_hash);
        text_bool(a, one, "gone", host->gone);
    }
    return map;
}

static bool read_hosts(struct pilot *p, const struct text_node *list)
{
    for (const struct text_node *n = list ? list->first : NULL; n; n = n->next) {
        unsigned char hash[32];
        const char *slurm = text_word(n, "slurm"), *name = text_word(n, "name");
        if (!*slurm || !*name || !get_hash(n, "token", hash))
            return false;
        pilot_add_host(p, slurm, name, hash);
        pilot_find_host(p, slurm)->gone = text_flag(n, "gone");
    }
    return true;
}

struct pilot *pilot_of_row(const char *name, const struct text_node *map)
{
    struct arena *arena = arena_create();
    const struct pilot_ask ask = get_ask(arena, text_get(map, "ask"));
    struct pilot *p = pilot_create(name, text_word(map, "nonce"), text_word(map, "by"), &ask);
    size_t state = 0;
    arena_destroy(arena);
    while (state < PILOT_STATE_N &&
           strcmp(pilot_state_word((enum pilot_state)state), text_word(map, "state")) != 0)
        state++;
    p->state = (enum pilot_state)state;
    p->at_ms = text_number(map, "at");
    p->job = text_number(map, "job");
    p->job_number = text_number(map, "job_number");
    p->grace_ms = text_number(map, "grace");
    for (size_t i = 0; i < PILOT_END_N; i++)
        if (strcmp(end_words[i], text_word(map, "end")) == 0)
            p->end = (enum pilot_end)i;
    p->given_back = text_flag(map, "given_back");
    p->hears_again = text_flag(map, "hears_again");
    p->start_ms = text_number(map, "start");
    p->ends_ms = text_number(map, "ends");
    p->submitted = true;
    p->account = account_find(p->arena, map);
    const bool lost =
        text_get(map, "account") && !p->account; /* never as the server in its place */
    set_text(&p->id, text_word(map, "id"));
    set_text(&p->partition, text_word(map, "in"));
    set_text(&p->nodes, text_word(map, "nodes"));
    set_text(&p->reason, text_word(map, "reason"));
    if (state < PILOT_STATE_N && !lost && *p->nonce && get_hash(map, "join", p->join_hash) &&
        read_hosts(p, text_get(map, "hosts")))
        return p;
    pilot_destroy(p);
    return NULL;
}

/* ---- hearing ---- */

static bool change_text(char **to, const char *text)
{
    if (strcmp(*to, text) == 0)
        return false;
    set_text(to, text);
    return true;
}

static enum pilot_end end_of(const struct pilot *p, const struct slurm_job *job)
{
    if (job && job->state == SLURM_CANCELLED)
        return PILOT_END_CANCELLED;
    return job && job->state == SLURM_FAILED && p->hosts.n == 0 ? PILOT_END_FAILED : PILOT_END_LOST;
}

static bool set_over(struct pilot *p, const char *reason)
{
    p->state = PILOT_OVER;
    set_text(&p->nodes, "");
    set_text(&p->reason, reason);
    return true;
}

static const char *why_over(const struct slurm_job *job)
{
    switch (job->state) {
    case SLURM_CANCELLED: return "it was cancelled";
    case SLURM_TIMEOUT: return "its time was over";
    case SLURM_PREEMPTED: return "another job of Slurm took its place";
    case SLURM_LOST: return "a node of it failed";
    case SLURM_FAILED:
        return "its script failed: no directory there lets programs run, or no "
               "node reaches this server";
    default: return "it has ended";
    }
}

/* Its hosts may go on for a while after Slurm has ended it: what they run is not lost before they
 * are silent. */
static bool hear_over(struct pilot *p, const char *why, const struct slurm_job *job,
                      const struct pilot_world *world)
{
    bool changed = p->state != PILOT_ENDING;
    if (!p->given_back)
        p->end = end_of(p, job);
    if (world->reached == 0)
        return set_over(p, p->state == PILOT_ENDING && *p->reason ? p->reason : why);
    p->state = PILOT_ENDING;
    return change_text(&p->reason, why) || changed;
}

void pilot_hear_full(struct pilot *p, const char *why, uint64_t now_ms)
{
    p->full_ms = now_ms;
    p->absent = 0;
    if (p->state == PILOT_SUBMITTING)
        pilot_set_reason(p, "%s", why);
}

/* The sbatch that was ended may have been taken all the same. */
static bool is_wait_over(const struct pilot *p, uint64_t now_ms)
{
    bool back = now_ms < p->full_ms; /* the clock was set back */
    return p->absent >= 2 && (back || now_ms - p->full_ms >= FULL_WAIT_MS);
}

static bool hear_absence(struct pilot *p, const struct pilot_world *world)
{
    bool unsure = !*p->id && world->now_ms < p->at_ms + SUBMIT_MOST_MS;
    if (p->absent < 2)
        p->absent++;
    if (p->full_ms) {
        if (is_wait_over(p, world->now_ms)) {
            p->submitted = false;
            p->full_ms = 0;
            p->absent = 0; /* answers from now on are about the next one */
        }
        return false;
    }
    if (p->absent < 2 || unsure)
        return false;
    if (!*p->id)
        return set_over(p, "it was being submitted when the server ended, and Slurm has none");
    return hear_over(p, "Slurm does not know it any more", NULL, world);
}

/* What Slurm says of a start is a time of the zone that its command runs in, which may be another
 * machine's: good to be shown. Of one that runs it is counted from when that was first heard. */
static bool hear_times(struct pilot *p, const struct slurm_job *job, bool began, uint64_t now_ms)
{
    bool pending = job->state == SLURM_PENDING;
    uint64_t ends = !pending && job->has_left ? now_ms + job->left_ms : 0;
    uint64_t apart = ends > p->ends_ms ? ends - p->ends_ms : p->ends_ms - ends;
    if (pending)
        p->start_ms = job->has_start ? job->start_ms : 0;
    else if (began || p->start_ms == 0)
        p->start_ms = now_ms;
    if (apart < SHIFT_MS)
        return false;
    p->ends_ms = ends;
    return true;
}

bool pilot_hear(struct pilot *p, const struct slurm_job *job, const struct pilot_world *world)
{
    if (p->state == PILOT_OVER)
        return false;
    if (!job)
        return p->submitted && hear_absence(p, world);
    p->absent = 0;
    p->submitted = true; /* its name is nobody else's */
    p->full_ms = 0;
    bool changed = change_text(&p->id, job->id);
    if (slurm_state_is_over(job->state))
        return hear_over(p, why_over(job), job, world) || changed;
    enum pilot_state state = p->state;
    bool began = state < PILOT_RUNNING;
    /* It ended, and Slurm queues it again: this server, and nobody else, cancels it. */
    if (state == PILOT_ENDING && job->state == SLURM_PENDING)
        p->given_back = true;
    if (state != PILOT_ENDING && job->state == SLURM_COMPLETING)
        state = PILOT_ENDING;
    else if (state != PILOT_ENDING)
        state = job->state == SLURM_PENDING ? PILOT_PENDING : PILOT_RUNNING;
    changed = changed || state != p->state;
    p->state = state;
    if (state == PILOT_PENDING)
        set_text(&p->reason, job->reason);
    else if (state == PILOT_RUNNING)
        set_text(&p->reason, job->state == SLURM_STOPPED ? "Slurm has suspended it" : "");
    if (job->state != SLURM_COMPLETING)
        changed = change_text(&p->nodes, job->nodes) || changed;
    changed = change_text(&p->partition, job->partition) || changed;
    return hear_times(p, job, began, world->now_ms) || changed;
}

/* ---- a job's own ---- */

static bool is_late(const struct pilot *p, uint64_t now_ms)
{
    return p->start_ms && now_ms > p->start_ms + JOIN_MOST_MS;
}

/* Nodes of it are lost, or have not come in all that time. */
static bool is_short(const struct pilot *p, uint64_t now_ms)
{
    struct arena *arena = arena_create();
    struct words names = { .n = 0 };
    size_t here = 0;
    bool gone = false;
    for (size_t i = 0; i < p->hosts.n; i++) {
        gone = gone || p->hosts.at[i].gone;
        here += !p->hosts.at[i].gone;
    }
    (void)hostlist_read(arena, p->nodes, &names.at, &names.n, NULL);
    bool missing = is_late(p, now_ms) && here < names.n;
    arena_destroy(arena);
    return gone || missing;
}

/* Where all nodes are there, have been for long, and the job never found its place on them, another
 * allocation is no better: they have not what it asks for and Slurm was not told of. */
static enum pilot_step step_of_running(const struct pilot *p, const struct pilot_need *need,
                                       uint64_t now_ms)
{
    if (!need->lacks)
        return PILOT_STEP_NONE;
    if (is_short(p, now_ms))
        return PILOT_STEP_MOVE;
    return is_late(p, now_ms) && !need->ran ? PILOT_STEP_REFUSE : PILOT_STEP_NONE;
}

/* Where Slurm is still ending one that was not given back, what it says in the end is waited for:
 * whether somebody cancelled it. */
enum pilot_step pilot_next_step(const struct pilot *latest, struct pilot_need need, uint64_t now_ms)
{
    if (!latest)
        return need.wanted ? PILOT_STEP_ASK : PILOT_STEP_NONE;
    if (!need.wanted)
        return latest->state < PILOT_ENDING ? PILOT_STEP_GIVE : PILOT_STEP_NONE;
    if (latest->state == PILOT_RUNNING)
        return step_of_running(latest, &need, now_ms);
    if (latest->state < PILOT_ENDING)
        return PILOT_STEP_NONE;
    if (latest->given_back)
        return PILOT_STEP_ASK;
    switch (latest->end) {
    case PILOT_END_CANCELLED: return PILOT_STEP_STOP;
    case PILOT_END_REFUSED:
    case PILOT_END_FAILED: return PILOT_STEP_REFUSE;
    default: return latest->state == PILOT_OVER ? PILOT_STEP_ASK : PILOT_STEP_NONE;
    }
}

void pilot_say_waiting(const struct pilot *p, char *out, size_t size)
{
    char when[FMT_MAX] = "";
    const uint32_t n = p->ask.nodes;
    const bool said = *p->reason && strcmp(p->reason, "None") != 0;
    const char *reason = said ? p->reason : "it is new there";
    if (p->state == PILOT_RUNNING)
        snprintf(out, size, "allocation %s of Slurm has its nodes (%.100s), which are coming",
                 p->id, p->nodes);
    else if (!*p->id)
        snprintf(out, size, "%u node%s asked of Slurm%s%.160s", n, n == 1 ? " is" : "s are",
                 said ? ": " : "", said ? p->reason : "");
    else if (p->start_ms)
        snprintf(out, size, "allocation %s waits in Slurm (%.60s), which expects it at %s", p->id,
                 reason, fmt_time_local(when, p->start_ms));
    else
        snprintf(out, size, "allocation %s waits in Slurm (%.60s)", p->id, reason);
}
