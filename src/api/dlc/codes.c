/* Code sources: entries of the catalogue, and what only these clients say of them beside. The token
 * of a repository is not kept: nothing here would use it. */
#include "api/dlc/documents.h"

#include "base/mem.h"

#include <string.h>

static const struct dlc_kind code_source = { ENTRY_CODE_SOURCE, "dlc.codesource", false };
static const struct dlc_list_type listed = { .key = "CodeSources",
                                             .size = 20,
                                             .sorts = { "GmtCreateTime", "GmtModifyTime",
                                                        "DisplayName", "CodeSourceId" } };
static const char *const fields[] = { "DisplayName",      "CodeBranch",  "CodeCommit",
                                      "CodeRepoUserName", "WorkspaceId", "Accessibility",
                                      "CloneType" };

static struct text_node *shown(struct dlc_call *d, const struct dlc_object *x)
{
    static const char *const same[] = { "CodeBranch", "CodeCommit", "CodeRepoUserName",
                                        "CloneType" };
    struct arena *a = d->arena;
    struct text_node *out = dlc_map(d);
    const char *name = dlc_text(x->spec, "DisplayName");
    const char *about = x->entry->description, *path = x->entry->path;
    text_str(a, out, "CodeSourceId", x->id);
    text_str(a, out, "DisplayName", name ? name : x->id);
    text_str(a, out, "Description", about ? about : "");
    text_str(a, out, "CodeRepo", x->entry->uri);
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        dlc_copy(a, out, x->spec, same[i]);
    text_str(a, out, "CodeRepoAccessToken", "");
    text_str(a, out, "MountPath", path && *path ? path : "/root/code/");
    dlc_thing_common(d, out, x, "GmtModifyTime");
    return out;
}

void dlc_code_get(struct dlc_call *d)
{
    struct dlc_object x;
    if (dlc_thing_find(d, &code_source, &x))
        dlc_ok(d, shown(d, &x));
}

void dlc_code_list(struct dlc_call *d)
{
    const char *space = dlc_query(d, "WorkspaceId"), *name = dlc_query(d, "DisplayName");
    struct dlc_listing l;
    size_t n;
    if (!dlc_listing_begin(&l, d, &listed))
        return;
    const struct dlc_object *all = dlc_things(d, &code_source, &n);
    for (size_t i = 0; i < n; i++) {
        const struct text_node *one = shown(d, &all[i]);
        if (dlc_thing_within(&all[i], space) &&
            (!name || dlc_within(name, dlc_text(one, "DisplayName"))))
            dlc_listing_add(&l, one, all[i].row);
    }
    dlc_ok(d, dlc_listing_end(&l));
}

/* ---- change ---- */

static const char *said_or(const struct text_node *said, const struct dlc_object *x,
                           const char *key)
{
    const char *text = dlc_text(said, key);
    return text || !x->spec ? text : dlc_text(x->spec, key);
}

/* What is said, else what it was: x->entry NULL, there was nothing. */
static void put_source(struct dlc_call *d, const struct dlc_object *x, const struct text_node *said)
{
    const struct entry *was = x->entry;
    const struct {
        const char *said, *member, *was;
    } members[] = { { "CodeRepo", "uri", was ? was->uri : NULL },
                    { "MountPath", "path", was ? was->path : NULL },
                    { "Description", "description", was ? was->description : NULL } };
    struct text_node *entry = dlc_map(d), *spec = dlc_map(d), *ready = dlc_map(d);
    const char *path = dlc_text(said, "MountPath");
    if (path && *path != '/') {
        dlc_fail(d, 400, "InvalidParameter", "MountPath is \"%.100s\", no absolute path", path);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const char *text = dlc_text(said, members[i].said);
        dlc_put(d->arena, entry, members[i].member, text ? text : members[i].was);
    }
    const char *commit = said_or(said, x, "CodeCommit");
    dlc_put(d->arena, entry, "at", commit ? commit : said_or(said, x, "CodeBranch"));
    dlc_put(d->arena, entry, "owner", x->entry ? x->owner : d->call->owner);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        dlc_copy(d->arena, spec, dlc_text(said, fields[i]) || !x->spec ? said : x->spec, fields[i]);
    text_str(d->arena, ready, "CodeSourceId", x->id);
    dlc_thing_put(d, &code_source, x->id, entry, spec, ready);
}

void dlc_code_create(struct dlc_call *d)
{
    const char *space, *name, *repo;
    const struct dlc_object x = { .id = dlc_new_id(d->arena, "code-", 18) };
    if (dlc_need(d, "WorkspaceId", &space) && dlc_space_there(d, space) &&
        dlc_need(d, "DisplayName", &name) && dlc_need(d, "CodeRepo", &repo))
        put_source(d, &x, d->body);
}

void dlc_code_update(struct dlc_call *d)
{
    struct dlc_object x;
    if (dlc_thing_find(d, &code_source, &x))
        put_source(d, &x, d->body);
}

void dlc_code_publish(struct dlc_call *d)
{
    struct text_node *said = dlc_map(d);
    struct dlc_object x;
    text_str(d->arena, said, "Accessibility", "PUBLIC");
    if (dlc_thing_find(d, &code_source, &x))
        put_source(d, &x, said);
}

void dlc_code_delete(struct dlc_call *d)
{
    struct dlc_object x;
    struct text_node *ready = dlc_map(d);
    if (!dlc_thing_find(d, &code_source, &x))
        return;
    text_str(d->arena, ready, "CodeSourceId", x.id);
    dlc_thing_remove(d, &code_source, x.id, ready);
}
