/* Who asks: over the Unix socket the kernel says (peer credentials), over TCP a bearer token (the
 * server's own, or a user's), for the page a session cookie that a one-time link gave. Secrets are
 * kept hashed and compared in constant time. */
#include "api/call.h"

#include "base/mem.h"

#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

/* The token of "Authorization: Bearer TOKEN", NULL: none. */
static const char *bearer_of(struct http_request *r)
{
    const char *header = http_header(r, "Authorization");
    return header && strncasecmp(header, "Bearer ", 7) == 0 ? header + 7 : NULL;
}

static bool own_token(const struct api *api, const char *token)
{
    unsigned char hash[32];
    hash_of(hash, token);
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

static void admit(struct call *call, uid_t uid, struct identity *who)
{
    ctl_identity_name(call->api->config.ctl, call->arena, user_name(call->arena, uid), who);
}

int auth_bearer(struct call *call, struct identity *who, struct err *err)
{
    const char *token = bearer_of(call->request);
    uint32_t uid;
    if (http_peer_uid(call->request, &uid))
        admit(call, uid, who);
    else if (!token)
        return 1;
    else if (own_token(call->api, token))
        admit(call, getuid(), who);
    else if (ctl_identity_bearer(call->api->config.ctl, call->arena, token, who, err) < 0)
        return -1;
    else if (who->job) /* a link that somebody was given: only its issuer takes it */
        return err_set(err, ERR_UNAUTHENTICATED, "this token is good for one thing only");
    return 0;
}

bool auth_identity(struct call *call, struct identity *who)
{
    struct err err;
    if (auth_bearer(call, who, &err) == 0)
        return true;
    if (!cookie_fits(call->api, call->request))
        return false;
    admit(call, getuid(), who);
    return true;
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
        err_remedy_of(&err, REMEDY_SERVER_LISTEN, "127.0.0.1:6878");
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
        err_remedy(&err, REMEDY_OPEN_PAGE);
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
