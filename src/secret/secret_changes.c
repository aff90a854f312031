/* Two lists of texts. They are short: a commit empties them, and what is used is bounded, because a
 * disk may be full for long. */
#include "secret/secret_changes.h"

#include "base/mem.h"

#define USED_MAX 100000u

void secret_changes_clear_set(struct secret_changes *s)
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

void secret_changes_clear_used(struct secret_changes *s)
{
    while (s->used.n > 0)
        free_used(&s->used.at[--s->used.n]);
}

void secret_changes_fini(struct secret_changes *s)
{
    secret_changes_clear_set(s);
    secret_changes_clear_used(s);
    vec_fini(&s->changed);
    vec_fini(&s->used);
}

void secret_changes_set(struct secret_changes *s, const char *owner, const char *project,
                        const char *name)
{
    *vec_add(&s->changed) =
        (struct changed_secret){ .owner = owner ? mem_strdup(owner) : NULL,
                                 .project = project ? mem_strdup(project) : NULL,
                                 .name = mem_strdup(name) };
}

void secret_changes_use(struct secret_changes *s, struct secret_usage used)
{
    if (s->used.n < USED_MAX)
        vec_push(&s->used, used);
    else
        free_used(&used);
}
