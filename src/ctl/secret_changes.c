/* Two lists of texts. They are short: a commit empties them, and what is used is bounded, because a
 * disk may be full for long. */
#include "ctl/secret_changes.h"

#include "base/mem.h"

#define USED_MAX 100000u

struct secrets *secrets_create(void)
{
    return mem_new(sizeof(struct secrets));
}

void secrets_clear_changed(struct secrets *s)
{
    for (size_t i = 0; i < s->changed.n; i++) {
        free(s->changed.at[i].owner);
        free(s->changed.at[i].project);
        free(s->changed.at[i].name);
    }
    vec_clear(&s->changed);
}

static void free_used(struct secret_usage *used)
{
    free(used->owner);
    free(used->project);
    free(used->name);
    free(used->what);
}

void secrets_clear_used(struct secrets *s, size_t but)
{
    while (s->used.n > but)
        free_used(&s->used.at[--s->used.n]);
}

void secrets_destroy(struct secrets *s)
{
    if (!s)
        return;
    secrets_clear_changed(s);
    secrets_clear_used(s, 0);
    vec_fini(&s->changed);
    vec_fini(&s->used);
    free(s);
}

void secrets_changed(struct secrets *s, const char *owner, const char *project, const char *name)
{
    *vec_add(&s->changed) =
        (struct changed_secret){ .owner = owner ? mem_strdup(owner) : NULL,
                                 .project = project ? mem_strdup(project) : NULL,
                                 .name = mem_strdup(name) };
}

void secrets_used(struct secrets *s, struct secret_usage used)
{
    if (s->used.n < USED_MAX)
        vec_push(&s->used, used);
    else
        free_used(&used);
}
