/* The API as its clients meet it: real requests over a Unix socket and TCP against a core with a
 * temporary store and the engine of the core's own tests. The client runs in a thread, the loop and
 * the core in the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/facade.h"

#include "answer/tasks.h"
#include "base/file.h"
#include "base/mem.h"
#include "ctl/test/world.h"
#include "http/client.h"
#include "http/test/beside.h"
#include "text/json.h"
#include "wire/record.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define TOKEN "0123456789abcdef0123456789abcdef"
#define JOB(name)                                                                                  \
    "{\"name\": \"" name                                                                           \
    "\", \"roles\": {\"w\": {\"run\": \"x\", \"replicas\": 2, \"resources\": {\"cpu\": 1}}}}"

struct fix {
    struct world world; /* first */
    struct beside beside;
    uv_prepare_t turn;
    volatile unsigned turns;
    volatile bool still; /* agents and timers wait */
    uv_timer_t beat;     /* agents do one thing at a beat */
    struct api *api;
    struct http_server *server;
    char socket[96], address[64];
    bool stop_asked;
    void (*run)(struct fix *);
};

/* ---- the server ---- */

static void on_turn(uv_prepare_t *handle)
{
    struct fix *f = handle->data;
    f->turns++;
    ctl_turn(f->world.ctl);
}

static void on_beat(uv_timer_t *handle)
{
    struct fix *f = handle->data;
    if (!f->still)
        world_step(&f->world);
}

static void on_stop(void *arg)
{
    ((struct fix *)arg)->stop_asked = true;
}

static const struct api_setting settings[] = {
    { .name = "queues", .value = "default", .from = "default", .doc = "known queues" },
};

static void start_loop(struct fix *f)
{
    beside_init(&f->beside);
    uv_prepare_init(&f->beside.loop, &f->turn);
    uv_timer_init(&f->beside.loop, &f->beat);
    f->turn.data = f->beat.data = f;
    uv_prepare_start(&f->turn, on_turn);
    uv_timer_start(&f->beat, on_beat, 1, 1);
}

/* ---- a façade that shows what façades share ---- */

static bool other_takes(const struct call *call)
{
    return strncmp(http_path(call->request), "/other/", 7) == 0;
}

static int other_say(struct call *call, const struct words *path, struct buf *out, struct err *err)
{
    const char *what = path->n > 1 ? path->at[1] : "";
    struct facade_log log = { .role = "w" };
    struct facade_page page = { 0 };
    struct text_node *body;
    struct words lines;
    size_t first = 0;
    if (strcmp(what, "page") == 0) {
        const struct facade_paging paging = {
            .number = "PageNumber", .size = "PageSize", .first = 20, .most = 100
        };
        if (facade_page_read(call, &paging, &page, err) < 0)
            return -1;
        size_t n = facade_page_of(&page, 45, &first);
        buf_addf(out, "%zu from %zu, %llu", n, first, (unsigned long long)page.offset);
    } else if (strcmp(what, "body") == 0) {
        if (facade_body(call, FACADE_JSON | FACADE_YAML | FACADE_FORM, &body, err) < 0)
            return -1;
        if (body)
            json_print(body, 0, out);
    } else if (strcmp(what, "log") == 0) {
        log.times = call_flag(call, "times");
        log.previous = call_flag(call, "previous");
        log.index = call_flag(call, "second");
        log.max = call_flag(call, "short") ? 9 : 0;
        if (!call_u64(call, "lines", 0, 100, &log.lines, err) ||
            answer_find_for(call->api->config.ctl, &call->who, "out", &log.job, err) < 0 ||
            facade_log_lines(call, &log, &lines, err) < 0)
            return -1;
        for (size_t i = 0; i < lines.n; i++)
            buf_addf(out, "[%s]", lines.at[i]);
    } else {
        buf_addf(out, "%s %zu %s %s %s %zu", call->owner, path->n, what,
                 facade_time(call->arena, 1700000000123),
                 facade_time_ms(call->arena, 1700000000123), strlen(facade_uuid(call->arena)));
    }
    return 0;
}

static void other_handle(struct call *call)
{
    AUTO_BUF struct buf out = BUF_INIT(1u << 20);
    struct words path;
    struct err err = { 0 };
    int rc = facade_bearer(call, &err);
    if (rc > 0)
        err_set(&err, ERR_UNAUTHENTICATED, "nobody asks");
    if (rc == 0 && !facade_segments(call, &path))
        rc = err_set(&err, ERR_INPUT, "a bad path");
    if (rc == 0)
        rc = other_say(call, &path, &out, &err);
    if (rc != 0)
        call_problem(call, &err, NULL);
    else
        call_text(call, 200, "text/plain", buf_str(&out), out.len);
}

static const struct facade other_facade = { .name = "other",
                                            .takes = other_takes,
                                            .handle = other_handle };
static const struct facade *const facades[] = { &other_facade };

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    struct err err = { 0 };
    world_init(&f->world);
    f->world.code_all = FAKE_RUNS;
    start_loop(f);
    snprintf(f->socket, sizeof f->socket, "%s/sock", f->world.dir);
    struct api_config c = { .loop = &f->beside.loop,
                            .ctl = f->world.ctl,
                            .token = TOKEN,
                            .version = "9.9",
                            .state_dir = f->world.dir,
                            .answer_us = 1,
                            .socket_path = f->socket,
                            .started_ms = 1,
                            .settings = settings,
                            .n_settings = 1,
                            .facades = facades,
                            .n_facades = 1,
                            .stop = on_stop,
                            .stop_arg = f };
    f->api = api_create(&c, &err);
    assert_non_null(f->api);
    struct http_config h = { .loop = &f->beside.loop,
                             .socket_path = f->socket,
                             .host = "127.0.0.1",
                             .max_body = 1u << 20,
                             .max_connections = 20,
                             .idle_timeout_s = 30,
                             .handle = api_handle,
                             .arg = f->api };
    f->server = http_server_create(&h, &err);
    assert_non_null(f->server);
    snprintf(f->address, sizeof f->address, "http://127.0.0.1:%u", http_server_port(f->server));
    api_set_server(f->api, f->server, f->address);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    http_server_destroy(f->server);
    uv_close((uv_handle_t *)&f->turn, NULL);
    uv_close((uv_handle_t *)&f->beat, NULL);
    beside_fini(&f->beside);
    api_destroy(f->api);
    world_fini(&f->world);
    free(f);
    return 0;
}

static void run_client(void *arg)
{
    struct fix *f = arg;
    f->run(f);
}

static void with_client(void **state, void (*run)(struct fix *))
{
    struct fix *f = *state;
    f->run = run;
    beside_run(&f->beside, run_client, f);
}

/* ---- the client ---- */

struct reply { /* freed by reply_fini; root is NULL when the body is not JSON */
    struct http_response http;
    struct arena *arena;
    struct text_node *root;
};

struct asking {
    const char *method, *path, *body, *token, *type, *cookie, *page, *host;
    bool tcp;
};

static struct reply ask(struct fix *f, const struct asking *a)
{
    struct reply r = { .arena = arena_create() };
    struct err err = { 0 };
    struct report report;
    struct pairs headers = { 0 };
    if (a->type)
        pairs_set(&headers, r.arena, "Content-Type", a->type);
    if (a->cookie)
        pairs_set(&headers, r.arena, "Cookie", a->cookie);
    if (a->page)
        pairs_set(&headers, r.arena, "X-Muster-Page", a->page);
    if (a->host)
        pairs_set(&headers, r.arena, "Host", a->host);
    struct http_client_config c = { .socket_path = a->tcp ? NULL : f->socket,
                                    .url = a->tcp ? f->address : NULL,
                                    .token = a->token,
                                    .timeout_ms = 20000 };
    struct http_client *client = http_client_create(&c, &err);
    struct http_ask http = { .method = a->method,
                             .path = a->path,
                             .headers = &headers,
                             .body = a->body,
                             .len = a->body ? strlen(a->body) : 0 };
    if (!client || http_call(client, &http, &r.http, &err) < 0)
        fail_msg("%s %s: %s", a->method, a->path, err.what);
    http_client_destroy(client);
    report_init(&report, r.arena);
    r.root = json_parse(r.arena, r.http.body.data, r.http.body.len, 0, &report);
    return r;
}

static void reply_fini(struct reply *r)
{
    buf_fini(&r->http.body);
    arena_destroy(r->arena);
}

static struct reply call(struct fix *f, const char *method, const char *path, const char *body)
{
    return ask(f, &(struct asking){ .method = method, .path = path, .body = body });
}

static void expect(struct fix *f, const char *method, const char *path, const char *body,
                   unsigned status, const char *part)
{
    struct reply r = call(f, method, path, body);
    if (r.http.status != status || (part && !strstr(buf_str(&r.http.body), part)))
        fail_msg("%s %s: %u %s", method, path, r.http.status, buf_str(&r.http.body));
    if (status >= 400)
        assert_string_equal(r.http.type, "application/problem+json");
    reply_fini(&r);
}

static const char *str_of(const struct text_node *map, const char *key)
{
    const struct text_node *node = map ? text_get(map, key) : NULL;
    if (!node || node->kind != TEXT_STR)
        fail_msg("no text at \"%s\"", key);
    return node->str;
}

static int64_t int_of(const struct text_node *map, const char *key)
{
    const struct text_node *node = map ? text_get(map, key) : NULL;
    if (!node || node->kind != TEXT_INT)
        fail_msg("no number at \"%s\"", key);
    return node->integer;
}

static void submit(struct fix *f, const char *text)
{
    expect(f, "POST", "/v1/jobs", text, 201, "\"queued\"");
}

/* Until the job is in the state: the loop turns in the other thread. */
static void await(struct fix *f, const char *path, const char *word)
{
    for (int i = 0; i < 5000; i++) {
        struct reply r = call(f, "GET", path, NULL);
        bool there =
            r.root && text_get(r.root, "state") && strcmp(str_of(r.root, "state"), word) == 0;
        reply_fini(&r);
        if (there)
            return;
    }
    fail_msg("%s is never %s", path, word);
}

/* ---- submitting ---- */

static void submit_good(struct fix *f)
{
    struct reply r = call(f, "POST", "/v1/jobs?file=a.json&cwd=/tmp", JOB("one"));
    assert_int_equal(r.http.status, 201);
    assert_string_equal(r.http.type, "application/json");
    assert_int_equal(int_of(r.root, "number"), 1);
    assert_string_equal(str_of(r.root, "name"), "one");
    assert_int_equal(strlen(str_of(r.root, "id")), 13);
    reply_fini(&r);
    await(f, "/v1/jobs/one", "running");
    expect(f, "GET", "/v1/jobs/1?tasks=1&spec=1&timeline=1&origin=1", NULL, 200, "\"task_list\"");
    expect(f, "GET", "/v1/jobs/1/tasks", NULL, 200, "{\"tasks\":[{\"name\":\"w/0\"");
    expect(f, "GET", "/v1/jobs/1/tasks", NULL, 200, "},{\"name\":\"w/1\"");
    expect(f, "GET", "/v1/jobs/1?timeline=1", NULL, 200, "\"timeline\":[{\"seq\":");
    expect(f, "GET", "/v1/jobs/1/origin", NULL, 200, "\"replicas\": 2");
    expect(f, "GET", "/v1/jobs/1/explain", NULL, 200, NULL);
    expect(f, "POST", "/v1/jobs?like=1&name=again", NULL, 201, "\"again\"");
    expect(f, "POST", "/v1/jobs?like=77", NULL, 404, "not_found");
}

static void a_job_is_taken_and_shown(void **state)
{
    with_client(state, submit_good);
}

static void submit_bad(struct fix *f)
{
    struct reply r =
        call(f, "POST", "/v1/jobs",
             "{\"name\": \"a\",\n \"roles\": {\"w\": {\"run\": \"x\", \"comand\": \"x\"}}}");
    assert_int_equal(r.http.status, 400);
    assert_string_equal(r.http.type, "application/problem+json");
    assert_string_equal(str_of(r.root, "code"), "invalid");
    assert_int_equal(int_of(r.root, "status"), 400);
    const struct text_node *errors = text_get(r.root, "errors");
    assert_non_null(errors);
    assert_true(errors->count >= 1);
    assert_int_equal(int_of(errors->last, "line"), 2);
    assert_string_equal(str_of(errors->last, "severity"), "error");
    reply_fini(&r);
    expect(f, "POST", "/v1/jobs", "{", 400, "\"errors\"");
    expect(f, "POST", "/v1/jobs", "", 400, "\"code\"");
    expect(f, "POST", "/v1/jobs?env=NOVALUE", JOB("x"), 400, "NAME=VALUE");
    expect(f, "POST", "/v1/jobs?from=nothing", JOB("x"), 400, "nothing");
    expect(f, "GET", "/v1/jobs", NULL, 200, "\"jobs\":[]");
}

static void a_bad_job_is_answered_with_every_place(void **state)
{
    with_client(state, submit_bad);
}

static void dry(struct fix *f)
{
    expect(f, "POST", "/v1/jobs?dry_run=1", JOB("dry"), 200, "\"starting\"");
    expect(f, "POST", "/v1/explain", JOB("dry"), 200, "\"dry\"");
    expect(f, "GET", "/v1/jobs/dry", NULL, 404, "not_found");
}

static void a_dry_run_stores_nothing(void **state)
{
    with_client(state, dry);
}

static void batch(struct fix *f)
{
    struct reply r = ask(f, &(struct asking){ .method = "POST",
                                              .path = "/v1/jobs?env=A=b",
                                              .type = "application/x-ndjson",
                                              .body = JOB("b1") "\n\n  \n{\"bad\"\n" JOB("b2") });
    assert_int_equal(r.http.status, 200);
    assert_string_equal(r.http.type, "application/x-ndjson");
    const char *text = buf_str(&r.http.body), *second = strchr(text, '\n') + 1,
               *third = strchr(second, '\n') + 1;
    assert_non_null(strstr(text, "\"number\":1"));
    assert_non_null(strstr(second, "\"status\":400"));
    assert_true(strstr(second, "\"status\":400") < third);
    assert_non_null(strstr(third, "\"number\":2"));
    assert_null(strchr(strchr(third, '\n') + 1, '\n'));
    reply_fini(&r);
    r = ask(f, &(struct asking){ .method = "POST",
                                 .path = "/v1/jobs",
                                 .type = "application/x-ndjson",
                                 .body = "\n\n" });
    assert_int_equal(r.http.status, 200);
    assert_int_equal(r.http.body.len, 0);
    reply_fini(&r);
}

static void a_batch_answers_line_by_line(void **state)
{
    with_client(state, batch);
}

/* ---- lists and commands ---- */

static void lists(struct fix *f)
{
    submit(f, JOB("l1"));
    submit(f, JOB("l2"));
    submit(f, JOB("l3"));
    struct reply first = call(f, "GET", "/v1/jobs?limit=2", NULL);
    const struct text_node *jobs = text_get(first.root, "jobs");
    assert_int_equal(jobs->count, 2);
    assert_string_equal(str_of(jobs->first, "name"), "l3");
    char path[96];
    snprintf(path, sizeof path, "/v1/jobs?limit=2&before=%s", str_of(first.root, "next"));
    reply_fini(&first);
    struct reply rest = call(f, "GET", path, NULL);
    jobs = text_get(rest.root, "jobs");
    assert_int_equal(jobs->count, 1);
    assert_string_equal(str_of(jobs->first, "name"), "l1");
    assert_true(!text_get(rest.root, "next") || text_get(rest.root, "next")->kind == TEXT_NULL);
    reply_fini(&rest);
    expect(f, "GET", "/v1/jobs?name=l2", NULL, 200, "\"l2\"");
    expect(f, "GET", "/v1/jobs?owner=nobody-here", NULL, 200, "\"jobs\":[]");
    expect(f, "GET", "/v1/jobs?state=failed,stopped", NULL, 200, "\"jobs\":[]");
    expect(f, "GET", "/v1/jobs?state=asleep", NULL, 400, "\\\"asleep\\\" is not a state");
    expect(f, "GET", "/v1/jobs?limit=0", NULL, 400, "from 1 to 1000");
    expect(f, "GET", "/v1/jobs?limit=ten", NULL, 400, "limit is");
    expect(f, "GET", "/v1/jobs?before=nowhere", NULL, 400, "not a job id");
}

static void lists_are_filtered_and_paged(void **state)
{
    with_client(state, lists);
}

static void commands(struct fix *f)
{
    submit(f, JOB("c"));
    await(f, "/v1/jobs/c", "running");
    expect(f, "DELETE", "/v1/jobs/c", NULL, 409, "\"hint\"");
    expect(f, "POST", "/v1/jobs/c/suspend", NULL, 202, "\"number\":1");
    await(f, "/v1/jobs/c", "suspended");
    expect(f, "POST", "/v1/jobs/c/resume", NULL, 202, NULL);
    await(f, "/v1/jobs/c", "running");
    expect(f, "POST", "/v1/jobs/c/stop?now=1", NULL, 202, NULL);
    await(f, "/v1/jobs/c", "stopped");
    struct reply r = call(f, "DELETE", "/v1/jobs/1", NULL);
    assert_true(r.http.status == 200 || r.http.status == 202);
    reply_fini(&r);
    expect(f, "GET", "/v1/jobs/1", NULL, 404, "not_found");
    expect(f, "POST", "/v1/jobs/1/stop", NULL, 404, "not_found");
}

static void commands_change_the_job(void **state)
{
    with_client(state, commands);
}

static void nodes(struct fix *f)
{
    expect(f, "GET", "/v1/nodes", NULL, 200, "\"cpu_milli\":4000");
    struct reply r = call(f, "POST", "/v1/nodes/n1/drain", NULL);
    assert_true(r.http.status < 300);
    reply_fini(&r);
    expect(f, "GET", "/v1/nodes", NULL, 200, "\"drained\"");
    r = call(f, "POST", "/v1/nodes/n1/undrain", NULL);
    assert_true(r.http.status < 300);
    reply_fini(&r);
    expect(f, "POST", "/v1/nodes/n9/drain", NULL, 404, "n9");
}

static void nodes_are_drained(void **state)
{
    with_client(state, nodes);
}

static void dry_drains(struct fix *f)
{
    submit(f, JOB("one"));
    await(f, "/v1/jobs/1", "running");
    struct reply r = call(f, "POST", "/v1/nodes/n1/drain?dry_run=1", NULL);
    assert_int_equal(r.http.status, 200);
    assert_int_equal(text_get(r.root, "tasks")->count, 2);
    assert_string_equal(str_of(text_get(r.root, "tasks")->first, "to"), "n2");
    reply_fini(&r);
    expect(f, "POST", "/v1/nodes/n9/drain?dry_run=1", NULL, 404, "n9");
    expect(f, "GET", "/v1/nodes", NULL, 200, "\"state\":\"up\"");
    expect(f, "GET", "/v1/nodes", NULL, 200, "\"blocks\":{\"8\":0,\"4\":0,\"2\":2,\"1\":0}");
}

static void a_dry_drain_changes_nothing(void **state)
{
    with_client(state, dry_drains);
}

/* ---- queues ---- */

static void queues(struct fix *f)
{
    static const char text[] = "{\"kind\": \"quota\", \"name\": \"a\\\"b\", \"guaranteed\": "
                               "{\"gpu\": 1}, \"maximum\": {\"cpu\": 2.5}}";
    expect(f, "GET", "/v1/queues", NULL, 200, "\"name\":\"default\"");
    expect(f, "POST", "/v1/catalogue", text, 200, "created");
    submit(f, JOB("one"));
    await(f, "/v1/jobs/1", "running");
    struct reply r = call(f, "GET", "/v1/queues/default", NULL);
    const struct text_node *queue = text_get(r.root, "queues")->first;
    assert_int_equal(int_of(queue, "running"), 1);
    assert_int_equal(int_of(text_get(queue, "used"), "cpu_milli"), 2000);
    assert_int_equal(text_get(queue, "users")->count, 1);
    reply_fini(&r);
    expect(f, "GET", "/v1/queues/defautl", NULL, 404, "default");
    expect(f, "GET", "/metrics", NULL, 200,
           "muster_queue_jobs{queue=\"default\",state=\"running\"} 1\n");
    expect(f, "GET", "/metrics", NULL, 200,
           "muster_queue_used{queue=\"default\",resource=\"cpu\"} 2\n");
    expect(f, "GET", "/metrics", NULL, 200,
           "muster_queue_maximum{queue=\"a\\\"b\",resource=\"cpu\"} 2.5\n");
    expect(f, "GET", "/metrics", NULL, 200, "muster_plan_seconds_bucket{le=\"+Inf\"} ");
    expect(f, "GET", "/metrics", NULL, 200, "muster_free_gpu_blocks{size=\"2\"} 2\n");
}

static void queues_are_shown_and_measured(void **state)
{
    with_client(state, queues);
}

/* ---- the server about itself ---- */

static void about(struct fix *f)
{
    expect(f, "GET", "/healthz", NULL, 200, "{\"ok\":true}");
    expect(f, "GET", "/readyz", NULL, 200, "{\"ok\":true}");
    expect(f, "GET", "/v1/server", NULL, 200, "\"version\":\"9.9\"");
    expect(f, "GET", "/v1/config", NULL, 200, "\"known queues\"");
    expect(f, "GET", "/metrics", NULL, 200, "muster_jobs{state=\"running\"} 0\n");
    expect(f, "GET", "/", NULL, 200, "<title>muster</title>");
    assert_false(f->stop_asked);
    expect(f, "POST", "/v1/server/stop", NULL, 202, "\"pid\"");
    assert_true(f->stop_asked);
}

static void the_server_tells_about_itself(void **state)
{
    with_client(state, about);
}

static void wrong_places(struct fix *f)
{
    static const char *const nowhere[] = {
        "/v2", "/v1/jobs/", "/v1/jobs//stop", "/v1/jobs/1/logs/more", "/v1/nodes/n1", "//"
    };
    for (size_t i = 0; i < ARRAY_LEN(nowhere); i++)
        expect(f, "GET", nowhere[i], NULL, 404, "openapi.json");
    expect(f, "GET", "/v1/jobs/999", NULL, 404, "not_found");
    expect(f, "GET", "/v1/jobs/no-such/events", NULL, 404, "not_found");
    expect(f, "GET", "/v1/jobs/no-such/logs", NULL, 404, "not_found");
    expect(f, "PUT", "/v1/jobs", "x", 405, "it takes GET, POST");
    expect(f, "GET", "/v1/jobs/1/stop", NULL, 405, "it takes POST");
    expect(f, "DELETE", "/v1/server", NULL, 405, "it takes GET");
}

static void unknown_places_and_methods_are_refused(void **state)
{
    with_client(state, wrong_places);
}

static void openapi(struct fix *f)
{
    size_t n;
    const struct route *routes = api_routes(&n);
    struct reply r = call(f, "GET", "/v1/openapi.json", NULL);
    assert_string_equal(str_of(r.root, "openapi"), "3.1.0");
    const struct text_node *paths = text_get(r.root, "paths");
    const struct text_node *schemas = text_get(text_get(r.root, "components"), "schemas");
    for (size_t i = 0; i < n; i++) {
        const struct text_node *path = text_get(paths, routes[i].path);
        char method[8] = "";
        for (size_t k = 0; routes[i].method[k]; k++)
            method[k] = (char)(routes[i].method[k] | 0x20);
        if (!path || !text_get(path, method))
            fail_msg("%s %s is not described", routes[i].method, routes[i].path);
        assert_string_equal(str_of(text_get(path, method), "summary"), routes[i].summary);
        if (routes[i].answer && !text_get(schemas, routes[i].answer))
            fail_msg("schema %s is not there", routes[i].answer);
    }
    assert_non_null(text_get(schemas, "Problem"));
    assert_non_null(text_get(schemas, "JobFile"));
    reply_fini(&r);
}

static void openapi_names_every_route(void **state)
{
    with_client(state, openapi);
}

/* ---- who may ---- */

static unsigned status_of(struct fix *f, const struct asking *a)
{
    struct reply r = ask(f, a);
    unsigned status = r.http.status;
    reply_fini(&r);
    return status;
}

static void token(struct fix *f)
{
    struct reply r = ask(f, &(struct asking){ .method = "GET", .path = "/v1/jobs", .tcp = true });
    assert_int_equal(r.http.status, 401);
    assert_string_equal(str_of(r.root, "code"), "unauthenticated");
    assert_null(strstr(str_of(r.root, "hint"), f->world.dir));
    reply_fini(&r);
    static const char *const wrong[] = { "", "0", TOKEN "0", "0123456789abcdef0123456789abcdeF" };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_int_equal(status_of(f, &(struct asking){ .method = "GET",
                                                        .path = "/v1/jobs",
                                                        .tcp = true,
                                                        .token = wrong[i] }),
                         401);
    assert_int_equal(
        status_of(
            f,
            &(struct asking){ .method = "GET", .path = "/v1/jobs", .tcp = true, .token = TOKEN }),
        200);
    assert_int_equal(status_of(f, &(struct asking){ .method = "POST",
                                                    .path = "/v1/jobs",
                                                    .tcp = true,
                                                    .token = TOKEN,
                                                    .body = JOB("t") }),
                     201);
    assert_int_equal(
        status_of(f, &(struct asking){ .method = "GET", .path = "/healthz", .tcp = true }), 200);
    assert_int_equal(status_of(f, &(struct asking){ .method = "GET", .path = "/", .tcp = true }),
                     200);
    assert_int_equal(
        status_of(f, &(struct asking){ .method = "POST", .path = "/v1/server/stop", .tcp = true }),
        401);
    assert_false(f->stop_asked);
}

static void tcp_needs_the_token(void **state)
{
    with_client(state, token);
}

/* The client library follows no redirects and shows no headers: the cookie is read from the raw
 * answer. */
static void raw(struct fix *f, const char *path, char *out, size_t max)
{
    char text[512];
    struct sockaddr_in to;
    size_t n = 0;
    assert_int_equal(uv_ip4_addr("127.0.0.1", http_server_port(f->server), &to), 0);
    AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path,
             f->address + 7);
    assert_int_equal(file_write_all(fd, text, strlen(text)), 0);
    for (ssize_t got; n < max - 1 && (got = recv(fd, out + n, max - 1 - n, 0)) > 0;)
        n += (size_t)got;
    out[n] = '\0';
}

static void login(struct fix *f)
{
    char answer[4096], cookie[128], page[65];
    struct reply r = call(f, "POST", "/v1/login-link", NULL);
    const char *url = str_of(r.root, "url");
    assert_int_equal(strncmp(url, f->address, strlen(f->address)), 0);
    raw(f, "/login?key=wrong", answer, sizeof answer);
    assert_non_null(strstr(answer, " 403 "));
    raw(f, url + strlen(f->address), answer, sizeof answer);
    assert_non_null(strstr(answer, " 303 "));
    assert_non_null(strstr(answer, "HttpOnly"));
    assert_non_null(strstr(answer, "SameSite=Strict"));
    const char *at = strstr(answer, "muster=");
    assert_non_null(at);
    snprintf(cookie, sizeof cookie, "%.71s", at);
    at = strstr(answer, "Location: /#page=");
    assert_non_null(at);
    snprintf(page, sizeof page, "%.64s", at + strlen("Location: /#page="));
    raw(f, url + strlen(f->address), answer, sizeof answer);
    assert_non_null(strstr(answer, " 403 "));
    assert_non_null(strstr(answer, "muster open"));
    reply_fini(&r);
    struct asking a = { .method = "GET", .path = "/v1/jobs", .tcp = true, .cookie = cookie };
    assert_int_equal(status_of(f, &a), 401); /* the cookie alone is nothing */
    a.page = cookie + strlen("muster=");
    assert_int_equal(status_of(f, &a), 401);
    a.page = page;
    assert_int_equal(status_of(f, &a), 200);
    a.host = "evil.example";
    assert_int_equal(status_of(f, &a), 401);
    a.host = NULL;
    a.method = "POST"; /* the cookie only reads */
    a.path = "/v1/jobs/1/stop";
    assert_int_equal(status_of(f, &a), 401);
    a.method = "GET";
    a.path = "/v1/jobs";
    cookie[70] = cookie[70] == '0' ? '1' : '0';
    assert_int_equal(status_of(f, &a), 401);
    a.cookie = "muster=short";
    assert_int_equal(status_of(f, &a), 401);
}

static void a_link_lets_one_browser_read(void **state)
{
    with_client(state, login);
}

/* ---- streams ---- */

static void events(struct fix *f)
{
    submit(f, JOB("e"));
    await(f, "/v1/jobs/e", "running");
    struct reply r = call(f, "GET", "/v1/jobs/e/events?limit=2", NULL);
    const struct text_node *list = text_get(r.root, "events");
    assert_int_equal(list->count, 2);
    assert_string_equal(str_of(list->first, "type"), "submitted");
    assert_int_equal(int_of(r.root, "last"), int_of(list->last, "seq"));
    char path[64];
    snprintf(path, sizeof path, "/v1/jobs/e/events?after=%lld", (long long)int_of(r.root, "last"));
    reply_fini(&r);
    r = call(f, "GET", path, NULL);
    assert_true(text_get(r.root, "events")->count >= 1);
    assert_null(strstr(buf_str(&r.http.body), "\"submitted\""));
    reply_fini(&r);
    expect(f, "GET", "/v1/events?limit=1", NULL, 200, "\"number\":1");
    expect(f, "GET", "/v1/events?limit=0", NULL, 400, "limit");
    expect(f, "GET", "/v1/jobs/e/events?after=x", NULL, 400, "after is");
}

static void events_come_in_pages(void **state)
{
    with_client(state, events);
}

#define EVENTS 4000

static bool has_many_events(struct fix *f)
{
    struct reply r = call(f, "GET", "/v1/events?limit=1&after=4000", NULL);
    bool some = text_get(r.root, "events")->count > 0;
    reply_fini(&r);
    return some;
}

static void submit_many(struct fix *f)
{
    submit(f, "{\"name\":\"many\",\"array\":{\"count\":4000,\"at_once\":1},\"roles\":{\"w\":"
              "{\"run\":\"x\",\"resources\":{\"cpu\":1}}}}");
    while (!has_many_events(f))
        ; /* members come in slices */
}

/* Events of a deleted job are looked at and not shown, so that no turn is for sending: here each
 * makes 100 events. */
static void hidden_events(struct fix *f)
{
    submit_many(f);
    struct reply r = call(f, "GET", "/v1/events?limit=4000", NULL);
    assert_int_equal(text_get(r.root, "events")->count, EVENTS);
    assert_int_equal(int_of(r.root, "last"), EVENTS);
    reply_fini(&r);
    expect(f, "POST", "/v1/jobs/many/stop", NULL, 202, NULL);
    await(f, "/v1/jobs/many", "stopped");
    f->still = true; /* nothing of it is removed */
    expect(f, "DELETE", "/v1/jobs/many", NULL, 200, NULL);
    unsigned turns = f->turns;
    r = call(f, "GET", "/v1/events?limit=4000", NULL);
    assert_true(f->turns - turns >= EVENTS / 100);
    assert_int_equal(text_get(r.root, "events")->count, 0);
    reply_fini(&r);
}

static void a_long_list_of_events_takes_many_turns(void **state)
{
    with_client(state, hidden_events);
}

static void *stop_it(void *arg)
{
    struct fix *f = arg;
    await(f, "/v1/jobs/1", "running");
    expect(f, "POST", "/v1/jobs/1/stop", NULL, 202, NULL);
    return NULL;
}

static void event_stream(struct fix *f)
{
    pthread_t other;
    submit(f, JOB("s"));
    assert_int_equal(pthread_create(&other, NULL, stop_it, f), 0);
    struct reply r = call(f, "GET", "/v1/jobs/s/events?follow=1", NULL);
    pthread_join(other, NULL);
    const char *text = buf_str(&r.http.body);
    assert_string_equal(r.http.type, "application/x-ndjson");
    assert_non_null(strstr(text, "\"type\":\"submitted\""));
    assert_non_null(strstr(text, "\"type\":\"task.started\""));
    assert_non_null(strstr(text, "{\"end\":true,\"state\":\"stopped\"}\n"));
    reply_fini(&r);
    expect(f, "GET", "/v1/jobs/s/events?follow=1&after=100000", NULL, 200,
           "{\"end\":true,\"state\":\"stopped\"}\n");
}

static void an_event_stream_ends_with_the_job(void **state)
{
    with_client(state, event_stream);
}

static void put(const char *dir, enum record_stream stream, uint64_t time_us, const char *text)
{
    char name[SEGMENT_NAME];
    unsigned char head[RECORD_HEAD];
    struct record record = { .len = (uint32_t)strlen(text), .stream = stream, .time_us = time_us };
    AUTO_FREE char *path = mem_printf("%s/%s", dir, segment_name(name, 0));
    assert_int_equal(file_mkdirs(dir, 0700, NULL), 0);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    record_put(head, &record);
    assert_int_equal(file_write_all(fd, head, sizeof head), 0);
    assert_int_equal(file_write_all(fd, text, strlen(text)), 0);
}

static void start_out(struct fix *f)
{
    submit(f, JOB("out"));
    await(f, "/v1/jobs/out", "running");
}

/* Where the core looks for the output of a running job's tasks; asked while the loop of the test
 * rests. */
static void write_logs(void **state)
{
    struct fix *f = *state;
    with_client(state, start_out);
    struct arena *a = arena_create();
    struct attempt_log *logs;
    struct err err;
    size_t n = 0;
    uint64_t job;
    assert_int_equal(ctl_find(f->world.ctl, "out", &job, &err), 0);
    assert_int_equal(answer_logs(f->world.ctl, a, job, &logs, &n, &err), 0);
    assert_int_equal(n, 2);
    put(logs[0].dir, RECORD_STDOUT, 1000000, "first\nsecond\n");
    put(logs[1].dir, RECORD_STDERR, 2000000, "between\n");
    put(logs[0].dir, RECORD_STDOUT, 3000000, "\xff\xfe");
    arena_destroy(a);
}

static void read_logs(struct fix *f)
{
    struct reply r = call(f, "GET", "/v1/jobs/out/logs", NULL);
    const char *text = buf_str(&r.http.body);
    const char *first = strstr(text, "\"first\\nsecond\\n\""),
               *between = strstr(text, "\"between\\n\"");
    assert_true(first && between && first < between);
    assert_non_null(strstr(text, "\"b64\":\"//4=\""));
    assert_non_null(strstr(text, "\"end\":true"));
    reply_fini(&r);
    r = call(f, "GET", "/v1/jobs/out/logs?stream=stderr", NULL);
    assert_null(strstr(buf_str(&r.http.body), "first"));
    assert_non_null(strstr(buf_str(&r.http.body), "\"stderr\""));
    reply_fini(&r);
    expect(f, "GET", "/v1/jobs/out/logs?task=w/1&attempt=last", NULL, 200, "between");
    expect(f, "GET", "/v1/jobs/out/logs?since=2500", NULL, 200, "b64");
    expect(f, "POST", "/v1/jobs/out/logs",
           "{\"from\": {\"w/0\": {\"attempt\": 1, \"offset\": 29}}}", 200, "b64");
    expect(f, "POST", "/v1/jobs/out/logs", "{\"from\": {\"w/0\": 3}}", 400, "offset");
    expect(f, "GET", "/v1/jobs/out/logs?stream=both", NULL, 400, "stdout or stderr");
    expect(f, "GET", "/v1/jobs/out/logs?tail=0", NULL, 400, "tail is");
    expect(f, "GET", "/v1/jobs/out/logs?attempt=none", NULL, 400, "attempt is");
    expect(f, "GET", "/v1/jobs/out/logs?task=w/7", NULL, 404, "w/7");
    r = ask(f, &(struct asking){ .method = "GET",
                                 .path = "/v1/jobs/out/logs?follow=1&task=nothing/0",
                                 .tcp = true });
    assert_int_equal(r.http.status, 401);
    reply_fini(&r);
}

static void output_is_merged_filtered_and_resumed(void **state)
{
    write_logs(state);
    with_client(state, read_logs);
}

static void body(struct fix *f, const char *type, const char *text, const char *answer)
{
    struct reply r = ask(
        f, &(struct asking){ .method = "POST", .path = "/other/body", .type = type, .body = text });
    assert_int_equal(r.http.status, answer ? 200 : 400);
    if (answer)
        assert_string_equal(buf_str(&r.http.body), answer);
    reply_fini(&r);
}

static void ask_other(struct fix *f)
{
    expect(f, "GET", "/other/a%2Fb/c?x=%41", NULL, 200,
           " 3 a/b 2023-11-14T22:13:20Z 2023-11-14T22:13:20.123Z 36");
    expect(f, "GET", "/other/%zz", NULL, 400, "a bad path");
    struct reply r = ask(f, &(struct asking){ .method = "GET", .path = "/other/x", .tcp = true });
    assert_int_equal(r.http.status, 401);
    reply_fini(&r);
    expect(f, "GET", "/other/page", NULL, 200, "20 from 0, 0");
    expect(f, "GET", "/other/page?PageNumber=3&PageSize=20", NULL, 200, "5 from 40, 40");
    expect(f, "GET", "/other/page?PageNumber=9&PageSize=1000", NULL, 200, "0 from 45, 800");
    expect(f, "GET", "/other/page?PageNumber=0", NULL, 400, "PageNumber");
    body(f, "application/json", "{\"a\": [1]}", "{\"a\":[1]}");
    body(f, "text/yaml", "a:\n  - b\n", "{\"a\":[\"b\"]}");
    body(f, "text/plain", "a:\n  - b\n", "{\"a\":[\"b\"]}");
    body(f, "application/x-www-form-urlencoded; charset=utf-8", "a[0][b]=c&d=1",
         "{\"a\":[{\"b\":\"c\"}],\"d\":\"1\"}");
    body(f, "application/json", "a: b", NULL);
    body(f, "application/json", " \n", "");
}

static void ask_other_logs(struct fix *f)
{
    expect(f, "GET", "/other/log", NULL, 200, "[first][second]");
    expect(f, "GET", "/other/log?lines=2&second=1", NULL, 200, "[between]");
    expect(f, "GET", "/other/log?short=1", NULL, 200, "[\xff\xfe]");
    expect(f, "GET", "/other/log?times=1", NULL, 200,
           "[1970-01-01T00:00:01.000000Z first][1970-01-01T00:00:01.000000Z second]"
           "[1970-01-01T00:00:03.000000Z \xff\xfe]");
    expect(f, "GET", "/other/log?previous=1", NULL, 404, "w/0");
    struct reply r = call(f, "GET", "/other/log?lines=2", NULL);
    assert_string_equal(buf_str(&r.http.body), "[second][\xff\xfe]");
    reply_fini(&r);
}

static void facades_come_first_and_share(void **state)
{
    with_client(state, ask_other);
    write_logs(state);
    with_client(state, ask_other_logs);
}

static void follow_logs(struct fix *f)
{
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, stop_it, f), 0);
    struct reply r = call(f, "GET", "/v1/jobs/1/logs?follow=1", NULL);
    pthread_join(other, NULL);
    assert_non_null(strstr(buf_str(&r.http.body), "between"));
    assert_non_null(strstr(buf_str(&r.http.body), "{\"end\":true,\"state\":\"stopped\"}\n"));
    reply_fini(&r);
}

static void followed_output_ends_with_the_job(void **state)
{
    write_logs(state);
    with_client(state, follow_logs);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    /* A failure in the client's thread cannot jump out of it: it says what is wrong and aborts. */
    setenv("CMOCKA_TEST_ABORT", "1", 1);
    const struct CMUnitTest tests[] = {
        TEST(a_job_is_taken_and_shown),
        TEST(a_bad_job_is_answered_with_every_place),
        TEST(a_dry_run_stores_nothing),
        TEST(a_batch_answers_line_by_line),
        TEST(lists_are_filtered_and_paged),
        TEST(commands_change_the_job),
        TEST(nodes_are_drained),
        TEST(a_dry_drain_changes_nothing),
        TEST(queues_are_shown_and_measured),
        TEST(the_server_tells_about_itself),
        TEST(unknown_places_and_methods_are_refused),
        TEST(openapi_names_every_route),
        TEST(tcp_needs_the_token),
        TEST(a_link_lets_one_browser_read),
        TEST(events_come_in_pages),
        TEST(a_long_list_of_events_takes_many_turns),
        TEST(an_event_stream_ends_with_the_job),
        TEST(output_is_merged_filtered_and_resumed),
        TEST(followed_output_ends_with_the_job),
        TEST(facades_come_first_and_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
