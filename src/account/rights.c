/* The one place of rights: what a user may by role and projects. Everything that is somebody's asks
 * here; a name that no row knows is a user of this machine, root and the server's own are admins.
 */
#include "account/rights.h"

#include "account/identities.h"

#include "base/map.h"
#include "store/store.h"

#include <string.h>

enum user_role user_role_of(const struct accounts *all, const char *name)
{
    const struct user *user;
    if (!name)
        return ROLE_READER;
    if (strcmp(name, "root") == 0 || strcmp(name, all->config.admin) == 0)
        return ROLE_ADMIN;
    user = identities_user(all, name);
    return user ? user->role : ROLE_USER;
}

bool user_is_admin(const struct accounts *all, const char *name)
{
    return user_role_of(all, name) == ROLE_ADMIN;
}

bool user_may_change(const struct accounts *all, const char *name, const struct job_row *row)
{
    enum user_role role = user_role_of(all, name);
    return role == ROLE_ADMIN || (role == ROLE_USER && strcmp(name, row->owner) == 0);
}

bool user_may_read(const struct accounts *all, const char *name, const struct job_row *row)
{
    const struct user *user = name ? identities_user(all, name) : NULL;
    if (!name || user_is_admin(all, name) || strcmp(name, row->owner) == 0)
        return true;
    return user && row->project && *row->project && words_have(&user->projects, row->project);
}

bool user_may_use_project(const struct accounts *all, const char *name, const char *project)
{
    const struct user *user = name ? identities_user(all, name) : NULL;
    if (!project || !*project || strcmp(project, "default") == 0 || !name ||
        user_is_admin(all, name))
        return true;
    return user && words_have(&user->projects, project);
}

int check_may_change(const struct accounts *all, const char *name, const struct job_row *row,
                     struct err *err)
{
    if (user_may_change(all, name, row))
        return 0;
    if (name && !user_may_read(all, name, row))
        return err_set(err, ERR_NOT_FOUND, "no such job");
    return err_set(err, ERR_DENIED, "job %llu belongs to %s", (unsigned long long)row->number,
                   row->owner);
}

bool identity_may_read(const struct accounts *all, const struct identity *who,
                       const struct job_row *row)
{
    if (who->role == ROLE_ADMIN)
        return true;
    if (who->of.job && strcmp(row->owner, who->name) != 0) /* not what its owner may of others' */
        return false;
    return user_may_read(all, who->name, row);
}

uint64_t find_job_in(const struct accounts *all, const struct identity *who,
                     const struct job_name_query *named)
{
    const struct user *user = identities_user(all, who->name);
    struct job_name_query theirs = *named;
    bool any = who->role == ROLE_ADMIN;
    uint64_t id;
    for (size_t i = 0; user && i < user->projects.n; i++)
        any |= strcmp(user->projects.at[i], named->project) == 0;
    theirs.owner = any ? NULL : who->name;
    return store_find_in(all->config.store, &theirs, &id) == 1 ? id : 0;
}

void filter_readable(const struct accounts *all, struct arena *arena, const struct identity *who,
                     struct job_filter *filter)
{
    const struct user *user = identities_user(all, who->name);
    if (who->role == ROLE_ADMIN)
        return;
    filter->reader = who->name;
    if (who->of.job) {
        filter->owner = who->name;
        return;
    }
    if (!user || user->projects.n == 0) { /* the index by owner */
        filter->owner = filter->owner ? filter->owner : who->name;
        return;
    }
    struct words *projects = ARENA_NEW(arena, struct words);
    projects->at = ARENA_ARRAY(arena, user->projects.n, const char *);
    for (size_t i = 0; i < user->projects.n; i++)
        projects->at[projects->n++] = arena_strdup(arena, user->projects.at[i]);
    filter->projects = projects;
}
