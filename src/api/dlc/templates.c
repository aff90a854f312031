/* Job templates: CreateJob bodies kept under a name, with versions, and rules of what a job made of
 * one may say itself.
 *
 * Constraints are paths of the body ($.JobType, $.Settings.OversoldType): `locked` has the
 * template's value, `required` must be said by who creates the job, `overridable` may be. What the
 * template says and the body does not is the job's. */
#include "api/dlc/op.h"

#include "base/buf.h"
#include "base/mem.h"
#include "text/json.h"

#include <string.h>

#define KIND      "dlc.template"
#define VERSIONS  100
#define TEXT_SIZE ((size_t)1 << 20)

static const struct text_node *parse(struct arena *a, const char *text)
{
    struct report report;
    report_init(&report, a);
    const struct text_node *root = text ? json_parse(a, text, strlen(text), 0, &report) : NULL;
    return root && root->kind == TEXT_MAP && report_ok(&report) ? root : NULL;
}

static int64_t default_version(const struct text_node *spec)
{
    const struct text_node *node = text_get(spec, "DefaultVersion");
    return node ? node->integer : 1;
}

static const struct text_node *version_of(const struct text_node *spec, int64_t version)
{
    const struct text_node *list = text_get(spec, "Versions");
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (text_get(one, "Version")->integer == version)
            return one;
    return NULL;
}

/* Whose it is, or who is in its workspace. */
static bool visible(const struct dlc_call *d, const struct text_node *object)
{
    const char *space = dlc_text(dlc_spec(object), "WorkspaceId");
    const struct text_node *user = ctl_user_tree(d->ctl, d->arena, d->call->owner, d->call->owner);
    const struct text_node *projects = user ? text_get(user, "projects") : NULL;
    if (dlc_own(d, object) || !space || strcmp(space, "default") == 0)
        return true;
    for (const struct text_node *one = projects ? projects->first : NULL; one; one = one->next)
        if (strcmp(one->str, space) == 0)
            return true;
    return false;
}

static const struct text_node *template(struct dlc_call *d, const char *id, bool own)
{
    const struct text_node *object = dlc_object(d, KIND, "", id);
    if (!object || !visible(d, object))
        dlc_fail(d, 404, "NotFound", "no job template \"%.100s\"", id);
    else if (own && !dlc_own(d, object))
        dlc_fail(d, 403, "Forbidden.RAM", "job template \"%.100s\" belongs to %.60s", id,
                 dlc_text(object, "owner"));
    else
        return object;
    return NULL;
}

static void put_template(struct dlc_call *d, struct text_node *out, const struct text_node *object)
{
    static const char *const same[] = { "TemplateName", "WorkspaceId", "Description", "Metadata",
                                        "DefaultVersion" };
    const struct text_node *spec = dlc_spec(object);
    text_str(d->arena, out, "TemplateId", dlc_text(object, "name"));
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        dlc_copy(d->arena, out, spec, same[i]);
    text_str(d->arena, out, "UserId", dlc_text(object, "owner"));
    text_str(d->arena, out, "GmtCreateTime", facade_time(d->arena, dlc_when(object, "created_ms")));
    text_str(d->arena, out, "GmtModifyTime", facade_time(d->arena, dlc_when(object, "changed_ms")));
}

/* ---- what they say ---- */

/* A body that CreateJob could take, as text; NULL: answered. */
static const char *content_of(struct dlc_call *d)
{
    const struct text_node *node = text_get(d->body, "Content");
    AUTO_BUF struct buf text = BUF_INIT(TEXT_SIZE);
    if (node && node->kind == TEXT_MAP)
        json_print(node, 0, &text);
    else if (node && node->kind == TEXT_STR && parse(d->arena, node->str))
        buf_puts(&text, node->str);
    if (text.len && !text.overflow)
        return arena_strdup(d->arena, buf_str(&text));
    dlc_fail(d, 400, "InvalidParameter", "Content is not the JSON text of a CreateJob body");
    return NULL;
}

static void put_version(struct dlc_call *d, struct text_node *list, int64_t version,
                        const char *content)
{
    struct text_node *one = text_map(d->arena, list, NULL);
    text_int(d->arena, one, "Version", version);
    text_str(d->arena, one, "Content", content);
    dlc_copy(d->arena, one, d->body, "Constraints");
    text_str(d->arena, one, "CreatedBy", d->call->owner);
    text_str(d->arena, one, "GmtCreateTime", facade_time(d->arena, d->now_ms));
}

void dlc_template_create(struct dlc_call *d)
{
    static const char *const same[] = { "TemplateName", "WorkspaceId", "Description", "Metadata" };
    const char *name, *space, *content;
    if (!dlc_need(d, "TemplateName", &name) || !dlc_need(d, "WorkspaceId", &space))
        return;
    if (!text_get(d->body, "Content")) {
        dlc_missing(d, "Content");
        return;
    }
    if (!(content = content_of(d)))
        return;
    struct text_node *spec = text_map(d->arena, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        dlc_copy(d->arena, spec, d->body, same[i]);
    text_int(d->arena, spec, "DefaultVersion", 1);
    put_version(d, text_list(d->arena, spec, "Versions"), 1, content);
    struct ctl_object object = { KIND, "", dlc_new_id(d->arena, "tpl-", 16), spec };
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, "TemplateId", object.name);
    text_int(d->arena, out, "Version", 1);
    text_int(d->arena, out, "DefaultVersion", 1);
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        dlc_copy(d->arena, out, d->body, same[i]);
    text_str(d->arena, out, "UserId", d->call->owner);
    text_str(d->arena, out, "GmtCreateTime", facade_time(d->arena, d->now_ms));
    text_str(d->arena, out, "GmtModifyTime", facade_time(d->arena, d->now_ms));
    dlc_store(d, &object, true, out);
}

void dlc_template_list(struct dlc_call *d)
{
    const char *space = dlc_query(d, "WorkspaceId"), *name = dlc_query(d, "TemplateName");
    const char *id = dlc_query(d, "TemplateId"), *user = dlc_query(d, "UserId");
    struct facade_page page;
    uint64_t at = 0;
    if (!space) {
        dlc_missing(d, "WorkspaceId");
        return;
    }
    if (!dlc_page(d, 10, &page))
        return;
    struct text_node *out = dlc_map(d), *list = text_list(d->arena, out, "JobTemplates");
    const struct text_node *all = ctl_objects_tree(d->ctl, d->arena, KIND, NULL);
    for (const struct text_node *one = all->first; one; one = one->next) {
        const struct text_node *spec = dlc_spec(one);
        const char *its_space = dlc_text(spec, "WorkspaceId"),
                   *its = dlc_text(spec, "TemplateName");
        if (!visible(d, one) || !its_space || strcmp(its_space, space) != 0 ||
            (name && !dlc_within(name, its)) || (id && strcmp(dlc_text(one, "name"), id) != 0) ||
            (user && strcmp(dlc_text(one, "owner"), user) != 0))
            continue;
        if (at >= page.offset && at < page.offset + page.limit)
            put_template(d, text_map(d->arena, list, NULL), one);
        at++;
    }
    text_int(d->arena, out, "TotalCount", (int64_t)at);
    text_int(d->arena, out, "PageNumber", dlc_page_number(&page));
    text_int(d->arena, out, "PageSize", (int64_t)page.limit);
    dlc_ok(d, out);
}

void dlc_template_get(struct dlc_call *d)
{
    const char *asked = dlc_query(d, "Version");
    bool all = asked && strcmp(asked, "all") == 0;
    uint64_t version = 0;
    const struct text_node *object = template(d, d->param[0], false);
    if (!object || (!all && !dlc_query_u64(d, "Version", 1, INT32_MAX, &version)))
        return;
    const struct text_node *spec = dlc_spec(object), *list = text_get(spec, "Versions");
    int64_t wanted = version ? (int64_t)version : default_version(spec);
    if (!all && !version_of(spec, wanted)) {
        dlc_fail(d, 404, "NotFound", "job template \"%.100s\" has no version %lld", d->param[0],
                 (long long)wanted);
        return;
    }
    struct text_node *out = dlc_map(d);
    put_template(d, out, object);
    struct text_node *versions = text_list(d->arena, out, "Versions");
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (all || text_get(one, "Version")->integer == wanted)
            text_copy(d->arena, versions, NULL, one);
    text_int(d->arena, out, "TotalCount", (int64_t)versions->count);
    dlc_ok(d, out);
}

/* Its document anew: what is told is changed, the rest copied. */
static struct text_node *changed(struct dlc_call *d, const struct text_node *spec, int64_t standard)
{
    static const char *const same[] = { "TemplateName", "Description", "Metadata" };
    struct text_node *out = text_map(d->arena, NULL, NULL);
    dlc_copy(d->arena, out, spec, "WorkspaceId");
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        dlc_copy(d->arena, out, text_get(d->body, same[i]) ? d->body : spec, same[i]);
    text_int(d->arena, out, "DefaultVersion", standard);
    dlc_copy(d->arena, out, spec, "Versions");
    return out;
}

void dlc_template_update(struct dlc_call *d)
{
    const struct text_node *content = text_get(d->body, "Content");
    const struct text_node *object = template(d, d->param[0], true);
    const char *text = NULL;
    if (!object || (content && content->kind != TEXT_NULL && !(text = content_of(d))))
        return;
    const struct text_node *spec = dlc_spec(object), *versions = text_get(spec, "Versions");
    int64_t standard = default_version(spec);
    int64_t newest = versions ? text_get(versions->last, "Version")->integer : 0;
    if (text && versions && versions->count >= VERSIONS) {
        dlc_fail(d, 400, "BadRequest", "a job template has at most %d versions", VERSIONS);
        return;
    }
    int64_t version = newest + (text ? 1 : 0);
    if (text && dlc_true(d->body, "SetAsDefault"))
        standard = version;
    struct text_node *fresh = changed(d, spec, standard);
    if (text)
        put_version(d, text_get(fresh, "Versions"), version, text);
    struct text_node *out = dlc_map(d);
    text_int(d->arena, out, "Version", version);
    text_int(d->arena, out, "DefaultVersion", standard);
    text_bool(d->arena, out, "VersionCreated", text != NULL);
    text_str(d->arena, out, "GmtModifyTime", facade_time(d->arena, d->now_ms));
    struct ctl_object put = { KIND, "", d->param[0], fresh };
    dlc_store(d, &put, false, out);
}

void dlc_template_default(struct dlc_call *d)
{
    const struct text_node *version = text_get(d->body, "Version");
    const struct text_node *object = template(d, d->param[0], true);
    if (!object)
        return;
    if (!version || version->kind != TEXT_INT || !version_of(dlc_spec(object), version->integer)) {
        dlc_fail(d, version ? 404 : 400, version ? "NotFound" : "MissingParameter",
                 "Version is no version of job template \"%.100s\"", d->param[0]);
        return;
    }
    d->body = text_map(d->arena, NULL, NULL);
    struct text_node *out = dlc_map(d);
    text_int(d->arena, out, "DefaultVersion", version->integer);
    text_str(d->arena, out, "GmtModifyTime", facade_time(d->arena, d->now_ms));
    struct ctl_object put = { KIND, "", d->param[0],
                              changed(d, dlc_spec(object), version->integer) };
    dlc_store(d, &put, false, out);
}

void dlc_template_delete(struct dlc_call *d)
{
    struct text_node *out = dlc_map(d);
    if (!template(d, d->param[0], true))
        return;
    text_str(d->arena, out, "TemplateId", d->param[0]);
    struct ctl_object gone = { KIND, "", d->param[0], NULL };
    dlc_store(d, &gone, false, out);
}

/* ---- a job made of one ---- */

/* "$.Settings.OversoldType" in the body; NULL: not there. */
static const struct text_node *walk(struct arena *a, const struct text_node *body, const char *path)
{
    const struct text_node *node = body;
    path += strncmp(path, "$.", 2) == 0 ? 2 : 0;
    while (node && *path) {
        size_t len = strcspn(path, ".");
        node = text_get(node, arena_strndup(a, path, len));
        path += len + (path[len] == '.');
    }
    return node && node->kind != TEXT_NULL ? node : NULL;
}

static bool allowed(struct dlc_call *d, const struct text_node *version,
                    const struct text_node *content)
{
    const struct text_node *rules = text_get(version, "Constraints");
    for (const struct text_node *rule = rules ? rules->first : NULL; rule; rule = rule->next) {
        const struct text_node *said = walk(d->arena, d->body, rule->key);
        const struct text_node *is = walk(d->arena, content, rule->key);
        const char *word = rule->str ? rule->str : "";
        if (strcmp(word, "locked") == 0 && said && (!is || !text_equal(said, is))) {
            dlc_fail(d, 400, "InvalidParameter", "%.100s is locked by the job template", rule->key);
            return false;
        }
        if (strcmp(word, "required") == 0 && !said) {
            dlc_fail(d, 400, "MissingParameter", "%.100s is required by the job template",
                     rule->key);
            return false;
        }
    }
    return true;
}

static void merge(struct arena *a, struct text_node *into, const struct text_node *base,
                  const struct text_node *over)
{
    for (const struct text_node *one = base->first; one; one = one->next) {
        const struct text_node *said = text_get(over, one->key);
        if (said && said->kind == TEXT_MAP && one->kind == TEXT_MAP)
            merge(a, text_map(a, into, one->key), one, said);
        else
            text_copy(a, into, one->key,
                      said && said->kind != TEXT_NULL && !(said->kind == TEXT_LIST && !said->count)
                          ? said
                          : one);
    }
    for (const struct text_node *one = over->first; one; one = one->next)
        if (!text_get(base, one->key) && strncmp(one->key, "Template", 8) != 0)
            text_copy(a, into, one->key, one);
}

bool dlc_template_apply(struct dlc_call *d, const struct text_node **out)
{
    const char *id = dlc_text(d->body, "TemplateId");
    const struct text_node *asked = text_get(d->body, "TemplateVersion");
    *out = d->body;
    if (!id)
        return true;
    const struct text_node *object = template(d, id, false);
    if (!object)
        return false;
    const struct text_node *spec = dlc_spec(object);
    int64_t wanted = asked && asked->kind == TEXT_INT ? asked->integer : default_version(spec);
    const struct text_node *version = version_of(spec, wanted);
    const struct text_node *content =
        version ? parse(d->arena, dlc_text(version, "Content")) : NULL;
    if (!content) {
        dlc_fail(d, 404, "NotFound", "job template \"%.100s\" has no version %lld", id,
                 (long long)wanted);
        return false;
    }
    if (!allowed(d, version, content))
        return false;
    struct text_node *merged = text_map(d->arena, NULL, NULL);
    merge(d->arena, merged, content, d->body);
    *out = merged;
    return true;
}
