/* Code sources: entries of the catalogue, and what only these clients say of them beside. The token
 * of a repository is not kept: nothing here would use it. */
#include "api/dlc/op.h"

#include "base/mem.h"

#include <string.h>
#include <strings.h>

#define KIND "dlc.codesource"

static const char *const fields[] = { "DisplayName",      "CodeBranch",  "CodeCommit",
                                      "CodeRepoUserName", "WorkspaceId", "Accessibility",
                                      "CloneType" };

struct source {
    const char *id;
    const struct text_node *entry, *row, *spec;
};

static bool visible(const struct dlc_call *d, const struct source *x)
{
    const char *owner = dlc_text(x->entry, "owner"), *access = dlc_text(x->spec, "Accessibility");
    return !owner || dlc_is_admin(d) || strcmp(owner, d->call->owner) == 0 ||
           (access && strcasecmp(access, "PUBLIC") == 0);
}

static struct source of_entry(struct dlc_call *d, const struct text_node *entry)
{
    const char *id = dlc_text(entry, "name");
    const struct text_node *row = dlc_object(d, KIND, "", id);
    return (struct source){ id, entry, row, dlc_spec(row) };
}

static bool find(struct dlc_call *d, struct source *x)
{
    const struct text_node *entry = dlc_entry(d, ENTRY_CODE_SOURCE, d->param[0]);
    if (entry) {
        *x = of_entry(d, entry);
        if (visible(d, x))
            return true;
    }
    dlc_fail(d, 404, "NotFound", "no code source \"%.100s\"", d->param[0]);
    return false;
}

static void put_code(struct dlc_call *d, struct text_node *out, const struct source *x)
{
    struct arena *a = d->arena;
    const char *name = dlc_text(x->spec, "DisplayName"), *owner = dlc_text(x->entry, "owner");
    const char *about = dlc_text(x->entry, "description"), *path = dlc_text(x->entry, "path");
    const char *access = dlc_text(x->spec, "Accessibility");
    text_str(a, out, "CodeSourceId", x->id);
    text_str(a, out, "DisplayName", name ? name : x->id);
    text_str(a, out, "Description", about ? about : "");
    text_str(a, out, "CodeRepo", dlc_text(x->entry, "uri"));
    dlc_copy(a, out, x->spec, "CodeBranch");
    dlc_copy(a, out, x->spec, "CodeCommit");
    dlc_copy(a, out, x->spec, "CodeRepoUserName");
    text_str(a, out, "CodeRepoAccessToken", "");
    text_str(a, out, "MountPath", path ? path : "/root/code/");
    text_str(a, out, "Accessibility", access ? access : owner ? "PRIVATE" : "PUBLIC");
    text_str(a, out, "UserId", owner ? owner : "");
    text_str(a, out, "WorkspaceId", dlc_workspace(dlc_text(x->spec, "WorkspaceId")));
    text_str(a, out, "GmtCreateTime",
             x->row ? facade_time_ms(a, dlc_when(x->row, "created_ms")) : "");
    text_str(a, out, "GmtModifyTime",
             x->row ? facade_time_ms(a, dlc_when(x->row, "changed_ms")) : "");
}

void dlc_code_get(struct dlc_call *d)
{
    struct text_node *out = dlc_map(d);
    struct source x;
    if (!find(d, &x))
        return;
    put_code(d, out, &x);
    dlc_ok(d, out);
}

void dlc_code_list(struct dlc_call *d)
{
    const char *space = dlc_query(d, "WorkspaceId"), *name = dlc_query(d, "DisplayName");
    struct facade_page page;
    bool ascending;
    uint64_t at = 0;
    if (!dlc_page(d, 20, &page) || !dlc_order(d, true, &ascending))
        return;
    struct text_node *out = dlc_map(d), *list = text_list(d->arena, out, "CodeSources");
    const struct text_node *all = dlc_entries(d, ENTRY_CODE_SOURCE);
    for (const struct text_node *one = all->first; one; one = one->next) {
        struct text_node *shown = text_map(d->arena, NULL, NULL);
        struct source x = of_entry(d, one);
        if (!visible(d, &x))
            continue;
        put_code(d, shown, &x);
        if ((space && *text_get(shown, "UserId")->str &&
             strcmp(dlc_text(shown, "WorkspaceId"), space) != 0) ||
            (name && !dlc_within(name, dlc_text(shown, "DisplayName"))))
            continue;
        if (at >= page.offset && at < page.offset + page.limit)
            text_copy(d->arena, list, NULL, shown);
        at++;
    }
    text_int(d->arena, out, "TotalCount", (int64_t)at);
    dlc_ok(d, out);
}

/* ---- change ---- */

static void put_source(struct dlc_call *d, const struct source *x, const struct text_node *spec)
{
    struct text_node *entry = text_map(d->arena, NULL, NULL), *ready = dlc_map(d);
    struct ctl_object *object = ARENA_NEW(d->arena, struct ctl_object);
    const char *uri = dlc_text(d->body, "CodeRepo"), *path = dlc_text(d->body, "MountPath");
    const char *about = dlc_text(d->body, "Description");
    const char *owner = x->entry ? dlc_text(x->entry, "owner") : d->call->owner;
    uri = uri || !x->entry ? uri : dlc_text(x->entry, "uri");
    path = path || !x->entry ? path : dlc_text(x->entry, "path");
    about = about || !x->entry ? about : dlc_text(x->entry, "description");
    text_str(d->arena, entry, "kind", "code_source");
    text_str(d->arena, entry, "name", x->id);
    text_str(d->arena, entry, "uri", uri);
    dlc_put(d->arena, entry, "path", path);
    dlc_put(d->arena, entry, "description", about);
    dlc_put(d->arena, entry, "owner", owner);
    *object = (struct ctl_object){ KIND, "", x->id, spec };
    text_str(d->arena, ready, "CodeSourceId", x->id);
    dlc_change(d, &(struct dlc_change){ .kind = ENTRY_CODE_SOURCE,
                                        .name = x->id,
                                        .entry = entry,
                                        .objects = object,
                                        .n_objects = 1,
                                        .ready = ready });
}

static struct text_node *spec_with(struct dlc_call *d, const struct source *x,
                                   const struct text_node *over)
{
    struct text_node *spec = text_map(d->arena, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        dlc_copy(d->arena, spec, text_get(over, fields[i]) || !x->spec ? over : x->spec, fields[i]);
    return spec;
}

void dlc_code_create(struct dlc_call *d)
{
    const char *space, *name, *repo, *path = dlc_text(d->body, "MountPath");
    struct source x = { .id = dlc_new_id(d->arena, "code-", 18) };
    if (!dlc_need(d, "WorkspaceId", &space) || !dlc_need(d, "DisplayName", &name) ||
        !dlc_need(d, "CodeRepo", &repo))
        return;
    if (path && *path != '/')
        dlc_fail(d, 400, "InvalidParameter", "MountPath is \"%.100s\", no absolute path", path);
    else
        put_source(d, &x, spec_with(d, &x, d->body));
}

void dlc_code_update(struct dlc_call *d)
{
    struct source x;
    if (find(d, &x))
        put_source(d, &x, spec_with(d, &x, d->body));
}

void dlc_code_publish(struct dlc_call *d)
{
    struct text_node *over = text_map(d->arena, NULL, NULL);
    struct source x;
    if (!find(d, &x))
        return;
    text_str(d->arena, over, "Accessibility", "PUBLIC");
    d->body = text_map(d->arena, NULL, NULL);
    put_source(d, &x, spec_with(d, &x, over));
}

void dlc_code_delete(struct dlc_call *d)
{
    struct ctl_object *gone = ARENA_NEW(d->arena, struct ctl_object);
    struct source x;
    if (!find(d, &x))
        return;
    struct text_node *ready = dlc_map(d);
    text_str(d->arena, ready, "CodeSourceId", x.id);
    *gone = (struct ctl_object){ KIND, "", x.id, NULL };
    dlc_change(d, &(struct dlc_change){ .kind = ENTRY_CODE_SOURCE,
                                        .name = x.id,
                                        .objects = gone,
                                        .n_objects = 1,
                                        .ready = ready });
}
