/* Job templates: CreateJob bodies kept under a name, with versions, and rules of what a job made of
 * one may say itself.
 *
 * Constraints are paths of the body ($.JobType, $.Settings.OversoldType): `locked` has the
 * template's value, `required` must be said by who creates the job, `overridable` may be. What the
 * template says and the body does not is the job's. */
#include "api/dlc/documents.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"
#include "dialect/dlc/dlc.h"
#include "text/json.h"

#include <string.h>

#define KIND      "dlc.template"
#define VERSIONS  100
#define TEXT_SIZE ((size_t)1 << 20)

static const struct dlc_list_type listed = { .key = "JobTemplates",
                                             .size = 10,
                                             .descending = true,
                                             .numbered = true,
                                             .sorts = { "GmtCreateTime", "GmtModifyTime",
                                                        "TemplateName", "TemplateId", "UserId" } };

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
static bool visible(const struct dlc_call *d, const struct document_view *object)
{
    const char *space = dlc_text(dlc_spec(object), "WorkspaceId");
    const struct user_view *user =
        show_user(ctl_accounts(d->ctl), d->arena, d->call->owner, d->call->owner);
    if (dlc_own(d, object) || !space || strcmp(space, "default") == 0)
        return true;
    return user && words_have(&user->projects, space);
}

static const struct document_view *template(struct dlc_call *d, const char *id, bool own)
{
    const struct document_view *object = dlc_object(d, KIND, "", id);
    if (!object || !visible(d, object))
        dlc_fail(d, 404, "NotFound", "no job template \"%.100s\"", id);
    else if (own && !dlc_own(d, object))
        dlc_fail(d, 403, "Forbidden.RAM", "job template \"%.100s\" belongs to %.60s", id,
                 object->owner);
    else
        return object;
    return NULL;
}

static struct text_node *shown(struct dlc_call *d, const struct document_view *object)
{
    static const char *const same[] = { "TemplateName", "WorkspaceId", "Description", "Metadata",
                                        "DefaultVersion" };
    struct text_node *out = dlc_map(d);
    const struct text_node *spec = dlc_spec(object);
    text_str(d->arena, out, "TemplateId", object->name);
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        dlc_copy(d->arena, out, spec, same[i]);
    text_str(d->arena, out, "UserId", object->owner);
    text_str(d->arena, out, "GmtCreateTime", facade_time(d->arena, object->created_ms));
    text_str(d->arena, out, "GmtModifyTime", facade_time(d->arena, object->changed_ms));
    return out;
}

/* ---- constraints: paths of the body ---- */

/* Takes a step of a path: the name into a member, the number into an element ("JobSpecs[0].Image"
 * has three). false: that is no path. */
struct step {
    const char *name; /* NULL: an element */
    size_t len;
    uint64_t element;
};
static bool step(const char **path, struct step *out)
{
    const char *at = *path + (**path == '.');
    size_t len = strcspn(at, ".[");
    *out = (struct step){ .name = at, .len = len };
    if (**path == '[') {
        char digits[12];
        size_t n = strspn(*path + 1, "0123456789");
        if (n == 0 || n >= sizeof digits || (*path)[n + 1] != ']')
            return false;
        memcpy(digits, *path + 1, n);
        digits[n] = '\0';
        out->name = NULL;
        *path += n + 2;
        return scan_u64(digits, 0, UINT32_MAX, &out->element);
    }
    *path = at + len;
    return len > 0 && strcspn(at, "*?@()'\",]") >= len;
}

static const char *first_step(const char *path)
{
    return path + (path[0] == '$' && (path[1] == '.' || path[1] == '['));
}

static bool good_path(const char *path)
{
    struct step s;
    path = first_step(path);
    bool good = *path != '\0';
    while (good && *path)
        good = step(&path, &s);
    return good;
}

/* {path: locked, required or overridable}; false: answered. */
static bool good_rules(struct dlc_call *d)
{
    static const char *const words[] = { "locked", "required", "overridable" };
    const struct text_node *rules = text_get(d->body, "Constraints");
    bool good = !rules || rules->kind == TEXT_MAP;
    for (const struct text_node *rule = good && rules ? rules->first : NULL; rule && good;
         rule = rule->next) {
        bool known = false;
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
            known = known || (rule->kind == TEXT_STR && strcmp(rule->str, words[i]) == 0);
        good = known && good_path(rule->key);
    }
    if (!good)
        dlc_fail(d, 400, "InvalidParameter",
                 "Constraints is an object of paths of the body ($.JobSpecs[0].Image) to locked, "
                 "required or overridable");
    return good;
}

/* ---- what they say ---- */

/* A body that CreateJob could take, as text; NULL: answered. */
static const char *content_of(struct dlc_call *d)
{
    const struct text_node *node = text_get(d->body, "Content");
    AUTO_BUF struct buf text = BUF_INIT(TEXT_SIZE);
    if (node && node->kind == TEXT_MAP)
        json_print(node, 0, &text);
    else if (node && node->kind == TEXT_STR && dlc_parse(d->arena, node->str))
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
    if (!dlc_space_there(d, space) || !good_rules(d) || !(content = content_of(d)))
        return;
    struct text_node *spec = text_map(d->arena, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        dlc_copy(d->arena, spec, d->body, same[i]);
    text_int(d->arena, spec, "DefaultVersion", 1);
    put_version(d, text_list(d->arena, spec, "Versions"), 1, content);
    struct document object = { KIND, "", dlc_new_id(d->arena, "tpl-", 16), spec };
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

static bool wanted(struct dlc_call *d, const struct text_node *one)
{
    static const char *const same[] = { "WorkspaceId", "TemplateId", "UserId" };
    static const char *const parts[] = { "TemplateName", "Description" };
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        const char *said = dlc_query(d, same[i]), *is = dlc_text(one, same[i]);
        if (said && (!is || strcmp(is, said) != 0))
            return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        const char *said = dlc_query(d, parts[i]);
        if (said && !dlc_within(said, dlc_text(one, parts[i])))
            return false;
    }
    return true;
}

void dlc_template_list(struct dlc_call *d)
{
    struct dlc_listing l;
    if (!dlc_query(d, "WorkspaceId")) {
        dlc_missing(d, "WorkspaceId");
        return;
    }
    if (!dlc_listing_begin(&l, d, &listed))
        return;
    const struct document_list all = documents_list(ctl_documents(d->ctl), d->arena, KIND, NULL);
    for (const struct document_view *one = all.at; one < all.at + all.n; one++) {
        const struct text_node *row = visible(d, one) ? shown(d, one) : NULL;
        if (row && wanted(d, row))
            dlc_listing_add(&l, row, one);
    }
    dlc_ok(d, dlc_listing_end(&l));
}

/* What is secret in it is its owner's to read. */
static void put_shown_version(struct dlc_call *d, struct text_node *list,
                              const struct text_node *version, bool own)
{
    const char *content = dlc_text(version, "Content");
    const struct text_node *root = own || !content ? NULL : dlc_parse(d->arena, content);
    struct text_node *out = text_copy(d->arena, list, NULL, version);
    if (root)
        text_get(out, "Content")->str =
            dialect_mask(d->arena, &dlc_dialect, root, content, strlen(content));
}

void dlc_template_get(struct dlc_call *d)
{
    const char *asked = dlc_query(d, "Version");
    bool all = asked && strcmp(asked, "all") == 0;
    uint64_t version = 0;
    const struct document_view *object = template(d, d->param[0], false);
    if (!object || (!all && !dlc_query_u64(d, "Version", 1, INT32_MAX, &version)))
        return;
    const struct text_node *spec = dlc_spec(object), *list = text_get(spec, "Versions");
    int64_t asked_for = version ? (int64_t)version : default_version(spec);
    if (!all && !version_of(spec, asked_for)) {
        dlc_fail(d, 404, "NotFound", "job template \"%.100s\" has no version %lld", d->param[0],
                 (long long)asked_for);
        return;
    }
    struct text_node *out = shown(d, object), *versions = text_list(d->arena, out, "Versions");
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (all || text_get(one, "Version")->integer == asked_for)
            put_shown_version(d, versions, one, dlc_own(d, object));
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
    static const char *const with[] = { "Constraints", "SetAsDefault" };
    const struct text_node *content = text_get(d->body, "Content");
    const struct document_view *object = template(d, d->param[0], true);
    const char *text = NULL;
    for (size_t i = 0; object && i < ARRAY_LEN(with) && !content; i++)
        if (text_get(d->body, with[i])) {
            dlc_fail(d, 400, "InvalidParameter", "%s is said of a new version: with Content",
                     with[i]);
            return;
        }
    if (!object || !good_rules(d) || (content && !(text = content_of(d))))
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
    struct document put = { KIND, "", d->param[0], fresh };
    dlc_store(d, &put, false, out);
}

void dlc_template_default(struct dlc_call *d)
{
    const struct text_node *version = text_get(d->body, "Version");
    const struct document_view *object = template(d, d->param[0], true);
    if (!object)
        return;
    uint64_t number = 0;
    if (!version) {
        dlc_missing(d, "Version");
        return;
    }
    if (!scan_u64(version->str, 1, INT32_MAX, &number) ||
        !version_of(dlc_spec(object), (int64_t)number)) {
        dlc_fail(d, 404, "NotFound", "job template \"%.100s\" has no version %.20s", d->param[0],
                 version->str);
        return;
    }
    d->body = dlc_map(d);
    struct text_node *out = dlc_map(d);
    text_int(d->arena, out, "DefaultVersion", (int64_t)number);
    text_str(d->arena, out, "GmtModifyTime", facade_time(d->arena, d->now_ms));
    struct document put = { KIND, "", d->param[0], changed(d, dlc_spec(object), (int64_t)number) };
    dlc_store(d, &put, false, out);
}

void dlc_template_delete(struct dlc_call *d)
{
    struct text_node *out = dlc_map(d);
    if (!template(d, d->param[0], true))
        return;
    text_str(d->arena, out, "TemplateId", d->param[0]);
    struct document gone = { KIND, "", d->param[0], NULL };
    dlc_store(d, &gone, false, out);
}

/* ---- a job made of one ---- */

/* What is at the path; NULL: nothing, or what is as good as left out. */
static const struct text_node *walk(struct arena *a, const struct text_node *body, const char *path)
{
    const struct text_node *node = body;
    struct step s;
    path = first_step(path);
    while (node && *path) {
        if (!step(&path, &s))
            return NULL;
        if (s.name) {
            node = text_get(node, arena_strndup(a, s.name, s.len));
            continue;
        }
        node = node->kind == TEXT_LIST ? node->first : NULL;
        for (uint64_t i = 0; node && i < s.element; i++)
            node = node->next;
    }
    return node && !dlc_empty(node) ? node : NULL;
}

/* Looked at in what became of both: however it was changed, a locked value is the template's. */
static bool allowed(struct dlc_call *d, const struct text_node *rules,
                    const struct text_node *content, const struct text_node *merged)
{
    for (const struct text_node *rule = rules ? rules->first : NULL; rule; rule = rule->next) {
        const char *word = rule->str ? rule->str : "";
        const struct text_node *was = walk(d->arena, content, rule->key);
        const struct text_node *is = walk(d->arena, merged, rule->key);
        if (strcmp(word, "locked") == 0 && is != was && (!is || !was || !text_equal(is, was))) {
            dlc_fail(d, 400, "InvalidParameter", "%.100s is locked by the job template", rule->key);
            return false;
        }
        if (strcmp(word, "required") == 0 && !walk(d->arena, d->body, rule->key)) {
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
            text_copy(a, into, one->key, said && !dlc_empty(said) ? said : one);
    }
    for (const struct text_node *one = over->first; one; one = one->next)
        if (!text_get(base, one->key) && strcmp(one->key, "TemplateId") != 0 &&
            strcmp(one->key, "TemplateVersion") != 0)
            text_copy(a, into, one->key, one);
}

bool dlc_template_apply(struct dlc_call *d, const struct text_node **out)
{
    const char *id = dlc_text(d->body, "TemplateId");
    const struct text_node *asked = text_get(d->body, "TemplateVersion");
    *out = d->body;
    if (!id)
        return true;
    const struct document_view *object = template(d, id, false);
    if (!object)
        return false;
    const struct text_node *spec = dlc_spec(object);
    uint64_t number = 0;
    if (asked && !dlc_empty(asked) &&
        (!asked->str || !scan_u64(asked->str, 1, INT32_MAX, &number))) {
        dlc_fail(d, 400, "InvalidParameter", "TemplateVersion is no number of a version");
        return false;
    }
    int64_t number_of = number ? (int64_t)number : default_version(spec);
    const struct text_node *version = version_of(spec, number_of);
    const struct text_node *content =
        version ? dlc_parse(d->arena, dlc_text(version, "Content")) : NULL;
    if (!content) {
        dlc_fail(d, 404, "NotFound", "job template \"%.100s\" has no version %lld", id,
                 (long long)number_of);
        return false;
    }
    struct text_node *merged = dlc_map(d);
    merge(d->arena, merged, content, d->body);
    *out = merged;
    return allowed(d, text_get(version, "Constraints"), content, merged);
}
