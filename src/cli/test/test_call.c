/* Talking to a server: answers, problems, streams, and a server that dies and comes back. The
 * server is a child process with canned answers on a socket in a directory of its own. */
#include "cli/call.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/follow.h"
#include "cli/state_dir.h"
#include "http/server.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <uv.h>

#include <cmocka.h>

/* ---- the server ---- */

static void answer(struct http_request *r, unsigned status, const char *type, const char *text)
{
    http_answer(r, status, type, text, strlen(text));
}

static void stream(struct http_request *r, const char *const *pieces, bool end)
{
    http_stream_begin(r, 200, "application/x-ndjson", 1 << 20, NULL);
    for (size_t i = 0; pieces[i]; i++)
        http_stream_write(r, pieces[i], strlen(pieces[i]));
    if (end)
        http_stream_end(r);
}

/* Three records; the first server stops in the middle, without an end. */
static void events(struct http_request *r)
{
    static const char *const first[] = { "{\"seq\":1}\n{\"se", "q\":2}\n", NULL };
    static const char *const rest[] = { "{\"seq\":3}\n", "{\"end\":true,\"state\":\"succeeded\"}\n",
                                        NULL };
    const char *after = http_query(r, "after", 0);
    if (after && strcmp(after, "2") == 0)
        stream(r, rest, true);
    else
        stream(r, first, strcmp(http_query(r, "cut", 0), "closes") == 0);
}

static const char problem[] =
    "{\"title\":\"invalid\",\"status\":400,\"code\":\"invalid\",\"detail\":\"memory is 64\","
    "\"hint\":\"write 100\"}";
static const char problems[] =
    "{\"code\":\"invalid\",\"detail\":\"2 errors\",\"errors\":[{\"line\":1,\"col\":2,\"offset\":1,\"len\":3,\"what\":\"a\","
    "\"hint\":\"b\",\"severity\":\"error\"},{\"what\":\"c\",\"severity\":\"warning\"},{\"what\":\"d\"}]}";
static const char large[] =
    "{\"code\":\"cannot\",\"detail\":\"x\",\"errors\":[{\"what\":\"w\",\"severity\":\"warning\"},{\"path\":\"resources\","
    "\"what\":\"cannot run here\",\"hint\":\"smaller: --set a=0; wait: muster submit --wait f\"}]}";

static void handle(void *arg, struct http_request *r)
{
    const char *path = http_path(r);
    size_t len;
    (void)arg;
    if (strcmp(path, "/healthz") == 0)
        answer(r, 200, "application/json", "{\"ok\":true}");
    else if (strcmp(path, "/events") == 0)
        events(r);
    else if (strcmp(path, "/problem") == 0)
        answer(r, 400, "application/problem+json", problem);
    else if (strcmp(path, "/problems") == 0)
        answer(r, 400, "application/problem+json", problems);
    else if (strcmp(path, "/large") == 0)
        answer(r, 422, "application/problem+json", large);
    else if (strcmp(path, "/broken") == 0)
        answer(r, 500, "text/plain", "oops");
    else if (strcmp(path, "/text") == 0)
        answer(r, 200, "text/plain", "hello");
    else if (strcmp(path, "/v1/jobs/a b?/stop") == 0)
        answer(r, 200, "application/json", http_query(r, "now", 0));
    else if (strcmp(path, "/echo") == 0)
        answer(r, 200, "application/json", http_body(r, &len));
    else
        answer(r, 404, "application/problem+json",
               "{\"code\":\"not_found\",\"detail\":\"no job\"}");
}

_Noreturn static void serve(const char *socket, int ready)
{
    uv_loop_t loop;
    struct err err;
    struct http_config config = { .loop = &loop,
                                  .socket_path = socket,
                                  .max_body = 1 << 20,
                                  .max_connections = 100,
                                  .idle_timeout_s = 60,
                                  .handle = handle };
    uv_loop_init(&loop);
    if (!http_server_create(&config, &err))
        _exit(1);
    if (write(ready, "x", 1) != 1)
        _exit(1);
    uv_run(&loop, UV_RUN_DEFAULT);
    _exit(0);
}

struct world {
    struct cli cli;
    char dir[32];
    pid_t server;
    uint64_t last;
    unsigned records, gone, back;
    const char *cut;
    bool dies;
};

static void start_server(struct world *w)
{
    int ready[2];
    char c;
    char *socket = state_dir_socket(w->dir);
    assert_int_equal(pipe(ready), 0);
    fflush(NULL);
    w->server = fork();
    if (w->server == 0)
        serve(socket, ready[1]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    free(socket);
}

static void kill_server(struct world *w)
{
    if (w->server <= 0)
        return;
    kill(w->server, SIGKILL);
    waitpid(w->server, NULL, 0);
    w->server = 0;
}

static int begin(void **state)
{
    struct world *w = mem_new(sizeof *w);
    memcpy(w->dir, "/tmp/muster-call-XXXXXX", sizeof "/tmp/muster-call-XXXXXX");
    if (!mkdtemp(w->dir))
        return -1;
    w->cli = (struct cli){ .arena = arena_create(), .state_dir = w->dir };
    start_server(w);
    *state = w;
    return 0;
}

static int end(void **state)
{
    struct world *w = *state;
    kill_server(w);
    call_drop(&w->cli);
    arena_destroy(w->cli.arena);
    int rc = file_remove_tree(w->dir, NULL);
    free(w);
    return rc;
}

/* ---- answers ---- */

static void answers_are_trees(void **state)
{
    struct world *w = *state;
    struct err err;
    const char body[] = "{\"a\":[1,2]}";
    struct text_node *tree = call_get(&w->cli, "/healthz", &err);
    assert_true(text_flag(tree, "ok"));
    tree = call_send(
        &w->cli,
        &(struct call){
            .method = "POST", .path = "/echo", .body = body, .len = strlen(body), .key = "k" },
        &err);
    assert_int_equal(text_get(tree, "a")->count, 2);
    assert_true(call_server_lives(&w->cli));
}

static void paths_are_escaped(void **state)
{
    struct world *w = *state;
    struct buf path = BUF_INIT(1024);
    struct err err;
    call_path(&path, "/v1/jobs/", "a b?", "/stop");
    call_query(&path, "none", NULL);
    call_query_number(&path, "now", 17);
    call_query(&path, "set", "a=b&c");
    assert_string_equal(path.data, "/v1/jobs/a%20b%3F/stop?now=17&set=a%3Db%26c");
    struct text_node *tree = call_get(&w->cli, path.data, &err);
    assert_non_null(tree);
    assert_int_equal(tree->integer, 17);
    buf_fini(&path);
}

static void problems_are_errors(void **state)
{
    struct world *w = *state;
    struct err err;
    assert_null(call_get(&w->cli, "/problem", &err));
    assert_int_equal(err.code, ERR_INPUT);
    assert_string_equal(err.what, "memory is 64");
    assert_string_equal(err.hint, "write 100");
    assert_null(call_get(&w->cli, "/nothing", &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_null(call_get(&w->cli, "/broken", &err));
    assert_int_equal(err.code, ERR_UNAVAILABLE);
    assert_null(call_get(&w->cli, "/text", &err));
    assert_int_equal(err.code, ERR_SYSTEM);
}

static void field_errors_are_counted(void **state)
{
    struct world *w = *state;
    struct err err;
    struct call call = {
        .method = "POST", .path = "/problems", .body = "{\"a\": 1}", .len = 8, .file = "job.json"
    };
    assert_null(call_send(&w->cli, &call, &err));
    assert_string_equal(err.what, "2 errors in job.json, nothing was submitted");
    call.path = "/large"; /* said in full already */
    assert_null(call_send(&w->cli, &call, &err));
    assert_int_equal(err.code, ERR_CANNOT);
    assert_string_equal(err.what, "");
}

static void nobody_answers(void **state)
{
    struct world *w = *state;
    struct remedy remedy;
    struct err err;
    size_t at = 0;
    kill_server(w);
    assert_null(call_get(&w->cli, "/healthz", &err));
    assert_int_equal(err_exit_status(err.code), 4);
    assert_non_null(strstr(err.what, w->dir));
    assert_true(remedies_next(&err.remedies, &at, w->cli.arena, &remedy));
    assert_int_equal(remedy.id, REMEDY_SERVER_START);
    assert_false(call_server_lives(&w->cli));
}

/* ---- streams ---- */

static bool count_one(void *arg, const struct text_node *node)
{
    unsigned *n = arg;
    assert_int_equal(text_number(node, "seq"), *n + 1);
    return ++*n < 1;
}

static bool count_all(void *arg, const struct text_node *node)
{
    unsigned *n = arg;
    assert_int_equal(text_number(node, "seq"), ++*n);
    return true;
}

static void streams_are_lines(void **state)
{
    struct world *w = *state;
    struct err err;
    unsigned n = 0;
    struct call_stream s = { .path = "/events?cut=closes", .line = count_all, .arg = &n };
    assert_int_equal(call_stream(&w->cli, &s, &err), 0);
    assert_int_equal(n, 2);
    n = 0;
    s.line = count_one;
    assert_int_equal(call_stream(&w->cli, &s, &err), 0);
    assert_int_equal(n, 1);
    s.path = "/problem";
    assert_int_equal(call_stream(&w->cli, &s, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
}

static void want(void *arg, struct buf *path, struct buf *body)
{
    struct world *w = arg;
    (void)body;
    call_path(path, "/events", NULL, NULL);
    call_query(path, "cut", w->cut);
    call_query_number(path, "after", w->last);
}

static bool on_record(void *arg, const struct text_node *node)
{
    struct world *w = arg;
    assert_int_equal(text_number(node, "seq"), w->last + 1); /* none lost, none doubled */
    w->last++;
    if (w->dies && ++w->records == 2)
        kill_server(w);
    return true;
}

static void on_gone(void *arg)
{
    struct world *w = arg;
    w->gone++;
    start_server(w);
}

static void on_back(void *arg, uint64_t after_ms)
{
    struct world *w = arg;
    (void)after_ms;
    w->back++;
}

static void a_closed_stream_goes_on(void **state)
{
    struct world *w = *state;
    struct err err;
    struct follow f = {
        .request = want, .record = on_record, .gone = on_gone, .back = on_back, .arg = w
    };
    w->cut = "closes";
    assert_int_equal(follow_run(&w->cli, &f, &err), 0);
    assert_int_equal(w->last, 3);
    assert_string_equal(f.state, "succeeded");
    assert_int_equal(w->gone, 0);
}

static void a_dead_server_is_waited_for(void **state)
{
    struct world *w = *state;
    struct err err;
    struct follow f = {
        .request = want, .record = on_record, .gone = on_gone, .back = on_back, .arg = w
    };
    w->cut = "hangs";
    w->dies = true;
    assert_int_equal(follow_run(&w->cli, &f, &err), 0);
    assert_int_equal(w->last, 3);
    assert_int_equal(w->gone, 1);
    assert_int_equal(w->back, 1);
    assert_string_equal(f.state, "succeeded");
}

/* server.json as the server writes it. */
static void announce(struct world *w, const char *dir)
{
    char text[512], path[64];
    struct err err;
    char *socket = state_dir_socket(w->dir);
    int n = snprintf(text, sizeof text, "{\"socket\":\"%s\",\"state_dir\":\"%s\"}", socket, w->dir);
    snprintf(path, sizeof path, "%s/server.json", dir);
    assert_int_equal(file_replace(path, text, (size_t)n, 0600, &err), 0);
    free(socket);
}

/* What it says of the server is true in the directory that it was written for. */
static void a_copy_has_no_server(void **state)
{
    struct world *w = *state;
    char copy[] = "/tmp/muster-copy-XXXXXX", link[40];
    assert_non_null(mkdtemp(copy));
    snprintf(link, sizeof link, "%s/link", copy);
    assert_int_equal(symlink(w->dir, link), 0);
    announce(w, copy);
    w->cli.state_dir = copy;
    assert_false(call_server_lives(&w->cli));
    announce(w, w->dir);
    w->cli.state_dir = link; /* the same directory by another name */
    assert_true(call_server_lives(&w->cli));
    assert_int_equal(file_remove_tree(copy, NULL), 0);
}

static void want_nothing(void *arg, struct buf *path, struct buf *body)
{
    (void)arg;
    (void)body;
    call_path(path, "/nothing", NULL, NULL);
}

static void a_refusal_ends_it(void **state)
{
    struct world *w = *state;
    struct err err;
    struct follow f = { .request = want_nothing, .record = on_record, .arg = w };
    assert_int_equal(follow_run(&w->cli, &f, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(answers_are_trees),       CASE(paths_are_escaped),
        CASE(problems_are_errors),     CASE(field_errors_are_counted),
        CASE(nobody_answers),          CASE(streams_are_lines),
        CASE(a_closed_stream_goes_on), CASE(a_dead_server_is_waited_for),
        CASE(a_refusal_ends_it),       CASE(a_copy_has_no_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
