/* The loop, the server and one client for each request. A turn of the core goes with every turn of
 * the loop, a step of its agents with every beat, so jobs go on while a test asks again. */
#include "api/test/served.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/call.h"
#include "ctl/core.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

static void on_turn(uv_prepare_t *handle)
{
    struct served *s = handle->data;
    s->slices += s->api && s->api->works > 0;
    ctl_turn(s->world.ctl);
}

static void on_beat(uv_timer_t *handle)
{
    struct served *s = handle->data;
    world_step(&s->world);
}

static void on_stop(void *arg)
{
    (void)arg;
}

static void start_loop(struct served *s)
{
    beside_init(&s->beside);
    uv_prepare_init(&s->beside.loop, &s->turn);
    uv_timer_init(&s->beside.loop, &s->beat);
    s->turn.data = s->beat.data = s;
    uv_prepare_start(&s->turn, on_turn);
    uv_timer_start(&s->beat, on_beat, 1, 1);
}

void served_init(struct served *s, const struct served_config *config)
{
    struct err err = { 0 };
    world_init(&s->world);
    s->world.ctl->config.dialects = config->dialects;
    s->facade = config->facade;
    start_loop(s);
    struct api_config c = { .loop = &s->beside.loop,
                            .ctl = s->world.ctl,
                            .token = SERVED_TOKEN,
                            .version = "9.9",
                            .state_dir = s->world.dir,
                            .answer_us = 1, /* a step of it for each turn */
                            .started_ms = 1,
                            .settings = config->settings,
                            .n_settings = config->n_settings,
                            .facades = &s->facade,
                            .n_facades = 1,
                            .stop = on_stop };
    s->api = api_create(&c, &err);
    assert_non_null(s->api);
    struct http_config h = { .loop = &s->beside.loop,
                             .host = "127.0.0.1",
                             .max_body = 1u << 20,
                             .max_connections = 20,
                             .idle_timeout_s = 30,
                             .handle = api_handle,
                             .arg = s->api };
    s->server = http_server_create(&h, &err);
    assert_non_null(s->server);
    snprintf(s->address, sizeof s->address, "http://127.0.0.1:%u", http_server_port(s->server));
    api_set_server(s->api, s->server, s->address);
}

void served_fini(struct served *s)
{
    http_server_destroy(s->server);
    uv_close((uv_handle_t *)&s->turn, NULL);
    uv_close((uv_handle_t *)&s->beat, NULL);
    beside_fini(&s->beside);
    api_destroy(s->api);
    world_fini(&s->world);
}

struct reply served_ask(struct served *s, const char *token, const struct row *row)
{
    struct reply r = { .arena = arena_create() };
    struct err err = { 0 };
    struct report report;
    struct pairs headers = { 0 };
    if (row->body)
        pairs_set(&headers, r.arena, "Content-Type", row->type ? row->type : "application/json");
    else if (row->type)
        pairs_set(&headers, r.arena, "Accept", row->type);
    const struct http_client_config c = { .url = s->address, .token = token, .timeout_ms = 20000 };
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

void served_check(const struct row *row, const struct reply *r)
{
    const char *text = buf_str(&r->http.body);
    if (r->http.status != row->status || (row->part && !strstr(text, row->part)))
        fail_msg("%s %s %s: %u %s", row->who, row->method, row->path, r->http.status, text);
}
