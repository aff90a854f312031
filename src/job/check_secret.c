/* Rules across the secrets of a job: what each becomes, and that no two become the same thing for
 * one task. */
#include "job/checker.h"

#include <string.h>

struct list { /* of the job, or of a role */
    const struct job_secrets *all;
    const struct role *role; /* NULL: of the job */
};

static struct check_path path_of(const struct list *list, size_t i, const char *field)
{
    return list->role ? check_path("roles.%.80s.secrets[%zu]%s", list->role->name, i, field)
                      : check_path("inputs.secrets[%zu]%s", i, field);
}

static void check_env(const struct checker *c, const struct list *list, size_t i)
{
    const struct job_secret *secret = &list->all->at[i];
    size_t len;
    if (!secret->env)
        return;
    bool set = secret_is_set(secret->name, &len);
    if (!(set && !*secret->env) && !env_chars.ok(secret->env))
        check_fail(c, path_of(list, i, ".env").text, env_chars.wanted, "is no name of a variable");
    else if (!set && list->role && pairs_get(&list->role->env, secret->env))
        check_fail(c, path_of(list, i, ".env").text, "one of the two",
                   "is \"%.80s\", and env has it", secret->env);
}

/* A file of its own path makes its directory one of memory. */
static void check_file(const struct checker *c, const struct list *list, size_t i)
{
    const struct job_secret *secret = &list->all->at[i];
    const char *file = secret->file, *last = file ? strrchr(file, '/') : NULL;
    size_t len;
    if (!file)
        return;
    if (*file != '/' || strstr(file, "/../") || strstr(file, "//") || !last[1] ||
        strcmp(last, "/..") == 0 || strcmp(last, "/.") == 0)
        check_fail(c, path_of(list, i, ".file").text, "/run/secrets/token",
                   "is \"%.80s\", not an absolute path of one", file);
    else if (last == file && !secret_is_set(secret->name, &len))
        check_fail(c, path_of(list, i, ".file").text, "/run/secrets/token",
                   "is \"%.80s\", and its directory is to have secrets alone", file);
}

static bool same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* With those before it in its list, and those of the job. */
static void check_twice(const struct checker *c, const struct list *list, size_t i,
                        const struct job_secrets *others, size_t n)
{
    const struct job_secret *secret = &list->all->at[i];
    for (size_t k = 0; k < n; k++) {
        const struct job_secret *other = &others->at[k];
        if (same_text(secret->env, other->env) && *secret->env)
            check_fail(c, path_of(list, i, ".env").text, "each variable once",
                       "is \"%.80s\", which %.80s is too", secret->env, other->name);
        if (same_text(secret->file, other->file))
            check_fail(c, path_of(list, i, ".file").text, "each file once",
                       "is \"%.80s\", which %.80s is too", secret->file, other->name);
    }
}

static void check_list(const struct checker *c, const struct list *list)
{
    const struct job_secrets *of_job = &c->job->inputs.secrets;
    for (size_t i = 0; i < list->all->n; i++) {
        check_env(c, list, i);
        check_file(c, list, i);
        check_twice(c, list, i, list->all, i);
        if (list->role)
            check_twice(c, list, i, of_job, of_job->n);
    }
}

void check_secrets(const struct checker *c)
{
    check_list(c, &(struct list){ .all = &c->job->inputs.secrets });
    for (size_t i = 0; i < c->job->n_roles; i++)
        check_list(c,
                   &(struct list){ .all = &c->job->roles[i].secrets, .role = &c->job->roles[i] });
}
