/* muster explain: why a job waits, what would change it; or what a file would do if it were
 * submitted. */
#include "cli/jobs.h"

#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/names.h"
#include "cli/out.h"
#include "cli/submit.h"

#include <stdio.h>
#include <string.h>

struct explain_opts {
    struct submit_opts submit;
    const char *file;
};
static const struct opt opts[] = {
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

static void put_places(const struct text_node *places, struct buf *out)
{
    size_t n = 0;
    for (const struct text_node *p = places ? places->first : NULL; p && n < 64; p = p->next, n++)
        buf_addf(out, "  %-20s %s\n", p->key ? p->key : "", p->str ? p->str : "");
    if (places && places->count > n)
        buf_addf(out, "  and %zu more\n", places->count - n);
}

static void put_ways(const struct text_node *ways, struct buf *out)
{
    for (const struct text_node *w = ways ? ways->first : NULL; w; w = w->next)
        buf_addf(out, "  %-16s %s\n", answer_text(w, "what", ""), answer_text(w, "how", ""));
}

static void put_until(const struct text_node *e, struct buf *out)
{
    char text[FMT_MAX];
    uint64_t until = answer_time(e, "until");
    if (until)
        buf_addf(out, "  not before       %s\n", fmt_time_local(text, until));
}

static void put_ahead(const struct text_node *e, struct buf *out)
{
    const char *why = answer_text(e, "why", "");
    if (strcmp(why, "after") == 0 || strcmp(why, "array") == 0)
        return; /* it is not in line yet */
    if (answer_number(e, "ahead", 0))
        buf_addf(out, "  ahead            %llu in %s\n",
                 (unsigned long long)answer_number(e, "ahead", 0),
                 answer_text(e, "queue", "its queue"));
    else if (strcmp(answer_text(e, "state", ""), "queued") == 0)
        buf_addf(out, "  ahead            nobody in %s\n", answer_text(e, "queue", "its queue"));
}

static void explain_job(struct arena *arena, const struct text_node *e, struct buf *out)
{
    const char *name = answer_text(e, "name", "?"), *state = answer_text(e, "state", "");
    const char *reason = answer_text(e, "reason", "");
    if (answer_has(e, "array"))
        name =
            arena_printf(arena, "%s[%llu]", name, (unsigned long long)answer_number(e, "index", 0));
    if (strcmp(state, "queued") == 0)
        buf_addf(out, "%s waits%s%s\n", name, *reason ? ": " : "", reason);
    else if (strcmp(state, "suspended") == 0 && answer_flag(e, "would_start"))
        buf_addf(out, "%s is suspended; it would start at once: muster resume %llu\n", name,
                 (unsigned long long)answer_number(e, "number", 0));
    else if (strcmp(state, "suspended") == 0)
        buf_addf(out, "%s is suspended; resumed now it would wait: %s\n", name, reason);
    else
        buf_addf(out, "%s%s %s%s%s\n", name, out_final(state) ? "" : " is", state,
                 *reason ? ": " : "", reason);
    put_ahead(e, out);
    put_until(e, out);
    put_ways(text_get(e, "ways"), out);
    put_places(text_get(e, "places"), out);
}

/* The answer to a file is what its submission would be. */
static void explain_file(const struct text_node *e, struct buf *out)
{
    const char *reason = answer_text(e, "reason", "");
    bool starts =
        strcmp(answer_text(e, "state", ""), "starting") == 0 || answer_flag(e, "would_start");
    buf_addf(out, "%s %s%s%s\n", answer_text(e, "name", "this job"),
             starts ? "would start at once" : "would wait", *reason ? ": " : "", reason);
    put_ways(text_get(e, "ways"), out);
    put_places(text_get(e, "places"), out);
    const struct text_node *warnings = text_get(e, "warnings");
    for (const struct text_node *w = warnings ? warnings->first : NULL; w; w = w->next)
        buf_addf(out, "  warning          %s\n", w->str ? w->str : answer_text(w, "what", ""));
}

static struct text_node *ask_file(struct cli *cli, const struct explain_opts *o, struct err *err)
{
    AUTO_FREE char *text = NULL;
    AUTO_BUF struct buf path = BUF_INIT(256 << 10);
    struct submit_source src = { .route = "/v1/explain", .file = o->file };
    if (names_read_job_file(o->file, &text, &src.len, err) < 0)
        return NULL;
    src.text = text;
    if (submit_path(cli, &o->submit, &src, &path, err) < 0)
        return NULL;
    struct call call = {
        .method = "POST", .path = buf_str(&path), .body = text, .len = src.len, .file = o->file
    };
    return call_send(cli, &call, err);
}

static int run_explain(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct explain_opts *o = opts_;
    AUTO_BUF struct buf out = BUF_INIT(4u << 20);
    AUTO_BUF struct buf path = BUF_INIT(4096);
    struct text_node *tree;
    if (cmd_operands(&cmd_explain, argc, o->file ? 0 : 1, o->file ? 0 : 1, err) < 0)
        return -1;
    if (o->file) {
        tree = ask_file(cli, o, err);
    } else {
        jobs_path(&path, argv[0], "/explain");
        tree = call_get(cli, buf_str(&path), err);
    }
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
    "why it waits and what would change that",
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
