/* Secrets of Kubernetes: a key of one is the secret NAME/KEY of whoever submits, all of them are
 * NAME/ and a star. They are muster's own (`muster secret set NAME/KEY`), or what kubectl left in
 * the namespace.
 *
 * Effects: secrets of the role, problems in the report.
 * Caveats: their files are of mode 0400, whatever the volume says; a value cannot be put into
 * another variable by $(NAME), because nobody but the task has it. */
#include "dialect/elasticjob/secrets.h"

static const char *name_of(const struct ej_reader *r, struct ej_place at, const char *name,
                           const char *key)
{
    const char *whole = arena_printf(r->arena, "%s/%s", name, key ? key : "x");
    if (!secret_name_ok(whole)) {
        report_hint(r->report, ej_fail(r, at, "is of \"%.100s\", no name of a secret", whole),
                    "names and keys of letters, digits, . _ -");
        return NULL;
    }
    return key ? whole : arena_printf(r->arena, "%s" SECRET_ALL, name);
}

static void add(const struct ej_reader *r, struct role *role, struct job_secret secret)
{
    struct job_secrets *all = &role->secrets;
    struct job_secret *at = ARENA_ARRAY(r->arena, all->n + 1, struct job_secret);
    if (all->n)
        memcpy(at, all->at, all->n * sizeof *at);
    at[all->n++] = secret;
    all->at = at;
}

void ej_secret_env(const struct ej_reader *r, struct role *role, const struct ej_env *env,
                   struct ej_place at)
{
    const struct ej_secret *from = &env->from.secret;
    const char *name = name_of(r, at, from->name, from->key);
    if (name)
        add(r, role,
            (struct job_secret){
                .name = name, .env = env->name, .optional = from->optional, .place = at.place });
}

void ej_secrets_from(const struct ej_reader *r, struct role *role,
                     const struct ej_container *container, struct ej_place list)
{
    for (size_t i = 0; i < container->n_from; i++) {
        const struct ej_env_source *from = &container->from[i];
        struct ej_place at = ej_item(r, list, i);
        const char *name = from->has_secret ? name_of(r, at, from->secret.name, NULL) : NULL;
        if (!from->has_secret)
            report_hint(r->report, ej_fail(r, at, "has no secretRef"), "secretRef: {name: ...}");
        if (name)
            add(r, role,
                (struct job_secret){ .name = name,
                                     .env = from->prefix ? from->prefix : "",
                                     .optional = from->secret.optional,
                                     .place = at.place });
    }
}

void ej_secret_volume(const struct ej_reader *r, struct role *role,
                      const struct ej_volume_mount *mount, const struct ej_secret_volume *volume,
                      struct ej_place at)
{
    struct job_secret secret = { .optional = volume->optional, .place = at.place };
    const char *sub = mount->sub_path && *mount->sub_path ? mount->sub_path : NULL;
    if (volume->n_items == 0) {
        secret.name = name_of(r, at, volume->name, sub);
        secret.file = mount->at;
        if (secret.name)
            add(r, role, secret);
        return;
    }
    for (size_t i = 0; i < volume->n_items; i++) {
        const struct ej_key_path *item = &volume->items[i];
        if (sub && strcmp(sub, item->path) != 0)
            continue;
        secret.name = name_of(r, at, volume->name, item->key);
        secret.file = sub ? mount->at : arena_printf(r->arena, "%s/%s", mount->at, item->path);
        if (strchr(item->path, '/'))
            report_hint(r->report,
                        ej_fail(r, at, "has a key at \"%.80s\", in a directory", item->path),
                        "a path without /");
        else if (secret.name)
            add(r, role, secret);
    }
}
