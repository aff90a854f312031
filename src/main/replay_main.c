/* What a replay says: a line for each decision, where it parts from the recording, the queue at a
 * moment, and in the end whether it came to the same state. */
#include "main/replay_main.h"

#include "answer/jobs.h"
#include "api/view_json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "cli/output.h"
#include "cli/table.h"
#include "explain/view.h"
#include "main/core_config.h"
#include "main/nodes.h"
#include "replay/replay.h"
#include "text/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LIST_PAGE 1000u
#define OUT_BYTES (64u << 20)

struct playing {
    const struct cli_replay *ask;
    const char *version;
    struct arena *arena;
    bool warned;
};

/* ---- lines ---- */

static void print_tree(const struct text_node *tree)
{
    AUTO_BUF struct buf out = BUF_INIT(OUT_BYTES);
    json_print(tree, 0, &out);
    buf_putc(&out, '\n');
    out_buf(&out);
}

/* "allocated: 2 tasks on n1 (n1)", "promised: by 2026-..." */
static const char *decision_text(struct arena *a, const struct ctl_decision *d)
{
    char time[FMT_MAX];
    if (!d)
        return "nothing";
    if (d->at_ms)
        return arena_printf(a, "job %" PRIu64 " (%s) %s: by %s", d->number, d->name, d->what,
                            fmt_time_local(time, d->at_ms));
    return arena_printf(a, "job %" PRIu64 " (%s) %s: %s%s%s%s", d->number, d->name, d->what,
                        d->text, *d->nodes ? " [" : "", d->nodes, *d->nodes ? "]" : "");
}

static void decision_tree(struct arena *a, struct text_node *map, const struct ctl_decision *d)
{
    char time[FMT_MAX];
    text_int(a, map, "job", (int64_t)d->number);
    text_str(a, map, "name", d->name);
    text_str(a, map, "what", d->what);
    text_str(a, map, "text", d->text);
    if (*d->nodes)
        text_str(a, map, "nodes", d->nodes);
    if (d->at_ms)
        text_str(a, map, "by", fmt_time(time, d->at_ms));
}

static struct text_node *line(struct arena *a, uint64_t input, uint64_t at_ms)
{
    char time[FMT_MAX];
    struct text_node *map = text_map(a, NULL, NULL);
    text_int(a, map, "input", (int64_t)input);
    text_str(a, map, "at", fmt_time(time, at_ms));
    return map;
}

static void on_decided(void *arg, uint64_t input, uint64_t at_ms, const struct ctl_decision *d)
{
    struct playing *p = arg;
    char time[FMT_MAX];
    if (p->ask->quiet)
        return;
    struct arena *a = arena_create();
    if (p->ask->json) {
        struct text_node *map = line(a, input, at_ms);
        decision_tree(a, map, d);
        print_tree(map);
    } else {
        printf("%s  #%" PRIu64 "  %s\n", fmt_time_local(time, at_ms), input, decision_text(a, d));
    }
    arena_destroy(a);
}

static void on_parted(void *arg, const struct replay_difference *parting)
{
    struct playing *p = arg;
    char time[FMT_MAX];
    struct arena *a = arena_create();
    if (p->ask->json) {
        struct text_node *map = line(a, parting->input, parting->at_ms);
        text_str(a, map, "parts", "here");
        if (parting->was)
            decision_tree(a, text_map(a, map, "recorded"), parting->was);
        if (parting->is)
            decision_tree(a, text_map(a, map, "replayed"), parting->is);
        print_tree(map);
    } else {
        printf("the decisions part at input %" PRIu64 ", %s\n  recorded: %s\n  replayed: %s\n",
               parting->input, fmt_time_local(time, parting->at_ms), decision_text(a, parting->was),
               decision_text(a, parting->is));
    }
    arena_destroy(a);
}

static void on_header(void *arg, const struct recording_header *h, const char *segment)
{
    struct playing *p = arg;
    if (p->warned || strcmp(h->version, p->version) == 0)
        return;
    p->warned = true;
    fprintf(stderr, "warning: %s was recorded by muster %s, this is %s: it may decide otherwise\n",
            segment, h->version, p->version);
}

/* ---- settings ---- */

static int make_settings(void *arg, struct arena *a, const struct recording_header *h,
                         struct ctl_config *core, struct err *err)
{
    const struct playing *p = arg;
    struct config_recording recorded = {
        .settings = &h->settings, .trees = &h->trees, .sets = p->ask->sets, .n_sets = p->ask->n_sets
    };
    struct config config;
    if (config_replay(a, &recorded, &config, err) < 0 || core_config(a, &config, core, err) < 0)
        return -1;
    const struct setting_value *nodes = &config.at[SETTING_NODES];
    struct node_list list = { .n = 0 };
    const char *host = h->nodes[0].host;
    if (strcmp(nodes->from, "--set") != 0)
        return 0;
    int rc = nodes->tree ? nodes_read(a, nodes->tree, host, &list, err)
                         : nodes_parse(a, nodes->text, host, &list, err);
    core->nodes = list.at;
    core->n_nodes = list.n;
    return rc;
}

static int read_clock(const char *text, struct tm *tm)
{
    const char *end = strptime(text, "%H:%M:%S", tm);
    end = end ? end : strptime(text, "%H:%M", tm);
    return end && !*end ? 0 : -1;
}

static int read_at(const char *text, struct replay_config *config, struct err *err)
{
    struct tm tm = { .tm_isdst = -1 };
    if (!text)
        return 0;
    if (scan_u64(text, 1, UINT64_MAX, &config->at)) {
        config->until = UNTIL_INPUT;
        return 0;
    }
    if (read_clock(text, &tm) == 0) {
        config->until = UNTIL_CLOCK;
        config->at = (uint64_t)(tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec) * 1000;
        return 0;
    }
    tm = (struct tm){ .tm_isdst = -1 };
    const char *end = strptime(text, "%Y-%m-%d", &tm);
    if (end && (*end == 'T' || *end == ' '))
        end = read_clock(end + 1, &tm) == 0 ? "" : end;
    time_t at = end && !*end ? mktime(&tm) : -1;
    if (at >= 0) {
        config->until = UNTIL_TIME;
        config->at = (uint64_t)at * 1000;
        return 0;
    }
    err_set(err, ERR_INPUT, "--at is \"%.60s\"", text);
    return err_hint(err, "write 14:05, 14:05:30, 2026-11-22T14:05:00 or the number of an input");
}

/* ---- the queue at a moment ---- */

static void put_row(struct playing *p, struct table *table, const struct job_view *job)
{
    const char **row = table_row(table);
    row[0] = arena_printf(p->arena, "%llu", (unsigned long long)job->number);
    row[1] = job->name;
    row[2] = job_state_word(job->state);
    row[3] = job->queue;
    row[4] = job->reason;
}

static void put_explained(struct playing *p, struct ctl *ctl, const char *admin,
                          const struct job_view *job)
{
    struct err err;
    struct text_node *map = text_map(p->arena, NULL, NULL);
    view_put(p->arena, map, "job", VIEW_JOB, job);
    if (job->state == JOB_QUEUED) {
        const struct explain_ask ask = { .arena = p->arena, .owner = admin, .job = job->id };
        struct explain_view why;
        if (explain_job(ctl, &ask, &why, &err) == 0)
            view_put(p->arena, map, "explain", VIEW_EXPLAIN, &why);
    }
    print_tree(map);
}

static void print_queue(struct playing *p, struct replay *replay)
{
    static const struct table_column columns[] = { { .title = "JOB", .right = true },
                                                   { .title = "NAME" },
                                                   { .title = "STATE" },
                                                   { .title = "QUEUE" },
                                                   { .title = "REASON" } };
    struct ctl *ctl = replay_core(replay);
    struct job_filter filter = { .limit = LIST_PAGE };
    struct table table;
    struct err err;
    for (unsigned state = 0; state < JOB_STATE_N; state++)
        if (state != JOB_NONE && !job_state_final((enum job_state)state))
            filter.states |= 1u << state;
    table_init(&table, p->arena, columns, ARRAY_LEN(columns), false);
    struct job_list page;
    do {
        if (answer_list_view(ctl, p->arena, &filter, &page, &err))
            break;
        for (size_t i = 0; i < page.n; i++)
            if (p->ask->json)
                put_explained(p, ctl, replay_admin(replay), &page.at[i]);
            else
                put_row(p, &table, &page.at[i]);
        filter.before_id = page.next;
    } while (page.next);
    AUTO_BUF struct buf out = BUF_INIT(OUT_BYTES);
    table_print(&table, 0, false, &out);
    if (!p->ask->json)
        out_buf(&out);
}

/* ---- the verdict ---- */

static void verdict_tree(struct playing *p, const struct replay_result *r, const char *verdict)
{
    struct arena *a = p->arena;
    struct text_node *map = text_map(a, NULL, NULL);
    text_str(a, map, "verdict", verdict);
    text_int(a, map, "inputs", (int64_t)r->inputs);
    text_int(a, map, "decisions", (int64_t)r->decisions);
    text_int(a, map, "segments", (int64_t)r->segments);
    text_int(a, map, "last_input", (int64_t)r->last);
    text_str(a, map, "hash", r->hash);
    if (*r->recorded)
        text_str(a, map, "recorded", r->recorded);
    text_int(a, map, "jobs_that_differ", (int64_t)r->differs);
    if (r->lost_at)
        text_int(a, map, "differs_after_input", (int64_t)r->lost_at);
    text_bool(a, map, "complete", r->ended && !r->damaged);
    print_tree(map);
}

static void say_state(const struct playing *p, const struct replay_result *r)
{
    char time[FMT_MAX];
    printf("%" PRIu64 " input%s, %" PRIu64 " decision%s, up to input %" PRIu64, r->inputs,
           r->inputs == 1 ? "" : "s", r->decisions, r->decisions == 1 ? "" : "s", r->last);
    if (r->last_ms)
        printf(" (%s)", fmt_time_local(time, r->last_ms));
    printf("\nstate hash %s", r->hash);
    if (*r->recorded)
        printf(", %s", strcmp(r->hash, r->recorded) == 0
                           ? "same as recorded"
                           : arena_printf(p->arena, "recorded %s", r->recorded));
    else if (r->checks && !r->lost_at)
        printf(", as recorded in %" PRIu64 " places", r->checks);
    printf("\n");
}

static void say_verdict(const struct playing *p, const struct replay_result *r)
{
    say_state(p, r);
    if (r->meetings)
        printf("%" PRIu64 " rendezvous had begun before the first segment that is left: what their "
               "launchers said later is not understood\n",
               r->meetings);
    if (!r->ended && !r->stopped && !r->damaged)
        printf("the recording has no end: the server runs, or was killed\n");
    if (r->differs)
        printf("%" PRIu64 " job%s decided otherwise\n", r->differs,
               r->differs == 1 ? " is" : "s are");
    else if (p->ask->n_sets)
        printf("no job is decided otherwise\n");
    if (r->lost_at && !p->ask->n_sets)
        printf("the state is another one after input %" PRIu64 " at the latest\n", r->lost_at);
}

static int verdict(struct playing *p, const struct replay_result *r, struct err *err)
{
    bool same = !r->differs && !r->lost_at;
    const char *word = same ? "same" : p->ask->n_sets ? "parted" : "different";
    if (p->ask->json)
        verdict_tree(p, r, word);
    else
        say_verdict(p, r);
    if (r->damaged)
        return err_hint(err, "%" PRIu64 " complete inputs before it were replayed, %s", r->inputs,
                        same ? "as recorded" : "not as recorded");
    return same || p->ask->n_sets ? 0 : 1;
}

int replay_main(const char *version, const struct cli_replay *ask, struct err *err)
{
    struct playing playing = { .ask = ask, .version = version, .arena = arena_create() };
    struct replay_config config = { .path = ask->recording,
                                    .seal_key = ask->seal_key,
                                    .settings = make_settings,
                                    .settings_arg = &playing,
                                    .watch = { .header = on_header,
                                               .decided = on_decided,
                                               .parted = on_parted,
                                               .arg = &playing } };
    struct replay_result result;
    int rc = -1;
    log_set_level(LOG_ERROR); /* what went wrong then was logged then */
    struct replay *replay =
        read_at(ask->at, &config, err) == 0 ? replay_run(&config, &result, err) : NULL;
    if (replay) {
        if (ask->at)
            print_queue(&playing, replay);
        rc = verdict(&playing, &result, err);
    }
    replay_destroy(replay);
    arena_destroy(playing.arena);
    return rc;
}
