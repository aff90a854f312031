/* Who asks: over the Unix socket the kernel says (peer credentials; a program of a job is that and
 * not its account, peer.c), over TCP a bearer token (the server's own, or a user's), for the page a
 * session that a one-time link opened. Secrets are kept hashed and compared in constant time. */
#include "api/call.h"

#include "access/job_identity.h"
#include "base/clock.h"
#include "base/mem.h"
#include "ctl/account.h"
#include "secret/token.h"

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

/* The cookie named so, of however many that a browser sends for this host. */
static bool read_cookie(struct http_request *r, char value[PAGE_SECRET])
{
    static const char name[] = "muster=";
    const char *at = http_header(r, "Cookie");
    while (at && strncmp(at, name, sizeof name - 1) != 0) {
        at = strchr(at, ';');
        at = at ? at + 1 + strspn(at + 1, " ") : NULL;
    }
    size_t len = at ? strcspn(at + sizeof name - 1, "; ") : 0;
    if (len != PAGE_SECRET - 1)
        return false;
    memcpy(value, at + sizeof name - 1, len);
    value[len] = '\0';
    return true;
}

/* Where it was opened; NULL: it is nobody's. */
static const struct page_session *cookie_session(const struct api *api, struct http_request *r)
{
    char value[PAGE_SECRET];
    if (!read_cookie(r, value))
        return NULL;
    return page_session_find(api->sessions, value, http_header(r, "Host"),
                             ctl_now(api->config.ctl));
}

int auth_bearer(struct call *call, struct identity *who, struct err *err)
{
    const char *token = bearer_of(call->request);
    uint32_t uid;
    struct generation of;
    bool peer = http_peer_uid(call->request, &uid);
    if (token && token_is_of_job(token))
        return identify_by_job_token(ctl_access(call->api->config.ctl), call->arena, token, who,
                                     err);
    enum peer_kind kind = peer ? peer_look(call, &of) : PEER_OF_NO_JOB;
    if (kind == PEER_ENDED)
        return err_set(err, ERR_UNAUTHENTICATED, "the process that asks has ended, or its job has");
    if (kind == PEER_OF_JOB && !token)
        return identify_by_job(ctl_access(call->api->config.ctl), call->arena, of, who, err);
    peer = peer && kind == PEER_OF_NO_JOB; /* a token that a program was given speaks for itself */
    if (peer || (token && own_token(call->api, token))) {
        identify_by_name(ctl_accounts(call->api->config.ctl), call->arena,
                         user_name(call->arena, peer ? uid : getuid()), who);
        who->peer = peer;
    } else if (!token)
        return 1;
    else if (identify_by_token(ctl_accounts(call->api->config.ctl), call->arena, token, who, err) <
             0)
        return -1;
    else if (who->job) /* a link that somebody was given: only its issuer takes it */
        return err_set(err, ERR_UNAUTHENTICATED, "this token is good for one thing only");
    return who->disabled
               ? err_set(err, ERR_DENIED, "user %.60s is disabled on this server", who->name)
               : 0;
}

/* The cookie only reads, and only for the page's own scripts: another site's form, a link, another
 * server of this host that was sent the cookie, get nothing. It opens no channel either. */
static bool by_cookie(struct call *call, struct identity *who)
{
    struct http_request *r = call->request;
    if (strcmp(http_method(r), "GET") != 0 || http_header(r, "Upgrade"))
        return false;
    const struct page_session *session = cookie_session(call->api, r);
    if (!session || !page_session_scripted(session, http_header(r, "X-Muster-Page")) ||
        !ctl_identity_lives(call->api->config.ctl, &session->who))
        return false;
    identify_by_name(ctl_accounts(call->api->config.ctl), call->arena, session->owner, who);
    who->token = arena_strdup(call->arena, session->token);
    who->since_ms = session->who.since_ms;
    who->listed = session->who.listed;
    who->expires_ms = session->who.expires_ms;
    return !who->disabled;
}

bool auth_identity(struct call *call)
{
    struct err err;
    if (auth_bearer(call, &call->who, &err) != 0 && !by_cookie(call, &call->who))
        return false;
    call->owner = call->who.name;
    http_known(call->request, call->owner);
    caller_tell(call);
    return true;
}

void auth_refuse(struct call *call)
{
    struct err err;
    if (call->who.disabled) {
        err_set(&err, ERR_DENIED, "user %.60s is disabled on this server", call->who.name);
        caller_refused(call, call->who.name, "login", "user", &err);
        call_problem(call, &err, NULL);
        return;
    }
    err_set(&err, ERR_UNAUTHENTICATED, "this needs a token of this server");
    err_hint(&err, "send \"Authorization: Bearer\" with the text of the file token in the server's "
                   "state directory, or with a token that its user made (the verb token)");
    if (http_header(call->request, "Authorization"))
        caller_refused(call, "", "login", "token", &err);
    http_add_header(call->request, "WWW-Authenticate", "Bearer");
    call_problem(call, &err, NULL);
}

struct identity identity_copy(struct arena *arena, const struct identity *who)
{
    struct identity copy = *who;
    copy.name = arena_strdup(arena, who->name);
    copy.token = arena_strdup(arena, who->token);
    copy.key = arena_strdup(arena, who->key);
    copy.job = arena_strdup(arena, who->job);
    return copy;
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
    page_session_offer(api->sessions, &call->who, ctl_now(api->config.ctl), key);
    audit_add(ctl_accounts(api->config.ctl), &(struct audit_entry){ .action = "page.link" });
    struct text_node *tree = text_map(call->arena, NULL, NULL);
    text_str(call->arena, tree, "url",
             arena_printf(call->arena, "%s/login?key=%s", api->address, key));
    call_answer(call, 200, tree);
}

static void to_page(struct call *call, const char *location)
{
    http_add_header(call->request, "Location", location);
    http_add_header(call->request, "Cache-Control", "no-store");
    http_add_header(call->request, "Referrer-Policy", "no-referrer");
    call_text(call, 303, "text/plain", "", 0);
}

/* The page's own secret stands behind "#", which browsers send nowhere; the page keeps it where
 * only scripts of its address read it. */
void auth_login(struct call *call)
{
    struct api *api = call->api;
    const char *key = http_query(call->request, "key", 0);
    const char *host = http_header(call->request, "Host");
    struct page_secrets secrets;
    struct err err;
    if (cookie_session(api, call->request)) { /* the link again, in the browser that used it */
        to_page(call, "/");
        return;
    }
    if (!page_session_open(api->sessions, key ? key : "", host, ctl_now(api->config.ctl),
                           &secrets)) {
        err_set(&err, ERR_DENIED,
                "this link was used already, is too old or is not of this server");
        err_remedy(&err, REMEDY_OPEN_PAGE);
        caller_refused(call, "", "login", "page link", &err);
        call_problem(call, &err, NULL);
        return;
    }
    call->owner =
        page_session_find(api->sessions, secrets.cookie, host, ctl_now(api->config.ctl))->owner;
    caller_tell(call);
    audit_add(ctl_accounts(api->config.ctl),
              &(struct audit_entry){ .action = "login", .object = "page link" });
    http_add_header(call->request, "Set-Cookie",
                    arena_printf(call->arena, "muster=%s; Path=/; HttpOnly; SameSite=Strict%s",
                                 secrets.cookie, http_over_tls(call->request) ? "; Secure" : ""));
    to_page(call, arena_printf(call->arena, "/#page=%s", secrets.script));
}
