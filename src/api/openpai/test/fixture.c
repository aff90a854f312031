/* The fixture of the façade's tests. */
#include "api/openpai/test/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/openpai/openpai.h"
#include "base/mem.h"
#include "ctl/core.h"
#include "dialect/openpai/openpai.h"
#include "text/json.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN "0123456789abcdef0123456789abcdef"

static const struct dialect *const all_dialects[] = { &openpai_v1, &openpai_v2 };
static const struct convention *const all_conventions[] = { &openpai_v1_convention,
                                                            &openpai_v2_convention };
static const struct dialects dialects = { .at = all_dialects,
                                          .n = ARRAY_LEN(all_dialects),
                                          .conventions = all_conventions,
                                          .n_conventions = ARRAY_LEN(all_conventions),
                                          .native = &openpai_v2_convention };

/* ---- the server ---- */

static void on_done(uv_async_t *async)
{
    uv_stop(async->loop);
}

static void on_turn(uv_prepare_t *handle)
{
    struct fix *f = handle->data;
    ctl_turn(f->world.ctl);
}

static void on_beat(uv_timer_t *handle)
{
    struct fix *f = handle->data;
    world_step(&f->world);
}

static void on_stop(void *arg)
{
    (void)arg;
}

static void start_loop(struct fix *f)
{
    uv_loop_init(&f->loop);
    uv_async_init(&f->loop, &f->done, on_done);
    uv_prepare_init(&f->loop, &f->turn);
    uv_timer_init(&f->loop, &f->beat);
    f->turn.data = f->beat.data = f;
    uv_prepare_start(&f->turn, on_turn);
    uv_timer_start(&f->beat, on_beat, 1, 1);
}

static void start_server(struct fix *f)
{
    static const struct facade *const facades[] = { &openpai_facade };
    static const struct api_setting off[] = { { .name = OPENPAI_OPEN_READS, .value = "off" } };
    static const struct api_setting on[] = { { .name = OPENPAI_OPEN_READS, .value = "on" } };
    struct err err = { 0 };
    struct api_config c = { .loop = &f->loop,
                            .ctl = f->world.ctl,
                            .token = TOKEN,
                            .version = "9.9",
                            .state_dir = f->world.dir,
                            .started_ms = 1,
                            .settings = f->open ? on : off,
                            .n_settings = 1,
                            .facades = facades,
                            .n_facades = ARRAY_LEN(facades),
                            .stop = on_stop,
                            .stop_arg = f };
    f->api = api_create(&c, &err);
    assert_non_null(f->api);
    struct http_config h = { .loop = &f->loop,
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
}

static void make_users(struct fix *f)
{
    static const char *const names[] = { "ada", "bob", "eve" };
    struct row check = { "root", "GET", V2 "tokens/check", NULL, NULL, 200, NULL };
    struct reply me = fix_ask(f, &check);
    snprintf(f->me, sizeof f->me, "%s", fix_text(me.root, "username"));
    reply_fini(&me);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char user[256], login[256];
        snprintf(user, sizeof user,
                 "{\"username\":\"%s\",\"password\":\"%s-secret\",\"grouplist\":[%s]}", names[i],
                 names[i], i == 2 ? "\"team\"" : "");
        snprintf(login, sizeof login, "username=%s&password=%s-secret", names[i], names[i]);
        const struct row make = { "root", "POST", V2 "users", user, NULL, 201, "created" };
        const struct row enter = { "", "POST", V1 "token", login, FIX_FORM, 200, NULL };
        fix_rows(f, &make, 1);
        struct reply r = fix_ask(f, &enter);
        snprintf(f->users[i].name, sizeof f->users[i].name, "%s", names[i]);
        snprintf(f->users[i].token, sizeof f->users[i].token, "%s", fix_text(r.root, "token"));
        reply_fini(&r);
    }
}

static int set_up(void **state, const char *open)
{
    struct fix *f = mem_new(sizeof *f);
    world_init(&f->world);
    f->world.ctl->config.dialects = &dialects;
    f->world.code_all = 0;
    f->open = open;
    start_loop(f);
    start_server(f);
    *state = f;
    fix_run(state, make_users);
    return 0;
}

int fix_set_up(void **state)
{
    return set_up(state, NULL);
}

int fix_set_up_open(void **state)
{
    return set_up(state, "on");
}

int fix_tear_down(void **state)
{
    struct fix *f = *state;
    http_server_destroy(f->server);
    uv_close((uv_handle_t *)&f->done, NULL);
    uv_close((uv_handle_t *)&f->turn, NULL);
    uv_close((uv_handle_t *)&f->beat, NULL);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    api_destroy(f->api);
    world_fini(&f->world);
    free(f);
    return 0;
}

static void *run_client(void *arg)
{
    struct fix *f = arg;
    f->run(f);
    uv_async_send(&f->done);
    return NULL;
}

void fix_run(void **state, void (*run)(struct fix *))
{
    struct fix *f = *state;
    pthread_t thread;
    f->run = run;
    assert_int_equal(pthread_create(&thread, NULL, run_client, f), 0);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    pthread_join(thread, NULL);
}

/* ---- the client ---- */

static const char *token_of(const struct fix *f, const char *who)
{
    if (!*who)
        return NULL;
    if (strcmp(who, "root") == 0)
        return TOKEN;
    for (size_t i = 0; i < ARRAY_LEN(f->users); i++)
        if (strcmp(f->users[i].name, who) == 0)
            return f->users[i].token;
    return who;
}

struct reply fix_ask(struct fix *f, const struct row *row)
{
    struct reply r = { .arena = arena_create() };
    struct err err = { 0 };
    struct report report;
    struct pairs headers = { 0 };
    if (row->body)
        pairs_set(&headers, r.arena, "Content-Type", row->type ? row->type : "application/json");
    else if (row->type)
        pairs_set(&headers, r.arena, "Accept", row->type);
    const struct http_client_config c = { .url = f->address,
                                          .token = token_of(f, row->who),
                                          .timeout_ms = 20000 };
    struct http_client *client = http_client_create(&c, &err);
    const struct http_ask ask = { .method = row->method,
                                  .path = row->path,
                                  .headers = &headers,
                                  .body = row->body,
                                  .len = row->body ? strlen(row->body) : 0 };
    if (!client || http_call(client, &ask, &r.http, &err) < 0)
        fail_msg("%s %s: %s", row->method, row->path, err.what);
    http_client_destroy(client);
    report_init(&report, r.arena);
    r.root = json_parse(r.arena, buf_str(&r.http.body), r.http.body.len, 0, &report);
    return r;
}

void reply_fini(struct reply *r)
{
    buf_fini(&r->http.body);
    arena_destroy(r->arena);
}

/* Every refusal has both members that clients look for. */
static void check_row(const struct row *row, struct reply *r)
{
    const char *text = buf_str(&r->http.body);
    if (r->http.status != row->status || (row->part && !strstr(text, row->part)))
        fail_msg("%s %s %s: %u %s", row->who, row->method, row->path, r->http.status, text);
    if (row->status >= 400) {
        fix_text(r->root, "code");
        fix_text(r->root, "message");
    }
}

void fix_rows(struct fix *f, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct reply r = fix_ask(f, &rows[i]);
        check_row(&rows[i], &r);
        reply_fini(&r);
    }
}

void fix_await(struct fix *f, const struct row *row)
{
    for (int i = 0; i < 5000; i++) {
        struct reply r = fix_ask(f, row);
        bool there = strstr(buf_str(&r.http.body), row->part) != NULL;
        reply_fini(&r);
        if (there)
            return;
    }
    fail_msg("%s has never %s", row->path, row->part);
}

const char *fix_text(const struct text_node *map, const char *key)
{
    const struct text_node *node = map ? text_get(map, key) : NULL;
    if (!node || node->kind != TEXT_STR)
        fail_msg("no text at \"%s\"", key);
    return node->str;
}
