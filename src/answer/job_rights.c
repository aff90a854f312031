/* Rights of a job that is given by its id or as people call it: its row is looked up, and the
 * rights of account/rights.h are asked of that. */
#include "answer/job_rights.h"

#include "account/rights.h"
#include "ctl/contents.h"
#include "ctl/ctl.h"
#include "live/row_json.h"

const struct account *answer_account_of_job(struct ctl *ctl, struct arena *arena, uint64_t job)
{
    struct job_row row;
    struct site_record site = { .account = NULL };
    if (core_row(ctl, arena, job, &row) == 0)
        row_json_read_site(arena, row.site, &site);
    return site.account;
}

bool answer_may_read(struct ctl *ctl, const struct identity *who, uint64_t job)
{
    struct job_row row;
    if (who->role == ROLE_ADMIN)
        return true;
    struct arena *arena = arena_create();
    bool may = core_lean_row(ctl, arena, job, &row) == 0 &&
               identity_may_read(ctl_contents(ctl).accounts, who, &row);
    arena_destroy(arena);
    return may;
}

bool answer_may_write(struct ctl *ctl, const struct identity *who, uint64_t job)
{
    struct job_row row;
    struct arena *arena = arena_create();
    bool may = core_lean_row(ctl, arena, job, &row) == 0 &&
               user_may_change(ctl_contents(ctl).accounts, who->name, &row);
    arena_destroy(arena);
    return may;
}

int answer_find_for(struct ctl *ctl, const struct identity *who, const char *job, uint64_t *id,
                    struct err *err)
{
    struct err other = { 0 };
    if (who->role == ROLE_ADMIN)
        return ctl_find(ctl, job, id, err);
    if (ctl_find(ctl, job, id, &other) == 0 && answer_may_read(ctl, who, *id))
        return 0;
    /* The newest of that name may be another's, and there is one of their own before it. */
    if (store_find_name(ctl_contents(ctl).store, job, who->name, id) == 1)
        return 0;
    err_set(err, ERR_NOT_FOUND, "no job \"%.120s\"", job);
    return err_remedy(err, REMEDY_LIST_ALL);
}
