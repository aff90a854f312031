/* Login with a password, the tokens it gives, and those of applications. A token is shown once:
 * lists have its id, which revokes it as well as the token itself does. */
#include "api/openpai/authn.h"

#include "api/openpai/members.h"
#include "base/mem.h"
#include "base/scan.h"
#include "ctl/account.h"

#include <string.h>

#define LIFE_S       86400u
#define LIFE_LEAST_S 60u
#define LIFE_MOST_S  604800u
#define WORD_MAX     200
#define AS_OPENPAI   "v1.8.0" /* the release whose surface version 2 is */

/* ---- the server about itself ---- */

void pai_info(struct pai *p)
{
    struct text_node *tree = text_map(p->a, NULL, NULL);
    text_str(p->a, tree, "name", "PAI RESTful API");
    text_str(p->a, tree, "version", AS_OPENPAI);
    text_str(p->a, tree, "launcherType", "k8s");
    text_str(p->a, tree, "authnMethod", "basic");
    pai_answer(p, 200, tree);
}

void pai_root(struct pai *p)
{
    pai_info(p);
}

void pai_root_text(struct pai *p)
{
    static const char text[] = "PAI RESTful API v2 (beta version)";
    call_text(p->call, 200, "text/html; charset=utf-8", text, strlen(text));
}

void pai_authn_info(struct pai *p)
{
    struct text_node *tree = text_map(p->a, NULL, NULL);
    text_str(p->a, tree, "authn_type", "basic");
    text_str(p->a, tree, "loginURI",
             p->version == PAI_V1 ? "/api/v1/authn/basic/login" : "/api/v2/authn/basic/login");
    text_str(p->a, tree, "loginURIMethod", "post");
    pai_answer(p, 200, tree);
}

/* ---- login ---- */

/* ^[\w.-]+$ */
static bool is_user_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
    return n && !name[n] && n <= WORD_MAX;
}

/* From a form it is text. NULL, or what is wrong. */
static const char *read_life(const struct text_node *body, uint64_t *seconds)
{
    const struct text_node *node = text_get(body, "expiration");
    *seconds = LIFE_S;
    if (!node)
        return NULL;
    bool text = node->kind == TEXT_INT || node->kind == TEXT_STR;
    if (text && scan_u64(node->str, LIFE_LEAST_S, LIFE_MOST_S, seconds))
        return NULL;
    return "\"expiration\" must be a whole number from 60 to 604800";
}

static void on_login(void *arg, const struct ctl_answer *answer)
{
    struct pai *p = arg;
    struct text_node *tree = text_map(p->a, NULL, NULL);
    if (answer->err) {
        pai_err(p, answer->err, NULL);
        return;
    }
    text_str(p->a, tree, "user", p->user);
    text_str(p->a, tree, "token", answer->made.token->secret);
    text_bool(p->a, tree, "admin", p->call->who.role == ROLE_ADMIN);
    text_bool(p->a, tree, "hasGitHubPAT", false);
    pai_answer(p, 200, tree);
}

/* The same of a user that there is not: OpenPAI says NoUserError. */
static void refuse_login(struct pai *p, const char *name, const struct err *err)
{
    caller_refused(p->call, name, "login", "password", err);
    if (err->code == ERR_DENIED)
        pai_fail(p, PAI_PASSWORD, "Password is incorrect.");
    else
        pai_err(p, err, NULL);
}

void pai_login(struct pai *p)
{
    struct text_node *body = pai_body(p);
    const char *name = pai_text(body, "username"), *password = pai_text(body, "password");
    struct identity who;
    struct err err;
    uint64_t life;
    if (!body)
        return;
    const char *wrong = read_life(body, &life);
    if (!name || !is_user_name(name))
        pai_fail(p, PAI_PARAMETERS, "\"username\" is required, of A-Z a-z 0-9 _ . -");
    else if (!password || strlen(password) < 6 || strlen(password) > WORD_MAX)
        pai_fail(p, PAI_PARAMETERS, "\"password\" length must be at least 6 characters long");
    else if (wrong)
        pai_fail(p, PAI_PARAMETERS, "%s", wrong);
    else if (limit_password(p->call, &(struct identity_login){ name, password }, &who, &err) < 0)
        refuse_login(p, name, &err);
    else {
        const struct audit_entry entry = { .action = "login", .object = "password" };
        const struct token_request ask = {
            .by = who.name, .owner = who.name, .label = "login", .life_ms = life * 1000
        };
        facade_admit(p->call, &who);
        audit_add(ctl_accounts(p->ctl), &entry);
        p->user = arena_strdup(p->a, who.name);
        call_keep(p->call);
        ctl_token_create(p->ctl, &ask, on_login, p);
    }
}

/* ---- tokens ---- */

void pai_tokens(struct pai *p)
{
    struct text_node *tree = text_map(p->a, NULL, NULL), *list = text_list(p->a, tree, "tokens");
    const struct token_list all = list_tokens(ctl_accounts(p->ctl), p->a, p->me, p->me);
    for (size_t i = 0; i < all.n; i++)
        if (!all.at[i].job)
            text_str(p->a, list, NULL, all.at[i].id);
    pai_answer(p, 200, tree);
}

static void on_application(void *arg, const struct ctl_answer *answer)
{
    struct pai *p = arg;
    struct text_node *tree = text_map(p->a, NULL, NULL);
    if (answer->err) {
        pai_err(p, answer->err, NULL);
        return;
    }
    text_str(p->a, tree, "token", answer->made.token->secret);
    text_bool(p->a, tree, "application", true);
    pai_answer(p, 200, tree);
}

void pai_token_application(struct pai *p)
{
    const struct token_request ask = {
        .by = p->me, .owner = p->me, .label = "application", .application = true
    };
    call_keep(p->call);
    ctl_token_create(p->ctl, &ask, on_application, p);
}

static void on_revoked(void *arg, const struct ctl_answer *answer)
{
    struct pai *p = arg;
    enum err_code code = answer->err ? answer->err->code : ERR_NONE;
    if (code == ERR_DENIED)
        pai_fail(p, PAI_FORBIDDEN, "User %s is not allowed to revoke this token.", p->me);
    else if (code == ERR_NOT_FOUND)
        pai_fail(p, PAI_PARAMETERS, "There is no such token.");
    else if (answer->err)
        pai_err(p, answer->err, NULL);
    else
        pai_message(p, 200, p->said);
}

void pai_token_revoke(struct pai *p)
{
    p->said = "revoke successfully";
    call_keep(p->call);
    ctl_token_remove(p->ctl, p->me, p->param[0], on_revoked, p);
}

/* The server's own token, and the Unix socket, have nothing that could be revoked. */
void pai_logout(struct pai *p)
{
    const char *token = p->call->who.token;
    p->said = "Logout successfully";
    if (!token) {
        pai_message(p, 200, p->said);
        return;
    }
    call_keep(p->call);
    ctl_token_remove(p->ctl, p->me, token, on_revoked, p);
}

void pai_token_check(struct pai *p)
{
    const struct identity *who = &p->call->who;
    struct text_node *tree = text_map(p->a, NULL, NULL);
    text_str(p->a, tree, "username", p->me);
    text_bool(p->a, tree, "application", who->application);
    text_bool(p->a, tree, "jobSpecific", false);
    text_bool(p->a, tree, "admin", who->role == ROLE_ADMIN);
    if (who->expires_ms)
        text_int(p->a, tree, "exp",
                 (int64_t)(ctl_date_of(p->call->api->config.ctl, who->expires_ms) / 1000));
    pai_answer(p, 200, tree);
}
