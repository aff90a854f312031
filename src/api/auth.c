/* Who asks: over the Unix socket the kernel says (peer credentials), over TCP the bearer token, for
 * the page a session cookie that a one-time link gave. Secrets are kept hashed and compared in
 * constant time. */
#include "api/call.h"

#include "base/mem.h"

#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

static void hash_of(unsigned char out[32], const char *text)
{
    crypto_hash_sha256(out, (const unsigned char *)text, strlen(text));
}

static const char *user_name(struct arena *a, uid_t uid)
{
    struct passwd entry, *found = NULL;
    char space[4096];
    if (getpwuid_r(uid, &entry, space, sizeof space, &found) == 0 && found)
        return arena_strdup(a, found->pw_name);
    return arena_printf(a, "uid%u", (unsigned)uid);
}

static bool token_fits(struct api *api, const char *header)
{
    unsigned char hash[32];
    if (!header || strncmp(header, "Bearer ", 7) != 0)
        return false;
    hash_of(hash, header + 7);
    return sodium_memcmp(hash, api->token_hash, sizeof hash) == 0;
}

/* The cookie only reads, and only from a page of this very address: another site's form or script
 * gets nothing. */
static bool cookie_fits(struct api *api, struct http_request *r)
{
    const char *cookie = http_header(r, "Cookie"), *host = http_header(r, "Host");
    const char *at = cookie ? strstr(cookie, "muster=") : NULL;
    unsigned char hash[32];
    char value[65];
    if (!api->has_cookie || !at || strlen(at + 7) < 64 || strcmp(http_method(r), "GET") != 0)
        return false;
    if (!host || !api->address || strcmp(host, api->address + strlen("http://")) != 0)
        return false;
    snprintf(value, sizeof value, "%.64s", at + 7);
    hash_of(hash, value);
    return sodium_memcmp(hash, api->cookie_hash, sizeof hash) == 0;
}

bool auth_identity(struct call *call, struct identity *who)
{
    struct api *api = call->api;
    struct http_request *r = call->request;
    uint32_t uid;
    const char *name = NULL;
    if (http_peer_uid(r, &uid))
        name = user_name(call->arena, uid);
    else if (token_fits(api, http_header(r, "Authorization")) || cookie_fits(api, r))
        name = user_name(call->arena, getuid());
    if (name)
        ctl_identity_name(api->config.ctl, call->arena, name, who);
    return name != NULL;
}

int auth_bearer(struct call *call, struct identity *who, struct err *err)
{
    if (auth_identity(call, who))
        return 0;
    if (!http_header(call->request, "Authorization"))
        return 1;
    return err_set(err, ERR_UNAUTHENTICATED, "the token is not known");
}

/* ---- the page's one-time link ---- */

static void random_hex(char out[65])
{
    unsigned char raw[32];
    randombytes_buf(raw, sizeof raw);
    sodium_bin2hex(out, 65, raw, sizeof raw);
    sodium_memzero(raw, sizeof raw);
}

void auth_login_link(struct call *call)
{
    struct api *api = call->api;
    struct err err;
    char key[65];
    if (!api->address) {
        err_set(&err, ERR_CANNOT, "this server listens on no TCP port, a browser cannot reach it");
        err_hint(&err, "start it with a port: muster server start --port 6878");
        call_problem(call, &err, NULL);
        return;
    }
    random_hex(key);
    hash_of(api->login_key, key);
    api->has_login_key = true;
    struct text_node *tree = text_map(call->arena, NULL, NULL);
    text_str(call->arena, tree, "url",
             arena_printf(call->arena, "%s/login?key=%s", api->address, key));
    call_answer(call, 200, tree);
}

static void to_page(struct call *call)
{
    http_add_header(call->request, "Location", "/");
    call_text(call, 303, "text/plain", "", 0);
}

void auth_login(struct call *call)
{
    struct api *api = call->api;
    const char *key = http_query(call->request, "key", 0);
    unsigned char hash[32];
    char value[65];
    struct err err;
    hash_of(hash, key ? key : "");
    if (cookie_fits(api, call->request)) { /* the link again, in the browser that used it */
        to_page(call);
        return;
    }
    if (!api->has_login_key || sodium_memcmp(hash, api->login_key, sizeof hash) != 0) {
        err_set(&err, ERR_DENIED, "this link was used already or is not of this server");
        err_hint(&err, "muster open makes a new one");
        call_problem(call, &err, NULL);
        return;
    }
    api->has_login_key = false;
    random_hex(value);
    hash_of(api->cookie_hash, value);
    api->has_cookie = true;
    http_add_header(
        call->request, "Set-Cookie",
        arena_printf(call->arena, "muster=%s; Path=/; HttpOnly; SameSite=Strict", value));
    to_page(call);
}
