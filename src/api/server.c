/* The server about itself: process, health, configuration, the page; and the api's own
 * life. */
#include "api/call.h"

#include "answer/cluster_views.h"
#include "api/accounts.h"
#include "api/facade.h"
#include "api/page.h"
#include "api/view_json.h"
#include "api/work.h"
#include "base/clock.h"
#include "base/mem.h"
#include "ctl/account.h"
#include "ctl/node_work.h"
#include "inventory/strangers.h"

#include <sodium.h>
#include <string.h>
#include <unistd.h>

struct api *api_create(const struct api_config *config, struct err *err)
{
    if (sodium_init() < 0) {
        err_set(err, ERR_SYSTEM, "libsodium does not start");
        return NULL;
    }
    struct api *api = mem_new(sizeof *api);
    api->config = *config;
    crypto_hash_sha256(api->token_hash, (const unsigned char *)config->token,
                       strlen(config->token));
    api->config.token = NULL;
    api->sessions = page_sessions_create();
    api->accounts = account_lookups_create(config->loop, config->program);
    limits_begin(api);
    facades_begin(api);
    follow_watch(api);
    return api;
}

void api_set_server(struct api *api, struct http_server *server, const char *address)
{
    free(api->address);
    api->server = server;
    api->address = mem_strdup(address);
}

void api_destroy(struct api *api)
{
    if (!api)
        return;
    follow_unwatch(api);
    facades_end(api);
    channels_forget(api);
    archives_end(api);
    limits_end(api);
    works_end(api);
    page_sessions_destroy(api->sessions);
    account_lookups_destroy(api->accounts);
    free(api->address);
    free(api);
}

static void put_opt(struct arena *a, struct text_node *map, const char *key, const char *value)
{
    if (value)
        text_str(a, map, key, value);
    else
        text_null(a, map, key);
}

void server_info(struct call *call)
{
    const struct api_config *c = &call->api->config;
    struct arena *a = call->arena;
    struct text_node *tree = text_map(a, NULL, NULL);
    text_int(a, tree, "pid", getpid());
    text_str(a, tree, "version", c->version);
    put_opt(a, tree, "address", call->api->address);
    put_opt(a, tree, "socket", c->socket_path);
    text_str(a, tree, "state_dir", c->state_dir);
    text_str(a, tree, "user", ctl_own_user(c->ctl));
    text_str(a, tree, "jobs_run_as", jobs_run_as(ctl_accounts(c->ctl)));
    text_int(a, tree, "uptime_s", (int64_t)((clock_mono_ms() - c->started_up_ms) / 1000));
    text_int(a, tree, "connections", http_server_connections(call->api->server));
    const struct stats_view stats = answer_stats_view(c->ctl);
    view_put(a, tree, "stats", VIEW_STATS, &stats);
    strangers_put(ctl_strangers(c->ctl), a, tree, "strangers");
    if (c->put_parts)
        c->put_parts(c->put_parts_arg, a, tree);
    call_answer(call, 200, tree);
}

void server_stop(struct call *call)
{
    struct api *api = call->api;
    struct text_node *tree = text_map(call->arena, NULL, NULL);
    text_int(call->arena, tree, "pid", getpid());
    audit_add(ctl_accounts(api->config.ctl), &(struct audit_entry){ .action = "server.stop" });
    call_answer(call, 202, tree);
    api->config.stop(api->config.stop_arg);
}

/* Open to everybody, so it costs next to nothing. */
void server_health(struct call *call)
{
    struct text_node *tree = text_map(call->arena, NULL, NULL);
    bool alive = strcmp(http_path(call->request), "/healthz") == 0;
    bool ready = alive || !ctl_storage_full(call->api->config.ctl);
    text_bool(call->arena, tree, "ok", ready);
    if (!ready)
        text_str(call->arena, tree, "why", "records could not be written; submissions are refused");
    call_answer(call, ready ? 200 : 503, tree);
}

void server_config(struct call *call)
{
    const struct api_config *c = &call->api->config;
    struct arena *a = call->arena;
    struct text_node *tree = text_map(a, NULL, NULL), *list = text_list(a, tree, "config");
    for (size_t i = 0; i < c->n_settings; i++) {
        struct text_node *item = text_map(a, list, NULL);
        text_str(a, item, "name", c->settings[i].name);
        text_str(a, item, "value", c->settings[i].value);
        text_str(a, item, "from", c->settings[i].from);
        text_str(a, item, "doc", c->settings[i].doc);
    }
    call_answer(call, 200, tree);
}

void page_get(struct call *call)
{
    http_add_header(call->request, "Content-Security-Policy",
                    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                    "frame-ancestors 'none'");
    http_add_header(call->request, "X-Content-Type-Options", "nosniff");
    http_add_header(call->request, "Referrer-Policy", "no-referrer");
    call_text(call, 200, "text/html; charset=utf-8", (const char *)page_html, page_html_len);
}
