/* Tags put on jobs after they were created. The newest client sends its lists as JSON texts in the
 * query, or counted (Tag.1.Key); both are read, from the body too. */
#include "api/dlc/op.h"

#include "text/json.h"

#include <string.h>

#define JOBS_MAX 50
#define TAGS_MAX 20
#define KEY_SIZE 128

struct tagging {
    uint64_t jobs[JOBS_MAX];
    struct pair tags[TAGS_MAX]; /* value NULL: remove */
    size_t n_jobs, n_tags;
};

/* A list by its name: of the body, or a JSON text of the query; NULL: there is none. false:
 * answered. */
static bool list_of(struct dlc_call *d, const char *name, const struct text_node **list)
{
    const char *text = dlc_query(d, name);
    struct report report;
    *list = dlc_list(d->body, name);
    if (*list || (!text && !text_get(d->body, name)))
        return true;
    report_init(&report, d->arena);
    *list = text ? json_parse(d->arena, text, strlen(text), 0, &report) : NULL;
    if (*list && (*list)->kind == TEXT_LIST && report_ok(&report))
        return true;
    dlc_fail(d, 400, "InvalidParameter", "%s is no list", name);
    return false;
}

/* The next NAME.N or NAME.N.MEMBER of the query, from *at on: its N as text, NULL: no more. */
static const char *counted(struct dlc_call *d, const char *name, const char *member, size_t *at)
{
    size_t len = strlen(name);
    while (*at < d->query.n) {
        const char *is = d->query.at[(*at)++].name;
        if (strncmp(is, name, len) != 0 || is[len] != '.')
            continue;
        size_t digits = strspn(is + len + 1, "0123456789");
        if (digits && strcmp(is + len + 1 + digits, member) == 0)
            return arena_strndup(d->arena, is + len + 1, digits);
    }
    return NULL;
}

static const char *value_at(struct dlc_call *d, const char *name, const char *n, const char *member)
{
    return dlc_query(d, arena_printf(d->arena, "%s.%s%s", name, n, member));
}

static bool add_job(struct dlc_call *d, struct tagging *t, const char *id)
{
    if (!id)
        dlc_fail(d, 400, "InvalidParameter", "ResourceId is a list of ids of jobs");
    else if (t->n_jobs == JOBS_MAX)
        dlc_fail(d, 400, "InvalidParameter", "at most %d jobs at a time", JOBS_MAX);
    else
        return dlc_job(d, id, &t->jobs[t->n_jobs++]);
    return false;
}

static bool read_jobs(struct dlc_call *d, struct tagging *t)
{
    const struct text_node *list;
    const char *n;
    size_t at = 0;
    if (!list_of(d, "ResourceId", &list))
        return false;
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (!add_job(d, t, one->str))
            return false;
    while (!list && (n = counted(d, "ResourceId", "", &at)))
        if (!add_job(d, t, value_at(d, "ResourceId", n, "")))
            return false;
    if (t->n_jobs == 0)
        dlc_missing(d, "ResourceId");
    return t->n_jobs > 0;
}

static bool good_key(struct dlc_call *d, const char *key)
{
    if (key && *key && strlen(key) <= KEY_SIZE && strncmp(key, "aliyun", 6) != 0 &&
        strncmp(key, "acs:", 4) != 0)
        return true;
    dlc_fail(d, 400, "InvalidParameter",
             "a tag's key has 1 to %d characters and does not begin with aliyun or acs:", KEY_SIZE);
    return false;
}

static bool add_tag(struct dlc_call *d, struct tagging *t, const char *key, const char *value)
{
    if (!good_key(d, key))
        return false;
    if (t->n_tags == TAGS_MAX) {
        dlc_fail(d, 400, "InvalidParameter", "at most %d tags at a time", TAGS_MAX);
        return false;
    }
    t->tags[t->n_tags++] = (struct pair){ key, value };
    return true;
}

static bool read_tags(struct dlc_call *d, struct tagging *t)
{
    const struct text_node *list;
    const char *n;
    size_t at = 0;
    if (!list_of(d, "Tag", &list))
        return false;
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next) {
        const char *value = dlc_text(one, "Value");
        if (!add_tag(d, t, dlc_text(one, "Key"), value ? value : ""))
            return false;
    }
    while (!list && (n = counted(d, "Tag", ".Key", &at))) {
        const char *value = value_at(d, "Tag", n, ".Value");
        if (!add_tag(d, t, value_at(d, "Tag", n, ".Key"), value ? value : ""))
            return false;
    }
    if (!t->n_tags)
        dlc_missing(d, "Tag");
    return t->n_tags > 0;
}

static bool read_keys(struct dlc_call *d, struct tagging *t)
{
    const struct text_node *list;
    const char *n;
    size_t at = 0;
    if (!list_of(d, "TagKey", &list))
        return false;
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (!add_tag(d, t, one->str, NULL))
            return false;
    while (!list && (n = counted(d, "TagKey", "", &at)))
        if (!add_tag(d, t, value_at(d, "TagKey", n, ""), NULL))
            return false;
    if (t->n_tags || dlc_query_flag(d, "All", false))
        return true;
    dlc_missing(d, "TagKey");
    return false;
}

static const char *project(struct dlc_call *d, uint64_t job)
{
    char text[JOB_ID_TEXT];
    return arena_strdup(d->arena, job_id_format(text, job));
}

static void store_all(struct dlc_call *d, const struct document *at, size_t n)
{
    call_keep(d->call);
    ctl_documents_put(d->ctl, &(struct document_changes){ .by = d->call->owner, .at = at, .n = n },
                      dlc_done_plain, d);
}

void dlc_tags_put(struct dlc_call *d)
{
    struct tagging *t = ARENA_NEW(d->arena, struct tagging);
    struct document *at = ARENA_ARRAY(d->arena, JOBS_MAX * TAGS_MAX, struct document);
    size_t n = 0;
    if (!read_tags(d, t) || !read_jobs(d, t))
        return;
    for (size_t i = 0; i < t->n_jobs; i++)
        for (size_t k = 0; k < t->n_tags; k++) {
            struct text_node *spec = text_map(d->arena, NULL, NULL);
            text_str(d->arena, spec, "value", t->tags[k].value);
            at[n++] = (struct document){ "job.tag", project(d, t->jobs[i]), t->tags[k].name, spec };
        }
    store_all(d, at, n);
}

static bool meant(const struct tagging *t, const char *key)
{
    for (size_t i = 0; i < t->n_tags; i++)
        if (strcmp(t->tags[i].name, key) == 0)
            return true;
    return false;
}

void dlc_tags_remove(struct dlc_call *d)
{
    struct tagging *t = ARENA_NEW(d->arena, struct tagging);
    bool all = dlc_query_flag(d, "All", false);
    struct document_list tags[JOBS_MAX];
    size_t n = 0, most = 1;
    if (!read_keys(d, t) || !read_jobs(d, t))
        return;
    for (size_t i = 0; i < t->n_jobs; i++) {
        tags[i] =
            documents_list(ctl_documents(d->ctl), d->arena, "job.tag", project(d, t->jobs[i]));
        most += tags[i].n;
    }
    struct document *at = ARENA_ARRAY(d->arena, most, struct document);
    for (size_t i = 0; i < t->n_jobs; i++)
        for (size_t k = 0; k < tags[i].n; k++)
            if (all || meant(t, tags[i].at[k].name))
                at[n++] = (struct document){ "job.tag", project(d, t->jobs[i]), tags[i].at[k].name,
                                             NULL };
    store_all(d, at, n);
}
