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

/* The cookie only reads, and only from a page of the address where its link was opened: another
 * site's form or script gets nothing. NULL: it is nobody's. */
static const struct page_session *cookie_session(const struct api *api, struct http_request *r)
{
    const char *cookie = http_header(r, "Cookie"), *at = cookie ? strstr(cookie, "muster=") : NULL;
    char value[PAGE_SECRET];
    if (!at || strlen(at + 7) < PAGE_SECRET - 1 || strcmp(http_method(r), "GET") != 0)
        return NULL;
    snprintf(value, sizeof value, "%s", at + 7);
    return page_session_find(api->sessions, value, http_header(r, "Host"));
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

static bool by_cookie(struct call *call, struct identity *who)
{
    const struct page_session *session = cookie_session(call->api, call->request);
    if (!session ||
        (session->token && !ctl_identity_token_lives(call->api->config.ctl, session->token)))
        return false;
    ctl_identity_name(call->api->config.ctl, call->arena, session->owner, who);
    return true;
}

bool auth_identity(struct call *call)
{
    struct err err;
    if (auth_bearer(call, &call->who, &err) != 0 && !by_cookie(call, &call->who))
        return false;
    call->owner = call->who.name;
    return true;
}

void auth_refuse(struct call *call)
{
    struct err err;
    err_set(&err, ERR_UNAUTHENTICATED, "this needs a token of this server");
    err_hint(&err, "send \"Authorization: Bearer\" with the text of the file token in the server's "
                   "state directory, or with a token that its user made (the verb token)");
    http_add_header(call->request, "WWW-Authenticate", "Bearer");
    call_problem(call, &err, NULL);
}

/* ---- the page's one-time link ---- */

void auth_login_link(struct call *call)
{
    struct api *api = call->api;
    struct err err;
    char key[PAGE_SECRET];
    if (call->who.application) {
        err_set(&err, ERR_DENIED, "this token is a program's, the page is for people");
        call_problem(call, &err, NULL);
        return;
    }
    if (!*api->address) {
        err_set(&err, ERR_CANNOT, "this server listens on no TCP port, a browser cannot reach it");
        err_remedy_of(&err, REMEDY_SERVER_LISTEN, "127.0.0.1:6878");
        call_problem(call, &err, NULL);
        return;
    }
    page_session_offer(api->sessions, call->who.name, call->who.token, key);
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
    char cookie[PAGE_SECRET];
    struct err err;
    if (cookie_session(api, call->request)) { /* the link again, in the browser that used it */
        to_page(call);
        return;
    }
    if (!page_session_open(api->sessions, key ? key : "", http_header(call->request, "Host"),
                           cookie)) {
        err_set(&err, ERR_DENIED, "this link was used already or is not of this server");
        err_remedy(&err, REMEDY_OPEN_PAGE);
        call_problem(call, &err, NULL);
        return;
    }
    http_add_header(
        call->request, "Set-Cookie",
        arena_printf(call->arena, "muster=%s; Path=/; HttpOnly; SameSite=Strict", cookie));
    to_page(call);
}
