/* Documents of façades: rows of `object` that say who put them and when. Nothing is held in memory;
 * a façade that reads one asks the store. A recording has which were put and removed, not what they
 * say, and none of those that were there before: they decide nothing. */
#include "ctl/objects.h"

#include "account/audit.h"
#include "account/rights.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "ctl/core.h"
#include "ctl/tape_scope.h"
#include "job/ids.h"
#include "job/secret.h"
#include "rdzv/jobs/launcher_events.h"
#include "secret/secrets.h"
#include "text/json.h"

#include <string.h>

static struct text_node *parse(struct arena *arena, const struct object_row *row)
{
    struct report report;
    report_init(&report, arena);
    struct text_node *root = json_parse(arena, row->spec, strlen(row->spec), 0, &report);
    if (!root || root->kind != TEXT_MAP || !text_get(root, "spec")) {
        log_error("object.row", "%s \"%s\" cannot be read", row->kind, row->name);
        return NULL;
    }
    return root;
}

static int by_name(const void *a, const void *b)
{
    const struct object_row *x = a, *y = b;
    int order = strcmp(x->project, y->project);
    return order ? order : strcmp(x->name, y->name);
}

static const char *owner_of(const struct text_node *root)
{
    const struct text_node *owner = root ? text_get(root, "owner") : NULL;
    return owner && owner->kind == TEXT_STR ? owner->str : "";
}

/* false: it cannot be read. */
static bool read_view(struct arena *arena, const struct object_row *row, struct object_view *view)
{
    const struct text_node *root = parse(arena, row);
    if (!root)
        return false;
    const char *owner = owner_of(root);
    *view = (struct object_view){ .project = arena_strdup(arena, row->project ? row->project : ""),
                                  .name = arena_strdup(arena, row->name),
                                  .owner = *owner ? owner : NULL,
                                  .version = row->version,
                                  .created_ms = text_number(root, "created_ms"),
                                  .changed_ms = text_number(root, "changed_ms"),
                                  .spec = text_get(root, "spec") };
    return true;
}

struct object_list ctl_objects_view(struct ctl *ctl, struct arena *arena, const char *kind,
                                    const char *project)
{
    struct object_list list = { 0 };
    struct object_row *rows;
    size_t n = 0;
    if (store_objects(ctl->config.store, arena,
                      &(struct object_row){ .kind = kind, .project = project }, &rows, &n, NULL))
        return list;
    if (n)
        qsort(rows, n, sizeof *rows, by_name);
    list.at = ARENA_ARRAY(arena, n, struct object_view);
    for (size_t i = 0; i < n; i++)
        list.n += read_view(arena, &rows[i], &list.at[list.n]);
    return list;
}

const struct object_view *ctl_object_view(struct ctl *ctl, struct arena *arena,
                                          const struct ctl_object *of)
{
    struct object_row row = { .kind = of->kind, .project = of->project, .name = of->name };
    if (store_get_object(ctl->config.store, arena, &row, NULL) != 1)
        return NULL;
    struct object_view *view = ARENA_NEW(arena, struct object_view);
    return read_view(arena, &row, view) ? view : NULL;
}

/* ---- putting ---- */

static bool of_job(const struct ctl_object *object)
{
    return strncmp(object->kind, OBJECT_OF_JOB, strlen(OBJECT_OF_JOB)) == 0;
}

static uint64_t job_of(const struct ctl_object *object)
{
    uint64_t id = 0;
    return of_job(object) && job_id_parse(object->project, &id) ? id : 0;
}

static int may_put(struct ctl *ctl, struct arena *arena, const struct ctl_objects *ask,
                   const struct ctl_object *object, const char *owner, struct err *err)
{
    struct job_row job;
    if (of_job(object)) {
        if (core_row(ctl, arena, job_of(object), &job))
            return err_set(err, ERR_NOT_FOUND, "no such job");
        return check_may_change(ctl->accounts, ask->by, &job, err);
    }
    if (!*owner || strcmp(owner, ask->by) == 0 || user_is_admin(ctl->accounts, ask->by))
        return 0;
    return err_set(err, ERR_DENIED, "\"%.100s\" belongs to %.100s", object->name, owner);
}

static int too_large(const struct ctl_object *object, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(OBJECT_MAX);
    json_print(object->spec, 0, &text);
    if (!text.overflow)
        return 0;
    return err_set(err, ERR_TOO_LARGE, "\"%.100s\" is larger than %u bytes", object->name,
                   OBJECT_MAX);
}

static struct object_row row_of(const struct ctl_object *object)
{
    return (struct object_row){ .kind = object->kind,
                                .project = object->project,
                                .name = object->name };
}

/* Are all of them allowed and small enough? Asked before the first is written. */
static int check(struct ctl *ctl, struct arena *arena, const struct ctl_objects *ask,
                 struct err *err)
{
    for (size_t i = 0; i < ask->n; i++) {
        const struct ctl_object *o = &ask->at[i];
        struct object_row row = row_of(o);
        bool there = store_get_object(ctl->config.store, arena, &row, NULL) == 1;
        const struct text_node *was = there ? parse(arena, &row) : NULL;
        if (!strchr(o->kind, '.'))
            BUG("an object of kind %s is the core's own", o->kind);
        if (there && ask->create)
            return err_set(err, ERR_CONFLICT, "\"%.100s\" is there already", o->name);
        if (!there && ask->told && !o->spec)
            return err_set(err, ERR_NOT_FOUND, "there is no \"%.100s\"", o->name);
        if (may_put(ctl, arena, ask, o, owner_of(was), err) || (o->spec && too_large(o, err)))
            return -1;
    }
    return 0;
}

static int hold(struct ctl *ctl, const struct ctl_objects *ask, struct err *err)
{
    if (ask->hold == OBJECT_HOLD_NOT)
        return 0;
    struct live_job *job = live_find(ctl->live, ask->n ? job_of(&ask->at[0]) : 0);
    if (!job || job_state_final(job->row.state))
        return err_set(err, ERR_CONFLICT, "the job has ended");
    return command_suspend(ctl, job, ask->by, ask->hold == OBJECT_HOLD, err);
}

static uint64_t tell(struct ctl *ctl, const struct ctl_object *object)
{
    uint64_t job = job_of(object);
    if (job)
        return event_plain(ctl, job, "noted", NULL);
    struct text_node *body = text_map(ctl->scratch, NULL, NULL);
    text_str(ctl->scratch, body, "kind", object->kind);
    text_str(ctl->scratch, body, "project", object->project);
    text_str(ctl->scratch, body, "name", object->name);
    return event_plain(ctl, 0, object->spec ? "object.put" : "object.removed", body);
}

static int put(struct ctl *ctl, struct arena *arena, const struct ctl_objects *ask,
               const struct ctl_object *object, struct err *err)
{
    struct object_row row = row_of(object);
    bool there = store_get_object(ctl->config.store, arena, &row, NULL) == 1;
    const struct text_node *was = there ? parse(arena, &row) : NULL;
    row.version = ask->told ? tell(ctl, object) : 0;
    if (!object->spec)
        return store_delete_object(ctl->config.store, &row, err);
    const struct text_node *created = was ? text_get(was, "created_ms") : NULL;
    struct text_node *root = text_map(arena, NULL, NULL);
    text_str(arena, root, "owner", *owner_of(was) ? owner_of(was) : ask->by);
    text_int(arena, root, "created_ms", created ? created->integer : (int64_t)core_date(ctl));
    text_int(arena, root, "changed_ms", (int64_t)core_date(ctl));
    text_copy(arena, root, "spec", object->spec);
    AUTO_BUF struct buf text = BUF_INIT(2 * OBJECT_MAX);
    json_print(root, 0, &text);
    if (strcmp(object->kind, OBJECT_SECRET) == 0)
        secrets_changed(ctl->secrets, *owner_of(was) ? owner_of(was) : ask->by, NULL,
                        arena_printf(arena, "%s" SECRET_ALL, object->name));
    row.spec = arena_strdup(arena, buf_str(&text));
    return store_put_object(ctl->config.store, &row, err);
}

static int put_all(struct ctl *ctl, struct arena *arena, const struct ctl_objects *ask,
                   struct err *err)
{
    if (taped_outside(ctl, OUTSIDE_DOCUMENTS, check(ctl, arena, ask, err), err) ||
        hold(ctl, ask, err))
        return -1;
    for (size_t i = 0; i < ask->n; i++)
        if (put(ctl, arena, ask, &ask->at[i], err))
            return -1;
    return 0;
}

void ctl_objects_put(struct ctl *ctl, const struct ctl_objects *ask, ctl_done *done, void *arg)
{
    struct tape_scope AUTO_TAPE_SCOPE taped =
        tape_scope_begin(ctl, (struct ctl_input){ .kind = INPUT_OBJECTS, .objects = ask });
    struct answer *answer = turn_answer(ctl, done, arg);
    struct err err = { 0 };
    answer->writes = true;
    answer->job = ask->n ? job_of(&ask->at[0]) : 0;
    bool bad = put_all(ctl, answer->arena, ask, &err);
    struct job_row job;
    if (answer->job && core_row(ctl, answer->arena, answer->job, &job) == 0)
        audit_job(ctl->accounts, ask->by, ask->at[0].kind, &job, &err);
    if (bad) {
        answer->err = err;
        return;
    }
    const struct text_node *spec = answer->job ? ask->at[0].spec : NULL;
    const struct text_node *text = spec ? text_get(spec, "event") : NULL;
    if (text && text->str) /* what was done to the job, in a sentence */
        event_note(ctl, &(struct launcher_event){ .job = answer->job, .text = text->str },
                   ask->at[0].kind);
    answer->tree = text_map(answer->arena, NULL, NULL);
    text_int(answer->arena, answer->tree, "n", (int64_t)ask->n);
}
