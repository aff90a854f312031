/* One blocking HTTP client per call of the program, to the Unix socket of the state directory or to
 * a URL. */
#include "cli/call.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/report.h"
#include "cli/answer.h"
#include "cli/output.h"
#include "cli/shared_home.h"
#include "cli/state_dir.h"
#include "http/client.h"
#include "text/json.h"
#include "text/remedies.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CALL_TIMEOUT_MS 120000
#define LINE_MAX_BYTES  (64u << 20)

/* ---- connecting ---- */

static bool same_directory(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* A copy of a state directory holds the server.json of the original's server: that one serves
 * another directory. */
static char *socket_of(struct cli *cli)
{
    AUTO_FREE char *info = file_join(cli->state_dir, "server.json");
    AUTO_FREE char *text = NULL;
    size_t len;
    struct report report;
    report_init(&report, cli->arena);
    if (file_read(info, 64 << 10, &text, &len, NULL) == 0) {
        const struct text_node *root = json_parse(cli->arena, text, len, 0, &report);
        const char *path = answer_text(root, "socket", NULL);
        if (path && same_directory(text_word(root, "state_dir"), cli->state_dir))
            return mem_strdup(path);
    }
    return state_dir_socket(cli->state_dir);
}

/* In a task the one of its job, for the server that started it. A socket needs none. */
static char *token_for(const struct cli *cli)
{
    const char *given = getenv("MUSTER_TOKEN"), *of_job = getenv("MUSTER_JOB_TOKEN");
    const char *server = getenv("MUSTER_SERVER");
    if (cli->found)
        return mem_strdup(cli->found->token);
    if (given && *given)
        return mem_strdup(given);
    if (of_job && *of_job && server && strcmp(server, cli->url) == 0)
        return mem_strdup(of_job);
    return strncmp(cli->url, "unix:", 5) == 0 ? NULL : state_dir_token(cli->state_dir, NULL);
}

void call_drop(struct cli *cli)
{
    http_client_destroy(cli->client);
    cli->client = NULL;
}

/* Opens the connection without a request; ERR_UNAVAILABLE with the hint when no server has this
 * state directory. */
static int call_open(struct cli *cli, struct err *err)
{
    if (cli->client)
        return 0;
    if (cli->found && !*cli->url) {
        err_set(err, ERR_UNAVAILABLE, "your server is on %s, and listens to that machine alone",
                cli->found->host);
        return err_hint(err, "type it there; `muster server start --listen 0.0.0.0:6878` there "
                             "lets other machines in");
    }
    AUTO_FREE char *socket = cli->url ? NULL : socket_of(cli);
    AUTO_FREE char *token = cli->url ? token_for(cli) : NULL;
    struct http_client_config config = { .socket_path = socket,
                                         .url = cli->url,
                                         .token = token,
                                         .authority = cli->found ? cli->found->authority : NULL,
                                         .timeout_ms = CALL_TIMEOUT_MS };
    cli->client = http_client_create(&config, err);
    return cli->client ? 0 : -1;
}

void call_find_server(struct cli *cli)
{
    AUTO_FREE char *shared = cli->named_dir ? NULL : state_dir_shared(cli->state_dir);
    struct shared_server *found = ARENA_NEW(cli->arena, struct shared_server);
    if (cli->url && !cli->found)
        return;
    call_drop(cli);
    cli->found = shared && shared_home_read(cli->arena, shared, found) ? found : NULL;
    cli->url = cli->found ? arena_strdup(cli->arena, found->address) : NULL;
}

int call_hint_local(const struct cli *cli, struct err *err)
{
    if (cli->found)
        return err_hint(err, "type it on %s, where your server is", cli->found->host);
    return err_hint(err, "leave out --server and MUSTER_SERVER, or type it there");
}

/* One that was ended on this machine, at a logout say, and that commands on others wait for, or one
 * that has an allocation of its own. What needs no server does not start it. */
static int start_ended(struct cli *cli, struct err *err)
{
    bool may = cli->starts_ended && !cli->client && (!cli->url || cli->found);
    AUTO_FREE char *shared = may && !cli->named_dir ? state_dir_shared(cli->state_dir) : NULL;
    AUTO_FREE char *in_job = shared ? shared_home_job_dir(shared) : NULL;
    cli->starts_ended = false;
    return in_job || (shared && !cli->url && shared_home_is_here(shared))
               ? cli->host->server_ensure(cli, err)
               : 0;
}

bool call_server_lives(struct cli *cli)
{
    struct http_response response;
    struct err err;
    struct http_ask ask = { .method = "GET", .path = "/healthz" };
    if (call_open(cli, &err) < 0 || http_call(cli->client, &ask, &response, &err) < 0) {
        call_drop(cli);
        return err.code == ERR_DENIED; /* it does, for others */
    }
    buf_fini(&response.body);
    return response.status < 500;
}

/* libcurl's words say little to somebody who only has no server. */
static void explain_gone(struct cli *cli, struct err *err)
{
    if (err->code != ERR_UNAVAILABLE)
        return;
    if (cli->found && *cli->found->allocation)
        err_set(err, ERR_UNAVAILABLE,
                "your server does not answer at %s, on %s in allocation %s of Slurm", cli->url,
                cli->found->host, cli->found->allocation);
    else if (cli->found)
        err_set(err, ERR_UNAVAILABLE,
                "your server is on %s, where any command starts it again, with its jobs: it does "
                "not answer at %s",
                cli->found->host, cli->url);
    else if (cli->url)
        err_set(err, ERR_UNAVAILABLE, "no server answers at %s", cli->url);
    else
        err_set(err, ERR_UNAVAILABLE, "no server answers in %s", cli->state_dir);
    err_remedy(err, REMEDY_SERVER_START);
}

/* ---- paths ---- */

void call_path(struct buf *path, const char *fixed, const char *segment, const char *rest)
{
    buf_clear(path);
    buf_puts(path, fixed);
    if (segment)
        http_escape(path, segment);
    if (rest)
        buf_puts(path, rest);
}

void call_query(struct buf *path, const char *key, const char *value)
{
    if (!value)
        return;
    buf_putc(path, strchr(buf_str(path), '?') ? '&' : '?');
    buf_addf(path, "%s=", key);
    http_escape(path, value);
}

void call_query_number(struct buf *path, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    call_query(path, key, text);
}

/* ---- problems ---- */

static void add_problem(struct cli *cli, struct report *report, const struct text_node *node,
                        struct remedies *remedies)
{
    struct place place = { .line = (uint32_t)text_number(node, "line"),
                           .col = (uint32_t)text_number(node, "col"),
                           .len = (uint32_t)text_number(node, "len"),
                           .offset = (uint32_t)text_number(node, "offset") };
    bool warning = strcmp(answer_text(node, "severity", "error"), "warning") == 0;
    report_add(report, warning ? SEVERITY_WARNING : SEVERITY_ERROR, place, text_word(node, "path"),
               text_word(node, "what"), remedies_read(cli->arena, node, remedies));
}

/* The one problem that is no warning; NULL when there are more. */
static const struct text_node *only_error(const struct text_node *errors)
{
    const struct text_node *only = NULL;
    for (const struct text_node *n = errors ? errors->first : NULL; n; n = n->next) {
        if (strcmp(answer_text(n, "severity", "error"), "warning") == 0)
            continue;
        if (only)
            return NULL;
        only = n;
    }
    return only;
}

/* The problem document as an error; prints its field errors against text when file is not NULL. */
static void call_refused(struct cli *cli, const struct text_node *problem, const struct call *call,
                         struct err *err)
{
    const struct text_node *errors = text_get(problem, "errors");
    enum err_code code = err_from_word(answer_text(problem, "code", "system"));
    err_set(err, code, "%s",
            answer_text(problem, "detail", answer_text(problem, "title", "the server refused")));
    const char *hint = remedies_read(cli->arena, problem, &err->remedies);
    if (*hint)
        err_hint(err, "%s", hint);
    const struct text_node *large = code == ERR_CANNOT ? only_error(errors) : NULL;
    if (call && call->file)
        cli->refused.file = call->file;
    if (large && strcmp(text_word(large, "path"), "resources") == 0) {
        fprintf(stderr, "%s %s\n", call && call->file ? call->file : "this job",
                text_word(large, "what"));
        hint = remedies_read(cli->arena, large, &err->remedies);
        err_hint(err, "%s", hint);
        err->what[0] = '\0';
        return;
    }
    if (!call || !call->file || !errors || errors->count == 0)
        return;
    struct report report;
    struct remedies said = { .n = 0 };
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    report_init(&report, cli->arena);
    for (const struct text_node *n = errors->first; n; n = n->next)
        add_problem(cli, &report, n, &said);
    if (cli->json) {
        struct text_node *one = out_report(cli->arena, NULL, call->file, &report);
        text_bool(cli->arena, one, "ok", false);
        out_json(one);
    } else {
        report_print(&report, call->file, call->body, call->len, out_color_err(), &out);
        fputs(buf_str(&out), stderr);
    }
    if (!report.errors) /* what is wrong is not in the text: err says it */
        return;
    err_set(err, code, "%zu error%s in %s, nothing was %s", report.errors,
            report.errors == 1 ? "" : "s", call->file,
            strcmp(call->path, "/v1/catalogue") == 0 ? "declared" : "submitted");
    err->remedies = said;
}

static struct text_node *answer_tree(struct cli *cli, const struct http_response *response)
{
    struct report report;
    report_init(&report, cli->arena);
    return response->body.len ? json_parse(cli->arena, response->body.data, response->body.len,
                                           JSON_ANSWER, &report)
                              : NULL;
}

static int refused(struct cli *cli, const struct call *call, const struct http_response *response,
                   struct err *err)
{
    struct text_node *problem = answer_tree(cli, response);
    if (problem && answer_has(problem, "code"))
        call_refused(cli, problem, call, err);
    else
        err_set(err, response->status >= 500 ? ERR_UNAVAILABLE : ERR_SYSTEM,
                "the server answered %u to %s %s", response->status, call->method, call->path);
    return -1;
}

/* ---- one answer ---- */

/* "", "a/b" where a job is named: no job has such a name, and no route either. */
static int check_job(const char *path, struct err *err)
{
    static const char jobs[] = "/v1/jobs/", slash[] = "%2F";
    const char *at = path + sizeof jobs - 1;
    if (strncmp(path, jobs, sizeof jobs - 1) != 0)
        return 0;
    size_t len = strcspn(at, "/?");
    const char *found = strstr(at, slash);
    if (len > 0 && (!found || found >= at + len))
        return 0;
    const char *shown = found ? found : at;
    err_set(err, ERR_NOT_FOUND, "no job \"%.*s%s%.*s\"", (int)(found ? found - at : 0), at,
            found ? "/" : "", found ? (int)(at + len - found) - (int)(sizeof slash - 1) : 0,
            found ? shown + sizeof slash - 1 : "");
    return err_remedy(err, REMEDY_LIST_ALL);
}

struct text_node *call_send(struct cli *cli, const struct call *call, struct err *err)
{
    struct http_response response;
    struct pairs headers = { .at = NULL };
    struct text_node *tree = NULL;
    if (call->key)
        pairs_set(&headers, cli->arena, "Idempotency-Key", call->key);
    if (call->type)
        pairs_set(&headers, cli->arena, "Content-Type", call->type);
    if (check_job(call->path, err) < 0 || start_ended(cli, err) < 0 || call_open(cli, err) < 0)
        return NULL;
    struct http_ask ask = { .method = call->method,
                            .path = call->path,
                            .headers = &headers,
                            .body = call->sent ? call->sent : call->body,
                            .len = call->sent ? call->sent_len : call->len };
    if (http_call(cli->client, &ask, &response, err) < 0) {
        explain_gone(cli, err);
        return NULL;
    }
    if (response.status >= 400) {
        refused(cli, call, &response, err);
    } else {
        tree = answer_tree(cli, &response);
        if (!tree)
            err_set(err, ERR_SYSTEM, "the answer to %s %s is not JSON", call->method, call->path);
    }
    buf_fini(&response.body);
    return tree;
}

struct text_node *call_get(struct cli *cli, const char *path, struct err *err)
{
    return call_send(cli, &(struct call){ .method = "GET", .path = path }, err);
}

/* ---- streams ---- */

struct splitting {
    const struct call_stream *stream;
    struct buf partial;
    struct arena *arena; /* of one line */
};

static bool one_line(struct splitting *s, const char *text, size_t len)
{
    struct report report;
    if (len == 0)
        return true;
    arena_reset(s->arena);
    report_init(&report, s->arena);
    const struct text_node *node = json_parse(s->arena, text, len, 0, &report);
    return !node || s->stream->line(s->stream->arg, node);
}

static bool on_piece(void *arg, const void *data, size_t len)
{
    struct splitting *s = arg;
    const char *at = data, *end = at + len;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) {
            buf_add(&s->partial, at, (size_t)(end - at));
            break;
        }
        if (s->partial.len) {
            buf_add(&s->partial, at, (size_t)(stop - at));
            bool more = one_line(s, s->partial.data, s->partial.len);
            buf_clear(&s->partial);
            if (!more)
                return false;
        } else if (!one_line(s, at, (size_t)(stop - at))) {
            return false;
        }
        at = stop + 1;
    }
    fflush(stdout);
    return true;
}

static int stream(struct cli *cli, const struct http_ask *ask, struct err *err)
{
    struct http_response response;
    if (check_job(ask->path, err) < 0 || start_ended(cli, err) < 0 || call_open(cli, err) < 0)
        return -1;
    int rc = http_call(cli->client, ask, &response, err);
    if (rc < 0) {
        explain_gone(cli, err);
        return -1;
    }
    if (response.status >= 400)
        rc = refused(cli, &(struct call){ .method = ask->method, .path = ask->path }, &response,
                     err);
    buf_fini(&response.body);
    return rc;
}

int call_bytes(struct cli *cli, const struct call_bytes *bytes, struct err *err)
{
    const struct http_ask ask = {
        .method = bytes->method, .path = bytes->path, .data = bytes->data, .arg = bytes->arg
    };
    return stream(cli, &ask, err);
}

int call_stream(struct cli *cli, const struct call_stream *of, struct err *err)
{
    struct splitting s = { .stream = of, .partial = BUF_INIT(LINE_MAX_BYTES) };
    s.arena = arena_create();
    const struct http_ask ask = { .method = of->body ? "POST" : "GET",
                                  .path = of->path,
                                  .body = of->body,
                                  .len = of->body ? strlen(of->body) : 0,
                                  .data = on_piece,
                                  .arg = &s };
    int rc = stream(cli, &ask, err);
    fflush(stdout);
    buf_fini(&s.partial);
    arena_destroy(s.arena);
    return rc;
}
