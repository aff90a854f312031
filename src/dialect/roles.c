/* A job with other roles: formats that know roles by fixed names get the job as they would have it,
 * so that writing and comparing need to know nothing of names. Pure. */
#include "dialect/roles.h"

#include <string.h>

/* ---- references ---- */

static void add_word(struct words *words, const char *word)
{
    if (!words_have(words, word))
        words->at[words->n++] = word;
}

static struct words renamed(struct arena *a, const struct words *words,
                            const struct role_names *names)
{
    struct words out = { .at = ARENA_ARRAY(a, words->n + names->n + 1, const char *) };
    for (size_t i = 0; i < words->n; i++) {
        bool found = false;
        for (size_t k = 0; k < names->n; k++) {
            if (strcmp(names->at[k].from, words->at[i]) != 0)
                continue;
            add_word(&out, names->at[k].to);
            found = true;
        }
        if (!found)
            add_word(&out, words->at[i]);
    }
    return out;
}

static struct pairs renamed_shares(struct arena *a, const struct pairs *shares,
                                   const struct role_names *names)
{
    struct pairs out = { .at = NULL };
    for (size_t i = 0; i < shares->n; i++) {
        struct words one = { .at = &(const char *){ shares->at[i].name }, .n = 1 };
        const struct words to = renamed(a, &one, names);
        for (size_t k = 0; k < to.n; k++)
            pairs_set(&out, a, to.at[k], shares->at[i].value);
    }
    return out;
}

static void rename_gangs(struct arena *a, struct job_spec *job, const struct role_names *names)
{
    struct gang *gangs = ARENA_ARRAY(a, job->n_gangs + 1, struct gang);
    for (size_t i = 0; i < job->n_gangs; i++) {
        gangs[i] = job->gangs[i];
        gangs[i].roles = renamed(a, &job->gangs[i].roles, names);
    }
    job->gangs = gangs;
}

static void rename_placing(struct arena *a, struct placing *p, const struct role_names *names)
{
    struct colocate *together = ARENA_ARRAY(a, p->n_together + 1, struct colocate);
    for (size_t i = 0; i < p->n_together; i++)
        together[i] =
            (struct colocate){ .roles = renamed(a, &p->together[i].roles, names),
                               .shares = renamed_shares(a, &p->together[i].shares, names) };
    p->together = together;
    p->spread = renamed(a, &p->spread, names);
    p->pack = renamed(a, &p->pack, names);
    p->apart = renamed(a, &p->apart, names);
}

struct job_spec *dialect_with_roles(struct arena *a, const struct job_spec *job, struct role *roles,
                                    size_t n, const struct role_names *names)
{
    struct job_spec *out = ARENA_NEW(a, struct job_spec);
    *out = *job;
    out->roles = roles;
    out->n_roles = n;
    for (size_t i = 0; i < n; i++)
        roles[i].after = renamed(a, &roles[i].after, names);
    rename_gangs(a, out, names);
    rename_placing(a, &out->placing, names);
    return out;
}

/* ---- splitting and joining ---- */

struct job_spec *dialect_split_role(struct arena *a, const struct job_spec *job, const char *from,
                                    const char *first)
{
    struct role *roles = ARENA_ARRAY(a, job->n_roles + 1, struct role);
    struct role_name names[] = { { from, first }, { from, from } };
    struct role_names all = { .at = names, .n = 1 };
    size_t n = 0;
    for (size_t i = 0; i < job->n_roles; i++) {
        struct role role = job->roles[i];
        if (strcmp(role.name, from) != 0) {
            roles[n++] = role;
            continue;
        }
        roles[n] = role;
        roles[n].name = first;
        roles[n].replicas = roles[n].min = 1;
        n++;
        if (role.replicas == 1)
            continue;
        role.min = role.min > 1 ? role.min - 1 : 1;
        role.replicas--;
        roles[n++] = role;
        all.n = 2;
    }
    return dialect_with_roles(a, job, roles, n, &all);
}

/* As the native form has them, so that no field is forgotten here. */
bool dialect_same_tasks(const struct role *x, const struct role *y)
{
    struct arena *scratch = arena_create();
    const struct text_node *trees[2];
    const struct role *both[] = { x, y };
    for (size_t i = 0; i < 2; i++) {
        struct job_spec *job = job_new(scratch);
        struct role role = *both[i];
        role.name = "role";
        role.replicas = role.min = 1;
        role.n_ports = 0;
        role.after = (struct words){ .at = NULL };
        job->name = "job";
        job->roles = &role;
        job->n_roles = 1;
        trees[i] = job_encode(scratch, job);
    }
    bool same = text_equal(trees[0], trees[1]);
    arena_destroy(scratch);
    return same;
}
