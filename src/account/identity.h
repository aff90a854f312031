/* Who may: users with a role and projects, access keys (for signed requests), bearer tokens. Rows
 * of kind "user", "key" and "token"; in memory as a whole. A name that no row knows is a user of
 * this machine: role user; the server's own and root are admins whatever the rows say.
 *
 * Rights hang on the name, so every command of the core takes who asks as `owner`
 * and looks here (rights.h):
 *   reader  reads what it may read, changes nothing
 *   user    submits, commands its own jobs, has keys and tokens
 *   admin   everything
 * A job is read by its owner, by members of its project and by admins; for others it does not
 * exist.
 */
#ifndef ACCOUNT_IDENTITY_H
#define ACCOUNT_IDENTITY_H

#include "account/accounts.h"
#include "base/arena.h"
#include "base/err.h"
#include "job/account.h"
#include "job/ids.h"
#include "job/words.h"

#include <stdbool.h>
#include <stdint.h>

struct text_node;

enum user_role { ROLE_READER, ROLE_USER, ROLE_ADMIN, ROLE_N };
const char *user_role_word(enum user_role); /* "reader" "user" "admin" */
bool user_role_parse(const char *word, enum user_role *);
/* Also of one whom no row knows. rights.c */
enum user_role user_role_of(const struct accounts *, const char *name);

/* Who a request is from. Texts are in the caller's arena. */
struct identity {
    const char *name;
    enum user_role role;
    uint64_t since_ms; /* when it was found out */
    bool listed;       /* there was a row of that name */
    bool disabled;     /* it may do nothing; only by name, all else is refused before */
    const char *token; /* id of the bearer token that said so, NULL: none did */
    const char *key;   /* id of the access key, NULL */
    bool application; /* the token is a program's (OpenPAI): no expiry, not for a user's own page */
    bool peer;        /* of the Unix socket: an account of this machine, by the kernel's word */
    const char *job;  /* the token is good for this job only (a name its issuer knows), or NULL */
    uint64_t expires_ms; /* of token or temporary key; 0: never */
    /* A program of this job asks (of.job 0: none does): it may what the routes say of jobs, however
     * much its owner may. */
    struct generation of;
    uint64_t of_number; /* as people type it */
    bool submits;       /* its job says so (server: submit): also what the routes say of that */
};

/* ---- who is it. Each fills *who and returns 0, or -1. Nothing here waits for a turn. ---- */
/* By name, as the kernel or an administrator says it. Never fails. */
void identify_by_name(const struct accounts *, struct arena *, const char *name,
                      struct identity *who);
/* ERR_UNAUTHENTICATED: unknown, expired, revoked, or its user is gone. */
int identify_by_token(const struct accounts *, struct arena *, const char *token,
                      struct identity *who, struct err *err);
/* Does what was found out then still hold: are token and key good, and was the user neither removed
 * nor disabled nor given another password since? For what outlives its request: streams, pages. */
bool identity_holds(const struct accounts *, const struct identity *);
/* ERR_DENIED: no such user, no password, a wrong one, or the user is disabled. Takes the same some
 * ten milliseconds whichever it is. */
struct identity_login {
    const char *name, *password;
};
int identify_by_password(const struct accounts *, struct arena *, const struct identity_login *,
                         struct identity *who, struct err *err);
/* The secret of an access key, to check a signature with. ERR_NOT_FOUND: no such key; ERR_DENIED:
 * disabled; ERR_UNAUTHENTICATED: the session token is missing, wrong or expired. A key whose
 * signature fitted is noted as used today by note_key_use(). */
struct identity_key {
    const char *id, *session; /* session: x-acs-security-token, NULL: none came */
    const char **secret;      /* set, in the arena */
};
int identify_by_key(const struct accounts *, struct arena *, const struct identity_key *,
                    struct identity *who, struct err *err);
void note_key_use(struct accounts *, const char *id); /* today */

/* ---- as whom do their jobs run ---- */
/* The account of the operating system to be looked up, in this order. */
struct account_choice {
    const char *name;      /* NULL: the server's own user, there is nothing to look up */
    bool ordinary;         /* only when it is there and an ordinary one (of a person) */
    const char *otherwise; /* then this one; NULL: refused (refuse_account) */
};
/* ERR_DENIED: this server runs jobs of its own user only. */
int choose_account(const struct accounts *, struct arena *, const struct identity *,
                   struct account_choice *, struct err *);
/* May their jobs run as the server's own user? */
bool user_runs_as_server(const struct accounts *, const char *name);
/* As whom jobs run, for who looks at the server: "owner" each as its owner; "own" those of the
 * server's own user alone, as that user; "shared" everybody's as that user. */
const char *jobs_run_as(const struct accounts *);
/* Of a choice that came to nothing: ERR_DENIED with what to do. */
int refuse_account(const struct identity *, const struct account_choice *, struct err *);

/* ---- reading. Texts are in the caller's arena, times are dates, NULL and 0 say that there is
 * none.
 * ---- */
struct user_view {
    const char *name, *email, *account;
    enum user_role role;
    struct words projects;
    bool has_password, disabled;
    uint64_t created_ms;
    const struct text_node *extension;
};
struct user_list { /* by name */
    struct user_view *at;
    size_t n;
};
struct key_view {
    const char *id, *owner, *label;
    uint64_t created_ms, expires_ms;
    uint64_t used_day; /* days since 1970 */
    bool disabled;
    const char *secret, *session; /* in the answer of create_key only */
};
struct key_list { /* by id */
    struct key_view *at;
    size_t n;
};
struct token_view {
    const char *id, *owner, *label, *job;
    uint64_t created_ms, expires_ms;
    bool application;
    const char *secret; /* in the answer of create_token only */
};
struct token_list { /* by id */
    struct token_view *at;
    size_t n;
};
/* For one who is no admin only the own one. */
struct user_list list_users(const struct accounts *, struct arena *, const char *by);
/* One of them; NULL: not known, or not theirs to see. */
const struct user_view *show_user(const struct accounts *, struct arena *, const char *by,
                                  const char *name);
/* Those that are good. owner NULL: of all, for one who is no admin the own ones. */
struct key_list list_keys(const struct accounts *, struct arena *, const char *by,
                          const char *owner);
struct token_list list_tokens(const struct accounts *, struct arena *, const char *by,
                              const char *owner);

/* ---- changing. Each writes row, memory and audit entry into the open transaction and tells the
 * server (accounts_server.changed). What they show lies in the arena; NULL: refused, err says why.
 * ---- */
/* Only admins; a user its own e-mail, password and extension. What is NULL or not set stays as it
 * is. Another password ends the user's tokens. */
struct user_change {
    const char *by, *name;
    bool create; /* ERR_CONFLICT when there is one; without: ERR_NOT_FOUND when there is none */
    bool set_role, set_projects, set_password, set_disabled;
    enum user_role role;
    bool disabled; /* may do nothing, its tokens end; its keys are good again when it is not */
    struct words projects;
    const char *password; /* with set_password NULL: no login by password any more */
    const char *email;
    const char *account; /* of the operating system that the jobs run as; "": none is named */
    const struct text_node *extension; /* a map: OpenPAI's free JSON */
};
struct user_view *change_user(struct accounts *, struct arena *, const struct user_change *,
                              struct err *);
/* With its keys and tokens; its jobs stay. Shows what was removed. */
struct user_view *remove_user(struct accounts *, struct arena *, const char *by, const char *name,
                              struct err *);

/* Shown with its secret (with session_ms its session too), which is never shown again.
 * Admins for anyone, users for themselves, readers not. */
struct key_request {
    const char *by, *owner, *label; /* owner NULL: by; label NULL: "" */
    uint64_t session_ms; /* a temporary key (STS) that is good for so long; 0: for good */
};
struct key_view *create_key(struct accounts *, struct arena *, const struct key_request *,
                            struct err *);
enum key_verb { KEY_DISABLE, KEY_ENABLE, KEY_REMOVE };
struct key_change {
    const char *by, *id;
    enum key_verb verb;
};
struct key_view *change_key(struct accounts *, struct arena *, const struct key_change *,
                            struct err *);

/* Shown with its secret, which is never shown again. */
struct token_request {
    const char *by, *owner, *label;
    uint64_t life_ms; /* 0: for ever */
    bool application;
    const char *job; /* good for this job only */
};
struct token_view *create_token(struct accounts *, struct arena *, const struct token_request *,
                                struct err *);
/* id as in the list, or the token itself. */
struct token_view *remove_token(struct accounts *, struct arena *, const char *by, const char *id,
                                struct err *);

#endif
