/* The core's side of accounts: gives them store and clocks, runs what changes them in a turn, and
 * answers after the commit. */
#include "ctl/account.h"

#include "access/job_identity.h"
#include "ctl/core.h"
#include "secret/secrets.h"

#include "base/log.h"
#include "store/audit.h"

struct accounts *ctl_accounts(struct ctl *ctl)
{
    return ctl->accounts;
}

/* ---- what accounts ask of the core ---- */

static uint64_t now(const void *ctl)
{
    return core_now(ctl);
}

static uint64_t date(const void *ctl)
{
    return core_date(ctl);
}

static uint64_t date_of(const void *ctl, uint64_t at_ms)
{
    return core_date_of(ctl, at_ms);
}

static bool replays(const void *ctl)
{
    return taped_replays(ctl);
}

static void note_change(void *ctl, const char *type, const char *text)
{
    struct tape_scope AUTO_TAPE_SCOPE taped =
        tape_scope_begin(ctl, (struct ctl_input){ .kind = INPUT_EVENT, .name = type });
    event_server(ctl, type, text);
}

struct accounts *core_accounts(struct ctl *ctl)
{
    return accounts_create(&(struct accounts_config){ .store = ctl->config.store,
                                                      .admin = ctl->admin,
                                                      .own_accounts = ctl->config.own_accounts,
                                                      .sandbox = ctl->config.sandbox,
                                                      .job_account = ctl->config.job_account,
                                                      .server = { .arg = ctl,
                                                                  .now = now,
                                                                  .date = date,
                                                                  .date_of = date_of,
                                                                  .replays = replays,
                                                                  .changed = note_change } });
}

/* ---- who is it, and may they ---- */

bool ctl_identity_lives(struct ctl *ctl, const struct identity *who)
{
    if (who->of.job)
        return find_generation(&ctl->access, who->of) != NULL;
    return identity_holds(ctl->accounts, who);
}

/* ---- commands ---- */

static struct answer *begin(struct ctl *ctl, ctl_done *done, void *arg)
{
    struct answer *answer = turn_answer(ctl, done, arg);
    answer->writes = true;
    return answer;
}

void ctl_user_put(struct ctl *ctl, const struct user_change *ask, ctl_done *done, void *arg)
{
    struct answer *answer = begin(ctl, done, arg);
    answer->made.user = change_user(ctl->accounts, answer->arena, ask, &answer->err);
}

void ctl_user_remove(struct ctl *ctl, const char *by, const char *name, ctl_done *done, void *arg)
{
    struct answer *answer = begin(ctl, done, arg);
    answer->made.user = remove_user(ctl->accounts, answer->arena, by, name, &answer->err);
}

void ctl_key_create(struct ctl *ctl, const struct key_request *ask, ctl_done *done, void *arg)
{
    struct answer *answer = begin(ctl, done, arg);
    answer->made.key = create_key(ctl->accounts, answer->arena, ask, &answer->err);
}

void ctl_key_command(struct ctl *ctl, const struct key_change *ask, ctl_done *done, void *arg)
{
    struct answer *answer = begin(ctl, done, arg);
    answer->made.key = change_key(ctl->accounts, answer->arena, ask, &answer->err);
}

void ctl_token_create(struct ctl *ctl, const struct token_request *ask, ctl_done *done, void *arg)
{
    struct answer *answer = begin(ctl, done, arg);
    answer->made.token = create_token(ctl->accounts, answer->arena, ask, &answer->err);
}

void ctl_token_remove(struct ctl *ctl, const char *by, const char *id, ctl_done *done, void *arg)
{
    struct answer *answer = begin(ctl, done, arg);
    answer->made.token = remove_token(ctl->accounts, answer->arena, by, id, &answer->err);
}

void ctl_secret_put(struct ctl *ctl, const struct secret_change *ask, ctl_done *done, void *arg)
{
    struct answer *answer = begin(ctl, done, arg);
    const struct secret_view *view = change_secret(ctl->accounts, answer->arena, ask, &answer->err);
    answer->made.secret = view;
    if (view && ask->value)
        secrets_changed(ctl->secrets, view->owner, view->project, view->name);
}

/* What is kept of secrets is in no recording. */
int core_check_secrets(struct ctl *ctl, const char *owner, const struct job_spec *spec,
                       struct report *report)
{
    struct err err = { .code = ERR_NONE };
    int rc = 0;
    if (!secrets_any(spec))
        return 0;
    if (!taped_replays(ctl))
        rc = secrets_check(ctl->secrets, owner, spec, report);
    if (rc)
        err_set(&err, ERR_INPUT, "secrets are missing");
    return taped_outside(ctl, OUTSIDE_STORAGE, rc, &err);
}

static void commit_now(struct ctl *ctl, const char *when)
{
    char text[AUDIT_MARK_TEXT];
    ctl_turn(ctl);
    const struct audit_mark head = store_audit_head(ctl->config.store);
    log_info("audit.head", "at=%s head=%s", when, audit_mark_text(text, &head));
}

void ctl_audit_start(struct ctl *ctl, const char *version, const struct pairs *settings)
{
    if (audit_server_start(ctl->accounts, version, settings))
        commit_now(ctl, "start");
}

void ctl_audit_end(struct ctl *ctl, const char *why)
{
    if (audit_server_end(ctl->accounts, why))
        commit_now(ctl, "end");
}
