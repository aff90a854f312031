/* What happens in a trial, drawn step by step from its seed: commands, time, faults, deaths. The
 * weights are a table. */
#include "ctl/test/faults/trial.h"

#include "access/job_identity.h"
#include "base/mem.h"
#include "ctl/account.h"
#include "ctl/core.h"

#include <stdio.h>
#include <string.h>

#define QUIET_DAYS 5u
#define DAY_MS     86400000u
#define HOUR_MS    3600000u

static uint32_t below(struct trial *t, uint32_t n)
{
    return dice_below(&t->dice, n);
}

static void pass(struct trial *t, uint64_t ms)
{
    t->now_ms += ms;
    t->mono_us += ms * 1000;
}

/* ---- one step each ---- */

static void submit(struct trial *t)
{
    for (uint32_t n = 1 + below(t, 2); n > 0; n--)
        clients_submit(&t->clients, t->ctl);
    trial_say(t, "submit %s", t->clients.said);
}

static void command(struct trial *t)
{
    *t->clients.said = '\0';
    clients_command(&t->clients, t->ctl);
    trial_say(t, "%s", t->clients.said);
}

static void agent_acts(struct trial *t)
{
    const char *did = agents_act(&t->agents);
    trial_say(t, "agent: %s", did ? did : "nothing");
    const char *sent = did && below(t, 3) ? agents_send(&t->agents) : NULL;
    if (sent)
        trial_say(t, "sent: %s", sent);
}

static void facts_come(struct trial *t)
{
    for (uint32_t n = 1 + below(t, 4); n > 0; n--) {
        const char *sent = agents_send(&t->agents);
        trial_say(t, "sent: %s", sent ? sent : "nothing");
    }
}

static void time_passes(struct trial *t)
{
    uint64_t ms = below(t, 3) ? 1 + below(t, 3000) : 1 + below(t, 60000);
    pass(t, ms);
    trial_say(t, "time passes: %llu ms", (unsigned long long)ms);
}

static void clock_jumps(struct trial *t)
{
    uint64_t ms = below(t, 2) ? below(t, 10000) : below(t, DAY_MS);
    bool back = below(t, 2);
    t->now_ms = back ? t->now_ms - ms : t->now_ms + ms;
    trial_say(t, "the clock is set %s by %llu ms", back ? "back" : "forward",
              (unsigned long long)ms);
}

/* The machine was away for a while. Its wall clock went on meanwhile, but for some whose battery is
 * empty or whose clock is set before the server starts. */
static void reboot(struct trial *t)
{
    uint64_t away = below(t, 3) ? below(t, 60000) : below(t, DAY_MS);
    t->boot++;
    t->mono_us = 1000000ull * (1 + below(t, 100));
    t->now_ms += away;
    trial_say(t, "the machine starts anew after %llu ms", (unsigned long long)away);
    if (below(t, 3) == 0)
        clock_jumps(t);
}

static void agent_dies(struct trial *t)
{
    const char *died = agents_kill(&t->agents);
    trial_say(t, "%s", died ? died : "no agent dies");
}

static void connection_breaks(struct trial *t)
{
    agents_cut(&t->agents);
    trial_say(t, "a connection breaks, or comes back");
}

static void node_turns(struct trial *t)
{
    uint32_t node = below(t, (uint32_t)t->agents.n_nodes);
    const char *did = agents_node(&t->agents, node);
    trial_say(t, "node %s %s", t->agents.nodes[node].name, did);
}

static void node_drains(struct trial *t)
{
    clients_node(&t->clients, t->ctl, t->agents.nodes[below(t, (uint32_t)t->agents.n_nodes)].name);
    trial_say(t, "%s", t->clients.said);
}

static void launches_fail(struct trial *t)
{
    t->agents.refuse = 1 + below(t, 3);
    trial_say(t, "%u launches will be refused", t->agents.refuse);
}

static void disk_fails(struct trial *t)
{
    struct disk *disk = &t->bench->disk;
    disk->fail_in = 1 + below(t, 30);
    disk->fails = below(t, 3) ? below(t, 3) : below(t, 40);
    disk->how = (enum disk_failure)below(t, DISK_FAILURES);
    if (below(t, 4) == 0)
        t->crash.in = 1 + below(t, 60); /* while it fails, or soon after */
    t->faulty = true;
    trial_say(t, "the disk will fail at write or sync %u and %u after it", disk->fail_in,
              disk->fails);
}

/* What is known of a silence is tried by commits that fail while it lasts. */
static void silence_falls(struct trial *t)
{
    trial_say(t, "%s", agents_silence(&t->agents));
    if (below(t, 4) == 0)
        disk_fails(t);
}

static void disk_fills(struct trial *t)
{
    struct disk *disk = &t->bench->disk;
    disk->full = !disk->full;
    disk->room = 0;
    t->faulty = true;
    trial_say(t, "the disk is %s", disk->full ? "full" : "not full any more");
}

static void arm(struct trial *t)
{
    t->crash.in = 1 + below(t, 3 + below(t, 60));
    trial_say(t, "the server will die at point %u", t->crash.in);
}

static bool at_rest(const struct trial *t)
{
    return turn_idle(t->ctl) && !t->ctl->unwritten && t->ctl->facts.n == 0;
}

static void restart(struct trial *t)
{
    uint32_t how = below(t, 4);
    buf_clear(&t->before);
    if (at_rest(t))
        check_state(t, &t->before);
    trial_say(t, "%s",
              how == 0  ? "the server ends"
              : how < 3 ? "the server dies"
                        : "the power fails");
    if (how == 0)
        server_end(t);
    else
        server_die(t, how == 3);
    if (how == 3 || below(t, 4) == 0)
        reboot(t);
}

static void show_token(struct trial *t)
{
    if (t->agents.tokens.n == 0)
        return;
    const struct token *token = &t->agents.tokens.at[below(t, (uint32_t)t->agents.tokens.n)];
    struct arena *arena = arena_create();
    struct identity who;
    struct err err;
    struct job_row row;
    bool good = identify_by_job_token(ctl_access(t->ctl), arena, token->text, &who, &err) == 0;
    bool lives = store_get_lean_job(t->store, arena, token->generation.job, &row, NULL) == 1 &&
                 job_state_holds(row.state) && row.generation == token->generation.number;
    trial_say(t, "a token of generation %u is %s", token->generation.number,
              good ? "good" : "refused");
    if (good != lives && at_rest(t))
        trial_wrong(t, "a token of generation %u is %s, the generation %s",
                    token->generation.number, good ? "accepted" : "refused",
                    lives ? "lives" : "does not live");
    arena_destroy(arena);
}

static const struct {
    void (*run)(struct trial *);
    unsigned weight;
} kinds[] = {
    { submit, 24 },       { command, 28 },    { agent_acts, 92 },   { facts_come, 32 },
    { time_passes, 24 },  { clock_jumps, 2 }, { agent_dies, 4 },    { connection_breaks, 4 },
    { node_turns, 4 },    { node_drains, 2 }, { launches_fail, 2 }, { disk_fails, 2 },
    { disk_fills, 2 },    { arm, 3 },         { restart, 2 },       { show_token, 4 },
    { silence_falls, 4 },
};

/* A dead server is followed by another one, which may die as well. */
static void follow(struct trial *t)
{
    if (t->ctl && !t->crash.dead)
        return;
    if (t->ctl) {
        bool power = below(t, 2);
        trial_say(t, "the server is dead%s", power ? ", the power fails" : "");
        buf_clear(&t->before);
        server_die(t, power);
        if (power)
            reboot(t);
    }
    if (below(t, 6) == 0)
        t->crash.in = 1 + below(t, 60);
    for (unsigned tries = 0; !server_open(t) && !*t->wrong; tries++) {
        bool power = below(t, 2);
        buf_clear(&t->before);
        server_die(t, power);
        if (power)
            reboot(t);
        if (tries > 0) { /* what it cannot begin with stays as it is */
            disk_heal(&t->bench->disk);
            t->faulty = false;
        }
    }
    if (!*t->wrong)
        check_start(t);
}

static void step(struct trial *t)
{
    unsigned sum = 0, drawn;
    size_t i = 0;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        sum += kinds[k].weight;
    for (drawn = below(t, sum); drawn >= kinds[i].weight; i++)
        drawn -= kinds[i].weight;
    t->steps++;
    pass(t, 1 + below(t, 50));
    t->agents.now_ms = t->now_ms;
    kinds[i].run(t);
    uint64_t refused = t->ctl && !t->crash.dead ? t->ctl->counters.commits_failed : 0;
    if (t->ctl && !t->crash.dead)
        server_turn(t);
    /* What a failed commit left is read only by the server that begins next. */
    if (t->ctl && t->ctl->counters.commits_failed > refused && below(t, 8) == 0)
        t->crash.dead = true;
    follow(t);
    if (!*t->wrong)
        check_step(t);
}

void steps_run(struct trial *t)
{
    if (below(t, 3) == 0) {
        clients_declare(&t->clients, t->ctl);
        t->clients.queues = true;
        server_turn(t);
    }
    while (t->steps < TRIAL_STEPS && !*t->wrong)
        step(t);
}

/* ---- quiet times ---- */

#define UNDRAIN_AGAIN 64

static void undrain(struct trial *t)
{
    for (size_t i = 0; i < t->agents.n_nodes; i++)
        clients_undrain(&t->clients, t->ctl, t->agents.nodes[i].name);
}

static bool over(const struct trial *t)
{
    return live_count(t->ctl->live) == 0 && agents_idle(&t->agents) &&
           clients_waiting(&t->clients) == 0 && turn_idle(t->ctl);
}

/* Facts first, then what agents do, then submissions again, then time. Who is refused waits longer
 * before the next try, as our clients do: the core takes none for a while after a failed commit. */
static void quiet_round(struct trial *t)
{
    const char *sent = agents_send(&t->agents), *did = agents_act(&t->agents);
    size_t waiting = clients_waiting(&t->clients);
    bool any = sent || did || waiting < t->waiting;
    t->waiting = waiting;
    trial_say(t, "%s, %s", sent ? sent : "nothing is sent", did ? did : "no agent acts");
    if (!sent && !did && waiting)
        clients_submit(&t->clients, t->ctl);
    if (!any && !waiting)
        any = clients_resume(&t->clients, t->ctl);
    t->idle_ms = any ? 0 : t->idle_ms < HOUR_MS ? 2 * t->idle_ms + 500 : HOUR_MS;
    pass(t, 1 + t->idle_ms);
    server_turn(t);
}

void steps_quiet(struct trial *t)
{
    uint64_t end = t->mono_us + UINT64_C(1000) * QUIET_DAYS * DAY_MS;
    trial_say(t, "quiet times");
    t->faulty = false;
    t->crash.in = 0;
    disk_heal(&t->bench->disk);
    agents_heal(&t->agents);
    for (unsigned i = 0; t->mono_us < end && !*t->wrong && (i == 0 || !over(t)); i++) {
        if (i % UNDRAIN_AGAIN == 0) {
            undrain(t); /* the disk may have refused it the time before */
            server_turn(t);
        }
        quiet_round(t);
        if (i % 8 == 0)
            check_step(t);
    }
    check_step(t);
    if (t->trace) {
        AUTO_BUF struct buf state = BUF_INIT((size_t)1 << 24);
        check_state(t, &state);
        printf("%s", buf_str(&state));
        for (size_t i = 0; i < live_waiting(t->ctl->live); i++) {
            const struct live_job *job = live_waiting_at(t->ctl->live, i);
            printf("job %llu waits: %s\n", (unsigned long long)job->row.number,
                   live_reason(job).text);
        }
    }
}
