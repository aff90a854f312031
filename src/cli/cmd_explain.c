/* muster explain: why a job waits, until when, what would change it; what a change or a file would
 * do. */
#include "cli/jobs.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/clock_text.h"
#include "cli/names.h"
#include "cli/output.h"
#include "cli/submit.h"

#include <stdio.h>
#include <string.h>

#define PLACES_SHOWN 16

struct explain_opts {
    struct submit_opts submit;
    const char *file;
    struct opt_list what_if;
};
static const struct opt opts[] = {
    { .name = "what-if",
      .type = OPT_LIST,
      .offset = offsetof(struct explain_opts, what_if),
      .arg = "FIELD=V",
      .help = "what this change would do (again for more at once): replicas=2, queue=b, "
              "topology=none, run_time=20m, or a field as --set takes it" },
    { .name = "file",
      .letter = 'f',
      .type = OPT_STR,
      .offset = offsetof(struct explain_opts, file),
      .arg = "FILE",
      .help = "what this job file would do; nothing is submitted" },
    SUBMIT_OPTS,
    COMMON_OPTS,
    OPT_END,
};

/* ---- lines ---- */

static void begin_line(struct buf *out, const char *key)
{
    buf_addf(out, "  %-8s ", key);
}

/* "12 a", or what stands for the name of a job that is not ours to know. */
static void put_name(const struct text_node *job, struct buf *out)
{
    if (answer_has(job, "number"))
        buf_addf(out, "%llu ", (unsigned long long)text_number(job, "number"));
    buf_puts(out, answer_text(job, "name", "?"));
}

static uint64_t count_hidden(const struct text_node *list)
{
    uint64_t n = 0;
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        n += !answer_has(one, "number");
    return n;
}

/* "12 a, 13 b, 2 other users' jobs and 4 more" */
static void put_names(const struct text_node *list, uint64_t in_all, struct buf *out)
{
    uint64_t n = 0, hidden = count_hidden(list), told = list ? list->count : 0;
    uint64_t parts = told - hidden + (hidden > 0);
    bool counted = false; /* those that are hidden have been said, in one */
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next) {
        bool named = answer_has(one, "number");
        if (!named && counted)
            continue;
        bool last = ++n == parts && told == in_all;
        buf_puts(out, n == 1 ? "" : last ? " and " : ", ");
        if (!named && hidden > 1)
            buf_addf(out, "%llu other users' jobs", (unsigned long long)hidden);
        else
            put_name(one, out);
        counted = counted || !named;
    }
    if (in_all > told)
        buf_addf(out, " and %llu more", (unsigned long long)(in_all - told));
}

static void put_ahead(const struct text_node *e, struct buf *out)
{
    char text[48];
    uint64_t ahead = text_number(e, "ahead"), others = text_number(e, "ahead_elsewhere");
    if (!answer_has(e, "rank"))
        return;
    begin_line(out, "ahead");
    if (ahead)
        buf_addf(out, "%s in %s%s: ", out_count(text, ahead, "job"), answer_text(e, "queue", "?"),
                 text_flag(e, "ahead_known") ? "" : " by rank");
    else
        buf_addf(out, "nobody in %s", answer_text(e, "queue", "?"));
    put_names(text_get(e, "ahead_jobs"), ahead, out);
    if (others)
        buf_addf(out, "; %llu in other queues", (unsigned long long)others);
    buf_putc(out, '\n');
}

/* ", when 3 and 9 reach their limits" */
static void put_ends(const struct text_node *e, struct buf *out)
{
    const struct text_node *ends = text_get(e, "ends");
    uint64_t n = text_number(e, "n_ends");
    bool assumed = false;
    if (!ends || n == 0)
        return;
    for (const struct text_node *one = ends->first; one; one = one->next)
        assumed = assumed || text_flag(one, "assumed");
    buf_puts(out, ", when ");
    put_names(ends, n, out);
    if (assumed)
        buf_addf(out, " %s over (no limit given: the usual run time is assumed)",
                 n == 1 ? "is" : "are");
    else
        buf_addf(out, " reach%s", n == 1 ? "es its limit" : " their limits");
}

static const struct text_node *estimate_of(const struct text_node *e, const char *source)
{
    const struct text_node *list = text_get(e, "estimates");
    const struct text_node *one = list ? list->first : NULL;
    while (one && strcmp(text_word(one, "source"), source) != 0)
        one = one->next;
    return one;
}

/* "about 14:05 (22m, 18m to 31m) as such jobs ran before (9 of 12 known); by limits " */
static void put_learnt(const struct text_node *learnt, uint64_t now, struct buf *out)
{
    static const char *const keys[] = { "at", "earliest", "latest" };
    char text[CLOCK_TEXT_MAX], ages[ARRAY_LEN(keys)][FMT_MAX];
    uint64_t at = answer_time(learnt, "at");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        uint64_t ms = answer_time(learnt, keys[i]);
        fmt_age(ages[i], ms > now ? ms - now : 0);
    }
    buf_addf(out, "about %s (%s", clock_text(text, at, now), ages[0]);
    if (strcmp(ages[1], ages[2]) != 0)
        buf_addf(out, ", %s to %s", ages[1], ages[2]);
    buf_addf(out, ") by run times of the past (known of %llu of %llu jobs)",
             (unsigned long long)text_number(learnt, "known"),
             (unsigned long long)text_number(learnt, "jobs"));
}

static void put_limit(const struct text_node *e, uint64_t now, struct buf *out)
{
    char text[CLOCK_TEXT_MAX], age[FMT_MAX];
    uint64_t at = answer_time(e, "expected");
    bool bound = text_flag(e, "at_least");
    buf_addf(out, "%s %s (%s)", bound ? "not before" : "about", clock_text(text, at, now),
             fmt_age(age, at > now ? at - now : 0));
    if (bound)
        buf_puts(out, " unless a job ends before its limit, a node comes or a priority changes");
    else
        put_ends(e, out);
}

static void put_starts(const struct text_node *e, uint64_t now, struct buf *out)
{
    char text[CLOCK_TEXT_MAX];
    const struct text_node *learnt = estimate_of(e, "learnt");
    uint64_t at = answer_time(e, "expected"), latest = answer_time(e, "not_later");
    if (!at && !latest && !learnt)
        return;
    begin_line(out, "starts");
    if (learnt)
        put_learnt(learnt, now, out);
    if (learnt && at) {
        buf_putc(out, '\n');
        begin_line(out, "");
        if (!text_flag(e, "at_least"))
            buf_puts(out, "by limits of run time ");
    }
    if (at)
        put_limit(e, now, out);
    if (latest)
        buf_addf(out, "%snot later than %s", at || learnt ? "; " : "",
                 clock_text(text, latest, now));
    buf_putc(out, '\n');
}

static void put_run_time(const struct text_node *e, struct buf *out)
{
    char median[FMT_MAX], low[FMT_MAX], high[FMT_MAX], count[48];
    const struct text_node *run = text_get(e, "run_time");
    if (!run || !answer_has(run, "median_ms"))
        return;
    bool of_queue = strcmp(text_word(run, "of"), "queue") == 0;
    begin_line(out, "runs");
    buf_addf(out, "about %s (%s to %s), as the last %s of its %s did\n",
             fmt_age(median, text_number(run, "median_ms")),
             fmt_age(low, text_number(run, "low_ms")), fmt_age(high, text_number(run, "high_ms")),
             out_count(count, text_number(run, "jobs"), "job"),
             of_queue ? "queue" : "owner and name");
}

static void put_ways(const struct text_node *ways, struct buf *out)
{
    const char *key = "now if";
    for (const struct text_node *w = ways ? ways->first : NULL; w; w = w->next, key = "") {
        begin_line(out, key);
        buf_addf(out, "%-22s %s\n", text_word(w, "what"), text_word(w, "gives"));
        begin_line(out, "");
        buf_addf(out, "  %s\n", text_word(w, "how"));
    }
}

static const char *unfit_words(const struct text_node *one, char out[80])
{
    const char *why = text_word(one, "why");
    if (strcmp(why, "resource") == 0)
        snprintf(out, 80, "too little %.40s", answer_text(one, "resource", "?"));
    else
        snprintf(out, 80, "%s",
                 strcmp(why, "port") == 0    ? "port taken"
                 : strcmp(why, "node") == 0  ? "not the label, name or type"
                 : strcmp(why, "apart") == 0 ? "a task of its own there"
                                             : why);
    return out;
}

static void put_unfit(const struct text_node *u, struct buf *out)
{
    char text[80];
    const struct text_node *counts = u ? text_get(u, "counts") : NULL;
    if (!counts)
        return;
    begin_line(out, "nodes");
    buf_addf(out, "0 of %llu take %s: ", (unsigned long long)text_number(u, "nodes"),
             answer_text(u, "task", "it"));
    for (const struct text_node *one = counts->first; one; one = one->next)
        buf_addf(out, "%s%llu %s", one == counts->first ? "" : ", ",
                 (unsigned long long)text_number(one, "nodes"), unfit_words(one, text));
    buf_putc(out, '\n');
    if (text_get(u, "said")) {
        begin_line(out, "");
        buf_addf(out, "%s\n", text_word(u, "said"));
    }
}

/* ---- shares ---- */

static const struct {
    const char *key, *unit;
} amounts[] = { { "gpu_milli", "gpu" }, { "cpu_milli", "cpu" }, { "memory", "memory" } };

static const char *amount(char out[48], const struct text_node *map, const char *key)
{
    uint64_t n = map ? text_number(map, key) : 0;
    char text[FMT_MAX];
    if (strcmp(key, "memory") == 0)
        return out_size(out, n);
    snprintf(out, 48, "%s", fmt_milli(text, n));
    return out;
}

/* "vision uses 48 of 64 gpu, is sure of 32": what is bounded, one line each. */
static void put_quota(const struct text_node *quota, struct buf *out)
{
    const char *key = "quota";
    char used[48], most[48], sure[48];
    for (const struct text_node *q = quota ? quota->first : NULL; q; q = q->next)
        for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
            const char *of = amounts[i].key;
            const struct text_node *maximum = text_get(q, "maximum");
            const struct text_node *guaranteed = text_get(q, "guaranteed");
            bool bounded = maximum && answer_has(maximum, of);
            bool is_sure = guaranteed && text_number(guaranteed, of);
            if (!bounded && !is_sure)
                continue;
            begin_line(out, key);
            key = "";
            buf_addf(out, "%s uses %s", answer_text(q, "queue", answer_text(q, "user", "?")),
                     amount(used, text_get(q, "used"), of));
            if (bounded)
                buf_addf(out, " of %s", amount(most, maximum, of));
            buf_addf(out, " %s", amounts[i].unit);
            if (is_sure)
                buf_addf(out, ", is sure of %s", amount(sure, guaranteed, of));
            buf_putc(out, '\n');
        }
}

static void put_rank(const struct text_node *e, struct buf *out)
{
    char text[FMT_MAX], age[FMT_MAX];
    const struct text_node *r = text_get(e, "rank");
    if (!r)
        return;
    uint64_t priority = text_number(r, "priority");
    uint64_t asked = text_number(r, "asked_priority"), load = text_number(r, "load");
    begin_line(out, "rank");
    if (text_flag(r, "claims"))
        buf_puts(out, "others were ended for it, ");
    buf_addf(out, "%spriority %llu", text_flag(r, "sure") ? "its queue is sure of it, " : "",
             (unsigned long long)priority);
    if (priority != asked)
        buf_addf(out, " (by waiting; asked %llu)", (unsigned long long)asked);
    buf_addf(out, ", load of its queue %s", fmt_milli(text, load));
    buf_addf(out, ", user had %s h of the cluster (with an hour of what is held now)",
             fmt_milli(text, text_number(r, "usage") / 1000));
    buf_addf(out, ", %s old\n", fmt_age(age, text_number(r, "age_ms")));
}

/* ---- the whole ---- */

static void put_delays(const struct text_node *delays, uint64_t now, struct buf *out)
{
    char before[CLOCK_TEXT_MAX], after[CLOCK_TEXT_MAX];
    const char *key = "delays";
    for (const struct text_node *d = delays ? delays->first : NULL; d; d = d->next, key = "") {
        uint64_t then = answer_time(d, "after");
        begin_line(out, key);
        put_name(d, out);
        buf_addf(out, " from %s to %s\n", clock_text(before, answer_time(d, "before"), now),
                 then ? clock_text(after, then, now) : "no time that is known");
    }
}

static void put_places(const struct text_node *places, struct buf *out)
{
    size_t n = 0;
    const char *key = "on";
    for (const struct text_node *p = places ? places->first : NULL; p && n < PLACES_SHOWN;
         p = p->next, n++, key = "") {
        begin_line(out, key);
        buf_addf(out, "%-20s %s\n", p->key ? p->key : "", p->str ? p->str : "");
    }
    if (places && places->count > n)
        buf_addf(out, "           and %zu more\n", places->count - n);
}

/* What it does not have to wait for any more when it starts. */
static void put_images(const struct text_node *e, struct buf *out)
{
    const struct text_node *list = text_get(e, "early_images");
    struct arena *arena = arena_create();
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next) {
        const char *how = jobs_early_image(arena, one);
        if (!how)
            continue;
        begin_line(out, "image");
        buf_addf(out, "%s: %s\n", answer_text(one, "image", "?"), how);
    }
    arena_destroy(arena);
}

static void put_details(const struct text_node *e, struct buf *out)
{
    char text[FMT_MAX];
    uint64_t now = clock_wall_ms(), until = answer_time(e, "until");
    if (!text_flag(e, "would_start"))
        put_ahead(e, out);
    if (answer_has(e, "never")) {
        begin_line(out, "never");
        buf_addf(out, "on these nodes: %s\n", text_word(e, "never"));
    }
    if (until) {
        begin_line(out, "until");
        buf_addf(out, "%s\n", fmt_time_local(text, until));
    }
    put_starts(e, now, out);
    put_run_time(e, out);
    put_images(e, out);
    put_ways(text_get(e, "ways"), out);
    put_delays(text_get(e, "delays"), now, out);
    if (!text_flag(e, "would_start")) {
        put_unfit(text_get(e, "unfit"), out);
        put_quota(text_get(e, "quota"), out);
        put_rank(e, out);
    }
    put_places(text_get(e, "places"), out);
}

static void put_resume(struct arena *arena, const char *name, uint64_t number, struct buf *out)
{
    static const struct refused here = { .program = "muster" };
    const char *text = arena_printf(arena, "%llu", (unsigned long long)number);
    buf_addf(out, "%s is suspended; it would start at once: ", name);
    remedy_put_line(out, REMEDY_RESUME, text, &here);
    buf_putc(out, '\n');
}

static void put_head(struct arena *arena, const struct text_node *e, struct buf *out)
{
    const char *name = answer_text(e, "name", "?"), *state = text_word(e, "state");
    const char *reason = text_word(e, "reason");
    if (answer_has(e, "array"))
        name = arena_printf(arena, "%s[%llu]", name, (unsigned long long)text_number(e, "index"));
    if (strcmp(state, "queued") == 0 && strcmp(text_word(e, "why"), "after") == 0)
        buf_addf(out, "%s %s\n", name, *reason ? reason : "waits"); /* "waits for job 12 ..." */
    else if (strcmp(state, "queued") == 0)
        buf_addf(out, "%s waits%s%s\n", name, *reason ? ": " : "", reason);
    else if (strcmp(state, "suspended") == 0 && text_flag(e, "would_start"))
        put_resume(arena, name, text_number(e, "number"), out);
    else if (strcmp(state, "suspended") == 0)
        buf_addf(out, "%s is suspended; resumed now it would wait: %s\n", name, reason);
    else
        buf_addf(out, "%s%s %s%s%s\n", name, out_final(state) ? "" : " is", state,
                 *reason ? ": " : "", reason);
}

static void put_would(const struct text_node *e, struct buf *out)
{
    const char *reason = text_word(e, "reason");
    if (strcmp(text_word(e, "why"), "after") == 0) {
        buf_addf(out, "%s\n", reason); /* "waits for job 12 ..." */
        return;
    }
    buf_addf(out, "%s%s%s\n", text_flag(e, "would_start") ? "would start at once" : "would wait",
             *reason ? ": " : "", reason);
}

static void explain_job(struct arena *arena, const struct text_node *e, struct buf *out)
{
    const struct text_node *changes = text_get(e, "changes");
    if (!changes) {
        const struct text_node *away = text_get(e, "away");
        put_head(arena, e, out);
        for (const struct text_node *n = away ? away->first : NULL; n; n = n->next) {
            begin_line(out, "machine");
            buf_addf(out, "%s\n", out_away(arena, n, text_word(e, "state")));
        }
        put_details(e, out);
        return;
    }
    buf_addf(out, "%s with ", answer_text(e, "name", "?"));
    for (const struct text_node *one = changes->first; one; one = one->next)
        buf_addf(out, "%s%s", one->str, one->next ? ", " : " ");
    put_would(e, out);
    put_details(e, out);
    begin_line(out, "do it");
    buf_addf(out, "%s\n", text_word(e, "how"));
}

static void explain_file(const struct text_node *answer, struct buf *out)
{
    const struct text_node *e = text_get(answer, "explain");
    if (!e)
        return;
    buf_addf(out, "%s ", answer_text(answer, "name", "this job"));
    put_would(e, out);
    put_details(e, out);
    const struct text_node *warnings = text_get(answer, "warnings");
    for (const struct text_node *w = warnings ? warnings->first : NULL; w; w = w->next) {
        begin_line(out, "warning");
        buf_addf(out, "%s\n", w->str ? w->str : text_word(w, "what"));
    }
}

/* ---- the verb ---- */

static struct text_node *ask_file(struct cli *cli, const struct explain_opts *o, struct err *err)
{
    AUTO_FREE char *text = NULL;
    struct call call;
    struct submit_source src = { .route = "/v1/explain", .file = o->file };
    if (names_read_job_file(o->file, &text, &src.len, err) < 0)
        return NULL;
    src.text = text;
    if (submit_call(cli, &o->submit, &src, &call, err) < 0)
        return NULL;
    return call_send(cli, &call, err);
}

static struct text_node *ask_job(struct cli *cli, const struct explain_opts *o, const char *job,
                                 struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(256 << 10);
    jobs_path(&path, job, "/explain");
    for (size_t i = 0; i < o->what_if.n; i++)
        call_query(&path, "what_if", o->what_if.at[i]);
    return call_get(cli, buf_str(&path), err);
}

static int run_explain(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct explain_opts *o = opts_;
    AUTO_BUF struct buf out = BUF_INIT(4u << 20);
    if (cmd_operands(&cmd_explain, argc, o->file ? 0 : 1, o->file ? 0 : 1, err) < 0)
        return -1;
    if (o->file && o->what_if.n) {
        err_set(err, ERR_INPUT, "--what-if is asked of a job that was submitted");
        return err_hint(err, "with --file: --set FIELD=V");
    }
    if (!o->file && (o->submit.set.n || o->submit.env.env.n || o->submit.queue || o->submit.from)) {
        err_set(err, ERR_INPUT, "--set, --env, --queue and --from go with --file");
        return err_hint(err, "of a job that was submitted: --what-if FIELD=V");
    }
    const struct text_node *tree = o->file ? ask_file(cli, o, err) : ask_job(cli, o, argv[0], err);
    if (!tree)
        return -1;
    if (cli->json) {
        out_json(tree);
        return EXIT_OK;
    }
    if (o->file)
        explain_file(tree, &out);
    else
        explain_job(cli->arena, tree, &out);
    out_buf(&out);
    return EXIT_OK;
}

static const char *const examples[] = {
    "muster explain 13",
    "why it waits, until when and what would change that",
    "muster explain 13 --what-if replicas=2 --what-if queue=b",
    "would it start so, and whom would it delay",
    "muster explain --file big.json",
    "what would happen, without submitting",
    NULL,
};
const struct cmd cmd_explain = {
    .name = "explain",
    .summary = "why a job waits, when it starts, what if",
    .operands = "JOB | --file FILE",
    .opts = opts,
    .size = sizeof(struct explain_opts),
    .examples = examples,
    .run = run_explain,
};
