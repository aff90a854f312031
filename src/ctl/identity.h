/* Who may: users with a role and projects, access keys (for signed requests), bearer tokens. Rows
 * of kind "user", "key" and "token"; in memory as a whole. A name that no row knows is a user of
 * this machine: role user; the server's own and root are admins whatever the rows say.
 *
 * Rights hang on the name, so every command of ctl.h takes who asks as `owner` and looks here:
 *   reader  reads what it may read, changes nothing
 *   user    submits, commands its own jobs, has keys and tokens
 *   admin   everything
 * A job is read by its owner, by members of its project and by admins; for others it does not
 * exist.
 */
#ifndef CTL_IDENTITY_H
#define CTL_IDENTITY_H

#include "ctl/ctl.h"
#include "job/ids.h"
#include "job/words.h"

#include <stdbool.h>
#include <stdint.h>

enum user_role { ROLE_READER, ROLE_USER, ROLE_ADMIN, ROLE_N };
const char *user_role_word(enum user_role); /* "reader" "user" "admin" */
bool user_role_parse(const char *word, enum user_role *);

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
void ctl_identity_name(struct ctl *, struct arena *, const char *name, struct identity *who);
/* ERR_UNAUTHENTICATED: unknown, expired, revoked, or its user is gone. */
int ctl_identity_bearer(struct ctl *, struct arena *, const char *token, struct identity *who,
                        struct err *err);
/* The same of a token that a job's programs find in their environment: it is good while that
 * generation of the job lives. */
bool ctl_is_job_token(const char *token); /* by its looks */
int ctl_identity_job_token(struct ctl *, struct arena *, const char *token, struct identity *who,
                           struct err *err);
/* A program of that job that needs no token: it was seen to be one. */
int ctl_identity_of_job(struct ctl *, struct arena *, struct generation, struct identity *who,
                        struct err *err);
/* Which is that of a process of this machine? As find_process of engine/engine.h. */
int ctl_find_process(struct ctl *, uint32_t pid, struct generation *);
/* Does what was found out then still hold: are token and key good, and was the user neither removed
 * nor disabled nor given another password since? For what outlives its request: streams, pages. */
bool ctl_identity_lives(struct ctl *, const struct identity *);
/* ERR_DENIED: no such user, no password, a wrong one, or the user is disabled. Takes the same some
 * ten milliseconds whichever it is. */
struct identity_login {
    const char *name, *password;
};
int ctl_identity_password(struct ctl *, struct arena *, const struct identity_login *,
                          struct identity *who, struct err *err);
/* The secret of an access key, to check a signature with. ERR_NOT_FOUND: no such key; ERR_DENIED:
 * disabled; ERR_UNAUTHENTICATED: the session token is missing, wrong or expired. A key whose
 * signature fitted is noted as used today by ctl_key_used(). */
struct identity_key {
    const char *id, *session; /* session: x-acs-security-token, NULL: none came */
    const char **secret;      /* set, in the arena */
};
int ctl_identity_key(struct ctl *, struct arena *, const struct identity_key *,
                     struct identity *who, struct err *err);
void ctl_key_used(struct ctl *, const char *id); /* today */

/* ---- as whom do their jobs run ---- */
/* The account of the operating system to be looked up, in this order. */
struct account_choice {
    const char *name;      /* NULL: the server's own user, there is nothing to look up */
    bool ordinary;         /* only when it is there and an ordinary one (of a person) */
    const char *otherwise; /* then this one; NULL: refused (account_refused) */
};
/* ERR_DENIED: this server runs jobs of its own user only. */
int ctl_account_choose(struct ctl *, struct arena *, const struct identity *,
                       struct account_choice *, struct err *);
/* As whom jobs run, for who looks at the server: "owner" each as its owner; "own" those of the
 * server's own user alone, as that user; "shared" everybody's as that user. */
const char *ctl_jobs_run_as(struct ctl *);
/* The account that the job runs as, in the arena; NULL: the server's own. */
const struct account *ctl_account_of_job(struct ctl *, struct arena *, uint64_t job);
/* Of a choice that came to nothing: ERR_DENIED with what to do. */
int ctl_account_refused(const struct identity *, const struct account_choice *, struct err *);

/* ---- may they ---- */
bool ctl_may_read(struct ctl *, const struct identity *, uint64_t job);
bool ctl_may_write(struct ctl *, const struct identity *, uint64_t job);
/* ctl_find() among the jobs that they may read; the same error for those they may not. */
int ctl_find_for(struct ctl *, const struct identity *, const char *job, uint64_t *id,
                 struct err *);
/* store_find_in() among the jobs that they may read, whoever's is said; 0: there is none. */
struct job_named;
uint64_t ctl_find_in(struct ctl *, const struct identity *, const struct job_named *);
/* Restricts a list to what they may read (struct job_filter: reader, projects). */
void ctl_filter_for(struct ctl *, struct arena *, const struct identity *, struct job_filter *);

/* ---- commands, answered at the end of the turn like those of ctl.h ---- */
/* Answer made.user. Only admins; a user its own e-mail, password and
 * extension. What is NULL or not set stays as it is. Another password ends the user's tokens. */
struct ctl_user {
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
void ctl_user_put(struct ctl *, const struct ctl_user *, ctl_done *, void *arg);
/* With its keys and tokens; its jobs stay. Answer made.user. */
void ctl_user_remove(struct ctl *, const char *by, const char *name, ctl_done *, void *arg);

/* Answer made.key, with its secret (with session_ms its session too), which is never shown again.
 * Admins for anyone, users for themselves, readers not. */
struct ctl_key {
    const char *by, *owner, *label; /* owner NULL: by; label NULL: "" */
    uint64_t session_ms; /* a temporary key (STS) that is good for so long; 0: for good */
};
void ctl_key_create(struct ctl *, const struct ctl_key *, ctl_done *, void *arg);
enum ctl_key_verb { CTL_KEY_DISABLE, CTL_KEY_ENABLE, CTL_KEY_REMOVE };
struct ctl_key_change {
    const char *by, *id;
    enum ctl_key_verb verb;
};
void ctl_key_command(struct ctl *, const struct ctl_key_change *, ctl_done *, void *arg);

/* Answer made.token, with its secret, which is never shown again. */
struct ctl_token {
    const char *by, *owner, *label;
    uint64_t life_ms; /* 0: for ever */
    bool application;
    const char *job; /* good for this job only */
};
void ctl_token_create(struct ctl *, const struct ctl_token *, ctl_done *, void *arg);
/* id as in the list, or the token itself. */
void ctl_token_remove(struct ctl *, const char *by, const char *id, ctl_done *, void *arg);

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
    const char *secret, *session; /* in the answer of ctl_key_create only */
};
struct key_list { /* by id */
    struct key_view *at;
    size_t n;
};
struct token_view {
    const char *id, *owner, *label, *job;
    uint64_t created_ms, expires_ms;
    bool application;
    const char *secret; /* in the answer of ctl_token_create only */
};
struct token_list { /* by id */
    struct token_view *at;
    size_t n;
};
/* For one who is no admin only the own one. */
struct user_list ctl_users_view(struct ctl *, struct arena *, const char *by);
/* One of them; NULL: not known, or not theirs to see. */
const struct user_view *ctl_user_view(struct ctl *, struct arena *, const char *by,
                                      const char *name);
/* Those that are good. owner NULL: of all, for one who is no admin the own ones. */
struct key_list ctl_keys_view(struct ctl *, struct arena *, const char *by, const char *owner);
struct token_list ctl_tokens_view(struct ctl *, struct arena *, const char *by, const char *owner);

#endif
