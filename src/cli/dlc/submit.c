/* dlc submit KIND, dlc create job: flags and the lines of a parameter file become one CreateJob
 * body, which is printed and sent. What is wrong with it is said here, in the words and at the
 * places of the file; the server checks it again. */
#include "cli/dlc/submit.h"

#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/dlc/follow.h"
#include "cli/dlc/output.h"
#include "cli/names.h"
#include "cli/output.h"
#include "cli/server_start.h"
#include "cli/submit.h"
#include "dialect/dlc/dlc.h"
#include "text/json.h"
#include "text/keyvalue.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BODY_MAX (1u << 20)

struct request {
    const char *file;
    char *text;
    size_t len;
    struct text_node *root; /* of the parameters */
    bool interactive;
    uint64_t stopped_status; /* exit status when the job was stopped */
};

/* ---- the parameters ---- */

static const char *take(struct text_node *map, const char *key)
{
    for (struct text_node **at = &map->first, *before = NULL; *at; at = &(*at)->next) {
        struct text_node *node = *at;
        if (strcmp(node->key, key) == 0) {
            *at = node->next;
            if (map->last == node)
                map->last = before;
            map->count--;
            return node->str;
        }
        before = node;
    }
    return NULL;
}

static int read_file(struct dlc_call *c, struct request *r, struct report *report, struct err *err)
{
    r->file = take(c->flags, "job_file");
    if (!r->file) {
        r->root = text_map(c->cli->arena, NULL, NULL);
        r->root->pairs = true;
        return 0;
    }
    if (names_read_job_file(r->file, &r->text, &r->len, err) < 0)
        return -1;
    if (r->len && !keyvalue_like(r->text, r->len)) {
        err_set(err, ERR_INPUT, "%s is no parameter file", r->file);
        err_hint(err, "it is read as lines of key=value; job files of other formats are run");
        return err_remedy_of(err, REMEDY_RUN_FILE, "%s", r->file);
    }
    r->root = keyvalue_parse(c->cli->arena, r->text, r->len, report);
    if (!r->root)
        return report_err(report, err);
    return 0;
}

/* Values of the file win over flags; the verb says the kind, and the file may not say another. */
static int merge(struct dlc_call *c, struct request *r, const char *kind, struct err *err)
{
    const char *flag_kind = take(c->flags, "kind"), *said = take(r->root, "kind");
    const char *type = take(r->root, "job_type");
    said = said ? said : type;
    kind = kind ? kind : flag_kind;
    if (kind && said && strcasecmp(kind, said) != 0) {
        err_set(err, ERR_INPUT, "the command says %s, the file says kind=%s", kind, said);
        return err_hint(err, "dlc submit %s, or take the line out", said);
    }
    for (const struct text_node *flag = c->flags->first; flag; flag = flag->next)
        if (!text_get(r->root, flag->key))
            text_str(c->cli->arena, r->root, flag->key, flag->str);
    if (kind || said)
        text_str(c->cli->arena, r->root, "kind", kind ? kind : said);
    return 0;
}

static int take_own(struct request *r, struct err *err)
{
    const char *interactive = take(r->root, "interactive");
    const char *status = take(r->root, "exit_code_on_stopped");
    take(r->root, "insecure");
    r->interactive = interactive && strcasecmp(interactive, "true") == 0;
    r->stopped_status = EXIT_STOPPED;
    if (!status || scan_u64(status, 0, 255, &r->stopped_status))
        return 0;
    return err_set(err, ERR_INPUT, "exit_code_on_stopped: \"%.40s\" is no exit status", status);
}

/* ---- checking ---- */

static void say(const struct request *r, const struct report *report)
{
    AUTO_BUF struct buf text = BUF_INIT(1 << 20);
    report_print(report, r->file ? r->file : "dlc", r->text, r->len, out_color_err(), &text);
    fputs(buf_str(&text), stderr);
}

static struct text_node *make_body(struct dlc_call *c, struct request *r, struct report *report,
                                   struct err *err)
{
    struct site site = { .owner = "", .fs_uri = "" };
    struct report inner;
    if (report_ok(report))
        dlc_dialect.read(c->cli->arena, r->root, &site, report);
    if (!report_ok(report)) {
        say(r, report);
        err_set(err, ERR_INPUT, "nothing was submitted");
        return NULL;
    }
    report_init(&inner, c->cli->arena);
    struct text_node *body = dlc_body(c->cli->arena, r->root, &inner);
    say(r, &inner); /* what the server cannot: it is sent the body */
    return body;
}

static struct text_node *without_password(struct arena *arena, const struct text_node *body)
{
    struct text_node *copy = text_copy(arena, NULL, NULL, body),
                     *specs = text_get(copy, "JobSpecs");
    for (struct text_node *spec = specs ? specs->first : NULL; spec; spec = spec->next) {
        struct text_node *password = text_get(text_get(spec, "ImageConfig"), "Password");
        if (password)
            password->str = "***";
    }
    return copy;
}

/* ---- sending ---- */

static void say_warnings(const struct text_node *answer)
{
    const struct text_node *list = text_get(answer, "warnings");
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next) {
        const char *what = one->kind == TEXT_STR ? one->str : text_word(one, "what");
        const char *hint = text_word(one, "hint");
        fprintf(stderr, "warning: %s%s%s%s\n", what, *hint ? " (" : "", hint, *hint ? ")" : "");
    }
}

static int follow(struct dlc_call *c, const struct request *r, const char *id, struct err *err)
{
    const struct text_node *view = dlc_follow(c->cli, id, false, err);
    if (!view)
        return -1;
    const char *state = text_word(view, "state");
    if (strcmp(state, "succeeded") != 0 && answer_has(view, "reason"))
        fprintf(stderr, "%s\n", text_word(view, "reason"));
    return strcmp(state, "stopped") == 0 ? (int)r->stopped_status : out_job_status(state);
}

static int send(struct dlc_call *c, const struct request *r, const struct text_node *body,
                struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(BODY_MAX);
    struct submit_opts opts = { .from = "dlc" };
    json_print(body, 0, &text);
    if (text.overflow)
        return err_set(err, ERR_INPUT, "the job is larger than %u bytes", BODY_MAX);
    dlc_json(without_password(c->cli->arena, body));
    fflush(stdout);
    if (server_ensure(c->cli, err) < 0)
        return -1;
    const struct text_node *answer =
        submit_text(c->cli, &opts, r->file ? r->file : "dlc", buf_str(&text), text.len, err);
    if (!answer)
        return -1;
    const char *id = arena_printf(c->cli->arena, "dlc%s", text_word(answer, "id"));
    const char *cells[] = { "JobId", "RequestId", id, dlc_request_id(c->cli->arena) };
    dlc_table(c->cli->arena, cells, 2, 2);
    fflush(stdout);
    say_warnings(answer);
    return r->interactive ? follow(c, r, id, err) : EXIT_OK;
}

static int submit(struct dlc_call *c, const char *kind, struct err *err)
{
    struct request r = { 0 };
    struct report report;
    report_init(&report, c->cli->arena);
    int rc = read_file(c, &r, &report, err);
    if (rc == 0)
        rc = merge(c, &r, kind, err);
    if (rc == 0)
        rc = take_own(&r, err);
    if (rc == 0) {
        const struct text_node *body = make_body(c, &r, &report, err);
        rc = body ? send(c, &r, body, err) : -1;
    }
    free(r.text);
    return rc;
}

int dlc_submit_run(struct dlc_call *c, struct err *err)
{
    if (c->argc == 1)
        return submit(c, c->argv[0], err);
    err_set(err, ERR_INPUT, "dlc submit needs the kind of the job");
    return err_hint(err, "dlc submit tfjob|pytorchjob|mpijob|... --job_file FILE");
}

int dlc_create_run(struct dlc_call *c, struct err *err)
{
    if (c->argc == 0)
        return submit(c, NULL, err);
    err_set(err, ERR_INPUT, "dlc create job takes flags only, not \"%.60s\"", c->argv[0]);
    return err_hint(err, "--kind PyTorchJob");
}
