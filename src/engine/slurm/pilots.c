/* Every two seconds, while there is a pilot that is not over, one squeue tells what became of all
 * of them; the rest follows from that (pilot.h) and from the clock. Before its time is over a pilot
 * is emptied, so that its jobs end by us, with their grace, and not by Slurm. */
#include "engine/slurm/pilots.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "engine/slurm/commands.h"
#include "engine/slurm/partitions.h"
#include "engine/slurm/script.h"
#include "link/joins.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define LOOK_MS      2000u
#define SOON_MS      50u
#define STOP_WAIT_MS 60000u /* for jobs of one that is given back */
#define CANCEL_MS    10000u /* scancel again */
#define SUBMIT_MS    60000u
#define MARGIN_MS    90000u /* before its end, at most; and a tenth of its time */
#define GRACE_MS     30000u /* beside that of the job */
#define SINFO_MS     300000u
#define ASKS_MOST    2048u
#define ASK_LOOKS    3u  /* at Slurm, before a node that it does not name is sent away */
#define OVER_KEPT    20u /* that are over and can still be looked at */

struct entry {
    struct pilots *all;
    struct pilot *pilot;
    char join[65]; /* "": an earlier server's */
    bool busy;     /* its sbatch runs */
    bool asked;    /* the squeue that runs asks for it */
    bool vacated, now;
    bool slurm_over;                /* Slurm has ended it */
    uint64_t stop_ms, cancelled_ms; /* by the loop's clock; 0: not */
    uint64_t idle_ms;               /* since when it has no task */
    bool idle;
    uint64_t lasts_ms; /* as its nodes were told */
    bool told_lasts;
};
struct ask { /* of a node that wants to join */
    uint64_t ticket;
    char *pilot, *node, *allocation;
    unsigned char own_hash[32];
    unsigned looks;
};
struct joining { /* until its row is committed */
    struct pilots *all;
    struct ask ask;
    bool had; /* the node was one before, by this token: */
    unsigned char had_hash[32];
};
struct pilots {
    struct pilots_sink sink;
    uv_loop_t *loop;
    struct slurm_commands *commands;
    struct joins *joins;
    VEC(struct entry *) entries;
    VEC(struct ask) asks;
    VEC(struct joining *) joining;
    struct coming *coming;
    uv_timer_t look;
    bool begun;
    char trouble[256];
    char *sinfo;              /* what it said last; NULL: it was not asked yet, or cannot be */
    uint64_t sinfo_ms;        /* when it was asked; 0: never */
    struct arena *shape_of;   /* texts of: */
    struct slurm_shape shape; /* of the partition looked for last */
    uint64_t pace_ms;         /* of again.h */
    uint32_t uid;             /* of the server's own account */
    bool for_all;             /* squeue was asked for allocations of all accounts */
    size_t named;             /* how many it was asked for by their names, so far */
};

static void look_soon(struct pilots *all, uint64_t ms);
static void on_look(uv_timer_t *timer);

static struct entry *find_entry(const struct pilots *all, const char *name)
{
    for (size_t i = 0; i < all->entries.n; i++)
        if (strcmp(all->entries.at[i]->pilot->name, name) == 0)
            return all->entries.at[i];
    return NULL;
}

static void keep(struct entry *e)
{
    e->all->sink.keep(e->all->sink.arg, e->pilot, NULL, NULL);
}

/* It is a job's own, and something of it changed that the job may be told. */
static void own_changed(const struct entry *e)
{
    if (e->pilot->job)
        e->all->sink.own(e->all->sink.arg);
}

static void set_trouble(struct pilots *all, const struct err *err)
{
    if (strcmp(all->trouble, err->what) != 0)
        log_warn("slurm.trouble", "reason=\"%s\"", err->what);
    snprintf(all->trouble, sizeof all->trouble, "%s", err->what);
}

static uint32_t tasks_of(const struct entry *e)
{
    const struct pilots_sink *sink = &e->all->sink;
    uint32_t n = 0;
    for (size_t i = 0; i < e->pilot->hosts.n; i++)
        if (!e->pilot->hosts.at[i].gone)
            n += sink->tasks(sink->arg, e->pilot->hosts.at[i].name);
    return n;
}

static size_t reached_of(const struct entry *e)
{
    const struct pilots_sink *sink = &e->all->sink;
    size_t n = 0;
    for (size_t i = 0; i < e->pilot->hosts.n; i++)
        n += !e->pilot->hosts.at[i].gone && sink->reached(sink->arg, e->pilot->hosts.at[i].name);
    return n;
}

/* ---- over ---- */

static void remove_host(const struct entry *e, struct pilot_host *host)
{
    host->gone = true;
    e->all->sink.remove(e->all->sink.arg, host);
}

static void forget_old(struct pilots *all)
{
    size_t over = 0;
    for (size_t i = all->entries.n; i-- > 0;) {
        struct entry *e = all->entries.at[i];
        if (e->pilot->state != PILOT_OVER || e->busy || ++over <= OVER_KEPT)
            continue;
        all->sink.drop(all->sink.arg, e->pilot->name);
        pilot_destroy(e->pilot);
        free(e);
        vec_remove(&all->entries, i);
    }
}

static void end_pilot(struct entry *e)
{
    for (size_t i = 0; i < e->pilot->hosts.n; i++)
        if (!e->pilot->hosts.at[i].gone)
            remove_host(e, &e->pilot->hosts.at[i]);
    joins_forbid(e->all->joins, e->pilot->name);
    memset(e->join, 0, sizeof e->join);
    log_info("pilot.over", "pilot=%s allocation=%s reason=\"%s\"", e->pilot->name, e->pilot->id,
             e->pilot->reason);
}

/* ---- submitting ---- */

static void on_submitted(void *arg, const struct slurm_answer *answer)
{
    struct entry *e = arg;
    struct pilot *p = e->pilot;
    struct arena *arena = arena_create();
    struct err err = { .what = "" };
    const char *id = NULL;
    e->busy = false;
    if (answer->text && slurm_read_submitted(arena, answer->text, &id, &err) == 0) {
        free(p->id);
        p->id = mem_strdup(id);
        p->state = p->state == PILOT_SUBMITTING ? PILOT_PENDING : p->state;
        log_info("pilot.submitted", "pilot=%s allocation=%s nodes=%u", p->name, id, p->ask.nodes);
        memset(e->join, 0, sizeof e->join);
    } else if (answer->full) {
        log_warn("pilot.full", "pilot=%s reason=\"%s\"", p->name, answer->err->what);
        pilot_hear_full(p, answer->err->what, clock_wall_ms());
    } else if (answer->down) {
        p->at_ms = clock_wall_ms(); /* it may be there: that is looked for, for a while */
        pilot_set_reason(p, "%s", answer->err->what);
    } else {
        p->state = PILOT_OVER;
        p->end = PILOT_END_REFUSED;
        pilot_set_reason(p, "%s", answer->err ? answer->err->what : err.what);
        end_pilot(e);
    }
    keep(e);
    own_changed(e);
    arena_destroy(arena);
    look_soon(e->all, SOON_MS);
}

static void fail_submit(struct entry *e, const struct err *err)
{
    e->pilot->state = PILOT_OVER;
    e->pilot->end = PILOT_END_REFUSED;
    pilot_set_reason(e->pilot, "%s%s%s", err->what, *err->hint ? "; " : "", err->hint);
    end_pilot(e);
    keep(e);
    own_changed(e);
}

static bool is_of_one_account(const struct pilot *a, const struct pilot *b)
{
    return (a->account ? a->account->ids.uid : 0) == (b->account ? b->account->ids.uid : 0);
}

/* Another one of its account was not taken a moment ago: this one is not even tried. */
static bool say_full(struct entry *e)
{
    for (size_t i = 0; i < e->all->entries.n; i++) {
        const struct pilot *other = e->all->entries.at[i]->pilot;
        if (!other->full_ms || other->state != PILOT_SUBMITTING ||
            !is_of_one_account(other, e->pilot))
            continue;
        if (strcmp(e->pilot->reason, other->reason) != 0) {
            pilot_set_reason(e->pilot, "%s", other->reason);
            own_changed(e);
        }
        return true;
    }
    return false;
}

/* A script that is read from stdin: the commands may run on another machine. */
static void submit(struct entry *e)
{
    struct pilots *all = e->all;
    AUTO_BUF struct buf script = BUF_INIT(SLURM_SCRIPT_MAX);
    struct err err;
    if (e->pilot->submitted || !*e->join ||
        slurm_is_busy(all->commands, SLURM_SBATCH, e->pilot->account) || say_full(e))
        return;
    int rc = all->sink.script(all->sink.arg, e->pilot, e->join, &script, &err);
    if (rc == 0)
        return;
    struct arena *arena = arena_create();
    if (rc > 0)
        rc = slurm_run(all->commands,
                       &(struct slurm_call){ .command = SLURM_SBATCH,
                                             .args = pilot_sbatch(arena, e->pilot),
                                             .input = script.data,
                                             .input_len = script.len,
                                             .as = e->pilot->account,
                                             .limit_ms = SUBMIT_MS,
                                             .done = on_submitted,
                                             .arg = e },
                       &err) == 0
                 ? 1
                 : -1;
    arena_destroy(arena);
    e->pilot->submitted = e->busy = rc > 0;
    if (rc < 0) {
        fail_submit(e, &err);
        return;
    }
    e->pilot->at_ms = clock_wall_ms(); /* a later server looks for it from then on */
    keep(e);
}

/* ---- giving back ---- */

static void on_cancelled(void *arg, const struct slurm_answer *answer)
{
    struct pilots *all = arg;
    if (answer->err && !answer->unknown)
        log_warn("pilot.cancel", "reason=\"%s\"", answer->err->what);
    look_soon(all, SOON_MS);
}

/* signal: of the batch script; NULL: all of it ends. A controller that was killed gives numbers
 * that it forgot to other jobs, so it goes by the name, too. */
static void scancel(struct entry *e, const char *signal)
{
    struct err err;
    AUTO_FREE char *name = mem_printf("--name=" PILOT_JOB_NAME "%s", e->pilot->nonce);
    const char *args[] = { name, signal ? "--batch" : e->pilot->id, signal, e->pilot->id, NULL };
    const struct slurm_call call = { .command = SLURM_SCANCEL,
                                     .args = args,
                                     .as = e->pilot->account,
                                     .done = on_cancelled,
                                     .arg = e->all };
    if (slurm_run(e->all->commands, &call, &err) < 0)
        log_warn("pilot.cancel", "reason=\"%s\"", err.what);
}

/* Where nothing runs any more the batch script is asked first: it ends well then, and Slurm counts
 * what it ran as completed. One that does not is cancelled with the next try. */
static void cancel(struct entry *e, bool empty)
{
    const uint64_t now = uv_now(e->all->loop);
    const bool asks = empty && !e->cancelled_ms && *e->pilot->nodes;
    if (!*e->pilot->id || e->slurm_over ||
        slurm_is_busy(e->all->commands, SLURM_SCANCEL, e->pilot->account) ||
        (e->cancelled_ms && now - e->cancelled_ms < CANCEL_MS))
        return;
    e->cancelled_ms = now ? now : 1;
    scancel(e, asks ? "--signal=USR1" : NULL);
}

static void vacate(struct entry *e)
{
    if (e->vacated)
        return;
    e->vacated = true;
    e->stop_ms = uv_now(e->all->loop);
    e->all->sink.vacate(e->all->sink.arg, e->pilot, e->pilot->reason);
}

static void give_back(struct entry *e, const char *why)
{
    e->pilot->state = PILOT_ENDING;
    e->pilot->given_back = true;
    pilot_set_reason(e->pilot, "%s", why);
    log_info("pilot.ending", "pilot=%s allocation=%s reason=\"%s\"", e->pilot->name, e->pilot->id,
             why);
    keep(e);
    vacate(e);
}

/* One that is being given back: as soon as nothing runs there, or when that has had its time. */
static void go_on_ending(struct entry *e)
{
    struct pilot *p = e->pilot;
    if (!p->submitted && !e->busy) {
        p->state = PILOT_OVER;
        end_pilot(e);
        keep(e);
        return;
    }
    vacate(e);
    const bool empty = tasks_of(e) == 0;
    if (e->now || empty || uv_now(e->all->loop) - e->stop_ms > STOP_WAIT_MS)
        cancel(e, empty);
}

/* ---- time ---- */

static uint64_t margin_of(const struct pilot *p)
{
    uint64_t whole = p->ends_ms > p->start_ms && p->start_ms ? p->ends_ms - p->start_ms : 0;
    uint64_t margin = MARGIN_MS > p->grace_ms + GRACE_MS ? MARGIN_MS : p->grace_ms + GRACE_MS;
    uint64_t part = p->job ? whole / 2 : whole / 10;
    return part < margin ? part : margin;
}

/* Rounded down, so that nodes are not news all the time. */
static uint64_t round_lasts(uint64_t ms)
{
    const uint64_t step = ms > 8 * 3600000ull ? 900000 : ms > 3600000 ? 300000 : 60000;
    return ms > step ? ms - ms % step : ms - ms % 5000;
}

static void tell_lasts(struct entry *e, bool again)
{
    uint64_t left;
    if (e->pilot->job) /* it was asked for as long as the job may run */
        return;
    if (!pilot_left(e->pilot, clock_wall_ms(), &left))
        return;
    uint64_t margin = margin_of(e->pilot), lasts = left > margin ? round_lasts(left - margin) : 0;
    if (e->told_lasts && lasts == e->lasts_ms && !again)
        return;
    e->told_lasts = true;
    e->lasts_ms = lasts;
    for (size_t i = 0; i < e->pilot->hosts.n; i++)
        if (!e->pilot->hosts.at[i].gone)
            e->all->sink.limit(e->all->sink.arg, &e->pilot->hosts.at[i], lasts);
}

static bool is_idle_for_too_long(struct entry *e)
{
    const uint64_t now = uv_now(e->all->loop);
    if (!e->pilot->ask.idle_ms || reached_of(e) == 0 || tasks_of(e) > 0) {
        e->idle = false;
        return false;
    }
    if (!e->idle)
        e->idle_ms = now;
    e->idle = true;
    return now - e->idle_ms >= e->pilot->ask.idle_ms;
}

/* Nodes that Slurm has taken from it, and that are silent; also all of them: a controller that was
 * killed soon after a start has forgotten it, and starts the same allocation again elsewhere. */
static void remove_lost(struct entry *e)
{
    const struct pilots_sink *sink = &e->all->sink;
    bool any = false;
    if (!*e->pilot->nodes && e->pilot->state != PILOT_PENDING)
        return;
    for (size_t i = 0; i < e->pilot->hosts.n; i++) {
        struct pilot_host *host = &e->pilot->hosts.at[i];
        if (host->gone || sink->reached(sink->arg, host->name) ||
            pilot_has_node(e->pilot, host->slurm))
            continue;
        log_warn("pilot.node", "pilot=%s node=%s note=\"Slurm has taken it from the allocation\"",
                 e->pilot->name, host->name);
        remove_host(e, host);
        any = true;
    }
    if (any) {
        keep(e);
        own_changed(e);
    }
}

/* Nodes that Slurm says are there, and that are silent: of those that may be back, one at a time.
 * What is known of the old host and its tasks stays as it is, until there is a new one. */
static void start_again(struct entry *e)
{
    struct pilots *all = e->all;
    const uint64_t now = uv_now(all->loop);
    struct pilot_host *due = NULL;
    for (size_t i = 0; i < e->pilot->hosts.n; i++) {
        struct pilot_host *host = &e->pilot->hosts.at[i];
        const bool silent = !host->gone && e->pilot->hears_again &&
                            !all->sink.reached(all->sink.arg, host->name) &&
                            pilot_has_node(e->pilot, host->slurm);
        if (again_is_due(&host->again, silent, all->pace_ms, now) &&
            (!due || host->again.tries < due->again.tries))
            due = host;
    }
    if (!due || *all->trouble || slurm_is_busy(all->commands, SLURM_SCANCEL, e->pilot->account))
        return;
    again_tell(&due->again, now);
    log_info("pilot.again", "pilot=%s node=%s try=%u note=\"it is silent, and Slurm has it\"",
             e->pilot->name, due->name, due->again.tries);
    scancel(e, "--signal=USR2");
}

static void go_on_running(struct entry *e)
{
    uint64_t left;
    remove_lost(e);
    start_again(e);
    tell_lasts(e, false);
    if (pilot_left(e->pilot, clock_wall_ms(), &left) && left <= margin_of(e->pilot))
        give_back(e, "its time is nearly over");
    else if (is_idle_for_too_long(e))
        give_back(e, "it had no task for as long as it may");
}

/* ---- nodes that are to come ---- */

static void on_sinfo(void *arg, const struct slurm_answer *answer)
{
    struct pilots *all = arg;
    if (!answer->text) {
        set_trouble(all, answer->err);
        return;
    }
    free(all->sinfo);
    all->sinfo = mem_strdup(answer->text);
    all->sink.own(all->sink.arg);
}

const char *pilots_sinfo(struct pilots *all)
{
    static const char *const args[] = { "-h", "-o", SLURM_SINFO_FORMAT, NULL };
    const uint64_t now = uv_now(all->loop);
    struct err err;
    if (slurm_is_busy(all->commands, SLURM_SINFO, NULL) ||
        (all->sinfo_ms && now - all->sinfo_ms < (all->sinfo ? SINFO_MS : LOOK_MS)))
        return all->sinfo;
    all->sinfo_ms = now ? now : 1;
    if (slurm_run(all->commands,
                  &(struct slurm_call){
                      .command = SLURM_SINFO, .args = args, .done = on_sinfo, .arg = all },
                  &err) < 0)
        log_warn("slurm.sinfo", "reason=\"%s\"", err.what);
    return all->sinfo;
}

static bool know_shape(struct pilots *all, const char *partition)
{
    const char *sinfo = pilots_sinfo(all);
    arena_reset(all->shape_of);
    return sinfo && slurm_read_shape(all->shape_of, sinfo, partition, NULL, &all->shape);
}

static size_t hosts_of(const struct pilot *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->hosts.n; i++)
        n += !p->hosts.at[i].gone || p->state == PILOT_RUNNING; /* one that it lost stays lost */
    return n;
}

static void expect_nodes(struct pilots *all)
{
    size_t n = 0;
    for (size_t i = 0; i < all->entries.n; i++) {
        const struct pilot *p = all->entries.at[i]->pilot;
        const size_t there = hosts_of(p);
        if (p->job || p->state > PILOT_RUNNING || there >= p->ask.nodes)
            continue;
        if (!know_shape(all, p->ask.partition))
            return;
        for (size_t j = there; j < p->ask.nodes && coming_set(all->coming, n, p, &all->shape); j++)
            n++;
    }
    coming_clear(all->coming, n);
}

/* ---- nodes that join ---- */

static void free_ask(struct ask *ask)
{
    free(ask->pilot);
    free(ask->node);
    free(ask->allocation);
}

static void drop_ask(struct pilots *all, size_t i)
{
    free_ask(&all->asks.at[i]);
    vec_remove(&all->asks, i);
}

static void free_joining(struct joining *j)
{
    free_ask(&j->ask);
    free(j);
}

/* One that has gone meanwhile is no node of it: it has been lost, or the pilot is over. */
static void add_joined(struct entry *e, const struct ask *ask)
{
    struct pilots *all = e->all;
    struct pilot_host *host = pilot_find_host(e->pilot, ask->node);
    if (!host || host->gone)
        return;
    host->again = (struct again){ .silent = false };
    all->sink.add(all->sink.arg, e->pilot, host);
    tell_lasts(e, true);
    own_changed(e);
    joins_answer(all->joins, ask->ticket, host->name, "");
    expect_nodes(all);
    log_info("pilot.joined", "pilot=%s node=%s", e->pilot->name, host->name);
}

/* Its row was not committed, so it is no node of the pilot; it is let in with one of the next looks
 * at Slurm, unless it has gone. */
static void join_again(struct entry *e, struct joining *j)
{
    struct pilots *all = e->all;
    struct ask *ask = &j->ask;
    struct pilot_host *host = pilot_find_host(e->pilot, ask->node);
    log_warn("pilot.joining", "pilot=%s node=%s note=\"its row cannot be kept, it waits\"",
             e->pilot->name, ask->node);
    if (j->had && host)
        memcpy(host->token_hash, j->had_hash, sizeof host->token_hash);
    else
        pilot_drop_host(e->pilot, ask->node);
    if (all->asks.n == ASKS_MOST)
        return;
    ask->looks = 0;
    vec_push(&all->asks, *ask);
    *ask = (struct ask){ .ticket = 0 };
}

static void on_joined(void *arg, bool kept)
{
    struct joining *j = arg;
    struct pilots *all = j->all;
    struct entry *e = find_entry(all, j->ask.pilot);
    for (size_t i = 0; i < all->joining.n; i++)
        if (all->joining.at[i] == j) {
            vec_remove(&all->joining, i);
            break;
        }
    if (e && kept)
        add_joined(e, &j->ask);
    else if (e)
        join_again(e, j);
    free_joining(j);
}

/* before: the node as it was until now, whose name it keeps; NULL: it is new. */
static void let_in(struct entry *e, const struct ask *ask, const struct pilot_host *before)
{
    struct pilots *all = e->all;
    char name[300];
    struct joining *j = mem_new(sizeof *j);
    *j = (struct joining){ .all = all, .ask = *ask, .had = before != NULL };
    if (before)
        memcpy(j->had_hash, before->token_hash, sizeof j->had_hash);
    snprintf(name, sizeof name, "%s", before ? before->name : ask->node);
    /* One that joins another pilot at this moment is no node yet, and has its name. */
    if (!before && (pilots_of_node(all, name) || all->sink.taken(all->sink.arg, name)))
        snprintf(name, sizeof name, "%.200s.%.60s", ask->node, e->pilot->name);
    pilot_add_host(e->pilot, ask->node, name, ask->own_hash);
    j->ask.pilot = mem_strdup(ask->pilot);
    j->ask.node = mem_strdup(ask->node);
    j->ask.allocation = mem_strdup(ask->allocation);
    vec_push(&all->joining, j);
    all->sink.keep(all->sink.arg, e->pilot, on_joined, j);
}

/* Its row is on its way: until that is there it may yet be none. */
static bool is_joining(const struct pilots *all, const struct ask *ask)
{
    for (size_t i = 0; i < all->joining.n; i++) {
        const struct ask *other = &all->joining.at[i]->ask;
        if (strcmp(other->pilot, ask->pilot) == 0 && strcmp(other->node, ask->node) == 0)
            return true;
    }
    return false;
}

/* It was started again, and has found nothing of the host before it (node/earlier.h). */
static bool may_replace(const struct entry *e, const struct pilot_host *host)
{
    const struct pilots_sink *sink = &e->all->sink;
    return host->again.tries && !sink->reached(sink->arg, host->name);
}

/* true: it was answered, or will be. */
static bool try_ask(struct pilots *all, struct ask *ask)
{
    struct entry *e = find_entry(all, ask->pilot);
    if (!e || e->pilot->state >= PILOT_ENDING) {
        joins_answer(all->joins, ask->ticket, NULL, "its allocation is being given back");
        return true;
    }
    if (*e->pilot->id && strcmp(e->pilot->id, ask->allocation) != 0) {
        joins_answer(all->joins, ask->ticket, NULL, "its allocation is another one");
        return true;
    }
    struct pilot_host *host = pilot_find_host(e->pilot, ask->node);
    if (host && host->gone)
        host = NULL; /* it may come again */
    const bool other = host && memcmp(host->token_hash, ask->own_hash, 32) != 0;
    if (other && (!may_replace(e, host) || is_joining(all, ask))) {
        log_warn("pilot.twice", "pilot=%s node=%s note=\"it has joined already\"", e->pilot->name,
                 ask->node);
        joins_answer(all->joins, ask->ticket, NULL, "that node has joined already");
        return true;
    }
    if (host && is_joining(all, ask))
        return false;
    if (host && !other) {
        joins_answer(all->joins, ask->ticket, host->name, "");
        return true;
    }
    if (*e->pilot->id && pilot_has_node(e->pilot, ask->node)) {
        let_in(e, ask, host);
        return true;
    }
    if (ask->looks < ASK_LOOKS)
        return false;
    joins_answer(all->joins, ask->ticket, NULL, "Slurm does not name it as one of the allocation");
    return true;
}

static void try_asks(struct pilots *all)
{
    for (size_t i = 0; i < all->asks.n;) {
        all->asks.at[i].looks++;
        if (try_ask(all, &all->asks.at[i]))
            drop_ask(all, i);
        else
            i++;
    }
}

/* The batch script was told that a node is to be started again, and asks which: by its name in
 * Slurm, with what it is known by. */
static void name_silent(struct pilots *all, const struct joins_ask *asked)
{
    const struct entry *e = find_entry(all, asked->name);
    char hex[65];
    for (size_t i = 0; e && e->pilot->state == PILOT_RUNNING && i < e->pilot->hosts.n; i++) {
        struct pilot_host *host = &e->pilot->hosts.at[i];
        if (host->gone || host->again.named || !may_replace(e, host))
            continue;
        host->again.named = true;
        sodium_bin2hex(hex, sizeof hex, host->token_hash, sizeof host->token_hash);
        joins_answer(all->joins, asked->ticket, host->slurm, hex);
        return;
    }
    joins_answer(all->joins, asked->ticket, NULL, "no node is to be started again");
}

static void on_ask(void *arg, const struct joins_ask *asked)
{
    struct pilots *all = arg;
    if (!*asked->node) {
        name_silent(all, asked);
        return;
    }
    struct ask ask = { .ticket = asked->ticket,
                       .pilot = mem_strdup(asked->name),
                       .node = mem_strdup(asked->node),
                       .allocation = mem_strdup(asked->allocation) };
    memcpy(ask.own_hash, asked->own_hash, sizeof ask.own_hash);
    if (all->asks.n == ASKS_MOST || try_ask(all, &ask)) {
        free_ask(&ask);
        return;
    }
    vec_push(&all->asks, ask);
    look_soon(all, SOON_MS);
}

/* ---- looking ---- */

static void go_on(struct entry *e)
{
    if (e->pilot->state == PILOT_SUBMITTING)
        submit(e);
    else if (e->pilot->state == PILOT_PENDING)
        remove_lost(e);
    else if (e->pilot->state == PILOT_RUNNING)
        go_on_running(e);
    else if (e->pilot->state == PILOT_ENDING)
        go_on_ending(e);
}

static void hear(struct entry *e, const struct slurm_jobs *jobs)
{
    AUTO_FREE char *name = mem_printf(PILOT_JOB_NAME "%s", e->pilot->nonce);
    const struct account *account = e->pilot->account;
    const struct slurm_search wanted = { .id = e->pilot->id,
                                         .name = name,
                                         .uid = account           ? &account->ids.uid
                                                : e->all->for_all ? &e->all->uid
                                                                  : NULL };
    const struct slurm_job *job = slurm_find_job(jobs, &wanted);
    e->slurm_over = job ? slurm_state_is_over(job->state) : e->pilot->absent > 0;
    const struct pilot_world world = { .now_ms = clock_wall_ms(),
                                       .reached =
                                           e->slurm_over && tasks_of(e) == 0 ? 0 : reached_of(e) };
    if (e->busy)
        return;
    if (pilot_hear(e->pilot, job, &world)) {
        if (e->pilot->state == PILOT_OVER)
            end_pilot(e);
        keep(e);
    }
    own_changed(e);
}

static void on_jobs(void *arg, const struct slurm_answer *answer)
{
    struct pilots *all = arg;
    if (!answer->text) {
        set_trouble(all, answer->err);
        return;
    }
    struct arena *arena = arena_create();
    struct slurm_jobs jobs;
    all->trouble[0] = '\0';
    slurm_read_jobs(arena, answer->text, &jobs);
    for (size_t i = 0; i < all->entries.n; i++)
        if (all->entries.at[i]->asked)
            hear(all->entries.at[i], &jobs);
    arena_destroy(arena);
    try_asks(all);
    expect_nodes(all);
    forget_old(all);
}

#define NAMES_MOST 100000u /* bytes: a word of a command may have 131072 */

/* The names of those that are not over, of some in turn where these are too many. Slurm lists no
 * other job then: the name of a stranger's may have lines in it that look like those of ours. */
static char *name_all(struct pilots *all)
{
    AUTO_BUF struct buf out = BUF_INIT(NAMES_MOST + 256);
    const size_t first = all->entries.n ? all->named % all->entries.n : 0;
    for (size_t i = 0; i < all->entries.n; i++) {
        struct entry *e = all->entries.at[(first + i) % all->entries.n];
        e->asked = e->pilot->state != PILOT_OVER && out.len < NAMES_MOST;
        if (e->asked)
            buf_addf(&out, "%s" PILOT_JOB_NAME "%s", out.len ? "," : "--name=", e->pilot->nonce);
        all->named += e->asked;
    }
    return mem_strdup(buf_str(&out));
}

static bool has_accounts(const struct pilots *all)
{
    for (size_t i = 0; i < all->entries.n; i++)
        if (all->entries.at[i]->pilot->account && all->entries.at[i]->pilot->state != PILOT_OVER)
            return true;
    return false;
}

/* Those of other accounts are asked for by their names. */
static void ask_slurm(struct pilots *all)
{
    struct err err;
    if (slurm_is_busy(all->commands, SLURM_SQUEUE, NULL))
        return;
    all->for_all = has_accounts(all);
    for (size_t i = 0; i < all->entries.n; i++)
        all->entries.at[i]->asked = true;
    AUTO_FREE char *whose = all->for_all ? name_all(all) : mem_strdup("--me");
    const char *args[] = { whose, "-h", "-t", "all", "-o", SLURM_SQUEUE_FORMAT, NULL };
    if (slurm_run(all->commands,
                  &(struct slurm_call){
                      .command = SLURM_SQUEUE, .args = args, .done = on_jobs, .arg = all },
                  &err) < 0)
        on_jobs(all, &(struct slurm_answer){ .err = &err, .down = true });
}

uint64_t pilots_count(const struct pilots *all)
{
    uint64_t n = 0;
    for (size_t i = 0; i < all->entries.n; i++)
        n += all->entries.at[i]->pilot->state != PILOT_OVER;
    return n;
}

static void on_look(uv_timer_t *timer)
{
    struct pilots *all = timer->data;
    for (size_t i = 0; i < all->entries.n; i++)
        go_on(all->entries.at[i]);
    if (pilots_count(all) == 0) {
        expect_nodes(all);
        return;
    }
    ask_slurm(all);
    look_soon(all, LOOK_MS);
}

static void look_soon(struct pilots *all, uint64_t ms)
{
    if (!all->begun ||
        (uv_is_active((uv_handle_t *)&all->look) && uv_timer_get_due_in(&all->look) <= ms))
        return;
    uv_timer_start(&all->look, on_look, ms, 0);
}

/* ---- the whole ---- */

static struct entry *add_entry(struct pilots *all, struct pilot *p)
{
    struct entry *e = mem_new(sizeof *e);
    *e = (struct entry){ .all = all, .pilot = p };
    vec_push(&all->entries, e);
    if (p->state != PILOT_OVER)
        joins_allow(all->joins, p->name, p->join_hash);
    return e;
}

void pilots_load(struct pilots *all, struct pilot *p)
{
    struct entry *e = add_entry(all, p);
    for (size_t i = 0; i < p->hosts.n && p->state != PILOT_OVER; i++)
        if (!p->hosts.at[i].gone)
            all->sink.add(all->sink.arg, p, &p->hosts.at[i]);
    tell_lasts(e, true);
}

void pilots_begin(struct pilots *all)
{
    all->begun = true;
    coming_find(all->coming);
    look_soon(all, SOON_MS);
}

void pilots_start(struct pilots *all, struct pilot *p, const char *join)
{
    struct entry *e = add_entry(all, p);
    snprintf(e->join, sizeof e->join, "%s", join);
    look_soon(all, 0);
}

bool pilots_give_back(struct pilots *all, const char *name, const char *why, bool now)
{
    struct entry *e = find_entry(all, name);
    if (!e || e->pilot->state == PILOT_OVER)
        return false;
    e->now = e->now || now;
    if (e->pilot->state != PILOT_ENDING)
        give_back(e, why);
    look_soon(all, now ? 0 : SOON_MS);
    return true;
}

bool pilots_stop(struct pilots *all, const char *name, const char *by, bool now)
{
    char why[160];
    snprintf(why, sizeof why, "stopped by %.100s", by);
    return pilots_give_back(all, name, why, now);
}

/* Of "p12": later ones have higher numbers, whatever becomes of the clock. */
static uint64_t number_of(const struct pilot *p)
{
    uint64_t number;
    return scan_u64(p->name + 1, 0, UINT64_MAX, &number) ? number : 0;
}

const struct pilot *pilots_of_job(const struct pilots *all, uint64_t job)
{
    const struct pilot *latest = NULL;
    for (size_t i = 0; i < all->entries.n; i++) {
        const struct pilot *p = all->entries.at[i]->pilot;
        if (p->job == job && (!latest || number_of(p) > number_of(latest)))
            latest = p;
    }
    return latest;
}

const struct pilot *pilots_at(const struct pilots *all, size_t i)
{
    return i < all->entries.n ? all->entries.at[i]->pilot : NULL;
}

const struct pilot *pilots_find(const struct pilots *all, const char *name)
{
    const struct entry *e = find_entry(all, name);
    return e ? e->pilot : NULL;
}

const struct pilot *pilots_of_node(const struct pilots *all, const char *node)
{
    for (size_t i = 0; i < all->entries.n; i++) {
        const struct pilot *p = all->entries.at[i]->pilot;
        for (size_t j = 0; j < p->hosts.n && p->state != PILOT_OVER; j++)
            if (!p->hosts.at[j].gone && strcmp(p->hosts.at[j].name, node) == 0)
                return p;
    }
    return NULL;
}

const char *pilots_trouble(const struct pilots *all)
{
    return all->trouble;
}

struct pilots *pilots_create(const struct pilots_config *config)
{
    struct pilots *all = mem_new(sizeof *all);
    all->sink = config->sink;
    all->loop = config->loop;
    all->pace_ms = config->pace_ms ? config->pace_ms : AGAIN_PACE_MS;
    all->shape_of = arena_create();
    all->uid = (uint32_t)geteuid();
    all->commands = slurm_commands_create(config->loop, &config->site);
    all->coming = coming_create(&(struct coming_sink){
        .expect = config->sink.expect, .taken = config->sink.taken, .arg = config->sink.arg });
    all->joins = joins_create(config->link, (struct joins_sink){ .ask = on_ask, .arg = all });
    uv_timer_init(config->loop, &all->look);
    all->look.data = all;
    return all;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void pilots_destroy(struct pilots *all)
{
    if (!all)
        return;
    slurm_commands_destroy(all->commands);
    joins_destroy(all->joins);
    for (size_t i = 0; i < all->entries.n; i++) {
        pilot_destroy(all->entries.at[i]->pilot);
        free(all->entries.at[i]);
    }
    for (size_t i = 0; i < all->asks.n; i++)
        free_ask(&all->asks.at[i]);
    for (size_t i = 0; i < all->joining.n; i++)
        free_joining(all->joining.at[i]);
    vec_fini(&all->entries);
    vec_fini(&all->asks);
    vec_fini(&all->joining);
    coming_destroy(all->coming);
    arena_destroy(all->shape_of);
    free(all->sinfo);
    uv_close((uv_handle_t *)&all->look, on_closed);
}
