/* Tags put on jobs after they were created. The newest client sends its lists as JSON texts in the
 * query, or counted (Tag.1.Key); both are read, from the body too. */
#include "api/dlc/op.h"

#include "base/mem.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

#define JOBS_MAX 50
#define TAGS_MAX 20
#define KEY_SIZE 128

struct tagging {
    const char *jobs[JOBS_MAX];
    struct pair tags[TAGS_MAX]; /* value NULL: remove */
    size_t n_jobs, n_tags;
};

/* A list by its name: of the body, a JSON text of the query; NULL. */
static const struct text_node *list_of(struct dlc_call *d, const char *name)
{
    const char *text = dlc_query(d, name);
    struct report report;
    const struct text_node *list = dlc_list(d->body, name);
    if (list || !text || *text != '[')
        return list;
    report_init(&report, d->arena);
    list = json_parse(d->arena, text, strlen(text), 0, &report);
    return list && list->kind == TEXT_LIST ? list : NULL;
}

static const char *counted(struct dlc_call *d, const char *name, size_t i, const char *rest)
{
    char key[60];
    snprintf(key, sizeof key, "%s.%zu%s", name, i + 1, rest);
    return dlc_query(d, key);
}

static bool read_jobs(struct dlc_call *d, struct tagging *t)
{
    const struct text_node *list = list_of(d, "ResourceId");
    const char *type = dlc_query(d, "ResourceType") ? dlc_query(d, "ResourceType")
                                                    : dlc_text(d->body, "ResourceType");
    const char *id;
    size_t given = list ? list->count : 0;
    if (type && strcmp(type, "Job") != 0 && strcmp(type, "job") != 0) {
        dlc_fail(d, 400, "InvalidParameter", "ResourceType is \"%.40s\"; tags are for Job", type);
        return false;
    }
    for (const struct text_node *one = list ? list->first : NULL; one && t->n_jobs < JOBS_MAX;
         one = one->next)
        if (one->str)
            t->jobs[t->n_jobs++] = one->str;
    for (size_t i = 0; !list && i <= JOBS_MAX && (id = counted(d, "ResourceId", i, ""));
         i++, given++)
        if (t->n_jobs < JOBS_MAX)
            t->jobs[t->n_jobs++] = id;
    if (given == 0)
        dlc_missing(d, "ResourceId");
    else if (given > JOBS_MAX)
        dlc_fail(d, 400, "InvalidParameter", "at most %d jobs at a time", JOBS_MAX);
    return given > 0 && given <= JOBS_MAX;
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
    const struct text_node *list = list_of(d, "Tag");
    const char *key;
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next) {
        const char *value = dlc_text(one, "Value");
        if (!add_tag(d, t, dlc_text(one, "Key"), value ? value : ""))
            return false;
    }
    for (size_t i = 0; !list && (key = counted(d, "Tag", i, ".Key")); i++) {
        const char *value = counted(d, "Tag", i, ".Value");
        if (!add_tag(d, t, key, value ? value : ""))
            return false;
    }
    if (!t->n_tags)
        dlc_missing(d, "Tag");
    return t->n_tags > 0;
}

static void store_all(struct dlc_call *d, const struct ctl_object *at, size_t n)
{
    call_keep(d->call);
    ctl_objects_put(d->ctl, &(struct ctl_objects){ .by = d->call->owner, .at = at, .n = n },
                    dlc_done_plain, d);
}

void dlc_tags_put(struct dlc_call *d)
{
    struct tagging *t = ARENA_NEW(d->arena, struct tagging);
    struct ctl_object *at = ARENA_ARRAY(d->arena, JOBS_MAX * TAGS_MAX, struct ctl_object);
    size_t n = 0;
    uint64_t id;
    if (!read_jobs(d, t) || !read_tags(d, t))
        return;
    for (size_t i = 0; i < t->n_jobs; i++) {
        char text[JOB_ID_TEXT];
        if (!dlc_job(d, t->jobs[i], &id))
            return;
        const char *project = arena_strdup(d->arena, job_id_format(text, id));
        for (size_t k = 0; k < t->n_tags; k++) {
            struct text_node *spec = text_map(d->arena, NULL, NULL);
            text_str(d->arena, spec, "value", t->tags[k].value);
            at[n++] = (struct ctl_object){ "job.tag", project, t->tags[k].name, spec };
        }
    }
    store_all(d, at, n);
}

void dlc_tags_remove(struct dlc_call *d)
{
    struct tagging *t = ARENA_NEW(d->arena, struct tagging);
    struct ctl_object *at = ARENA_ARRAY(d->arena, 4096, struct ctl_object);
    const struct text_node *keys = list_of(d, "TagKey");
    const char *key;
    bool all = dlc_query_flag(d, "All", false);
    size_t n = 0;
    uint64_t id;
    if (!read_jobs(d, t))
        return;
    for (const struct text_node *one = keys ? keys->first : NULL; one; one = one->next)
        if (!add_tag(d, t, one->str, NULL))
            return;
    for (size_t i = 0; !keys && (key = counted(d, "TagKey", i, "")); i++)
        if (!add_tag(d, t, key, NULL))
            return;
    for (size_t i = 0; i < t->n_jobs; i++) {
        char text[JOB_ID_TEXT];
        if (!dlc_job(d, t->jobs[i], &id))
            return;
        const char *project = arena_strdup(d->arena, job_id_format(text, id));
        const struct text_node *is = ctl_objects_tree(d->ctl, d->arena, "job.tag", project);
        for (const struct text_node *one = is->first; one && n < 4096; one = one->next) {
            bool named = all;
            for (size_t k = 0; k < t->n_tags; k++)
                named = named || strcmp(t->tags[k].name, dlc_text(one, "name")) == 0;
            if (named)
                at[n++] = (struct ctl_object){ "job.tag", project, dlc_text(one, "name"), NULL };
        }
    }
    store_all(d, at, n);
}
