/* Documents of façades: rows of `object` that say who put them and when. Nothing is held in memory;
 * a façade that reads one asks the store. A recording has which were put and removed, not what they
 * say, and none of those that were there before: they decide nothing. */
#include "documents/documents.h"

#include "account/audit.h"
#include "account/rights.h"
#include "job/ids.h"
#include "job/secret.h"
#include "store/store.h"
#include "text/json.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"

#include <string.h>

struct documents {
    struct documents_config config;
};

struct documents *documents_create(const struct documents_config *config)
{
    struct documents *d = mem_new(sizeof *d);
    d->config = *config;
    return d;
}

void documents_destroy(struct documents *d)
{
    free(d);
}

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
static bool read_view(struct arena *arena, const struct object_row *row, struct document_view *view)
{
    const struct text_node *root = parse(arena, row);
    if (!root)
        return false;
    const char *owner = owner_of(root);
    *view =
        (struct document_view){ .project = arena_strdup(arena, row->project ? row->project : ""),
                                .name = arena_strdup(arena, row->name),
                                .owner = *owner ? owner : NULL,
                                .version = row->version,
                                .created_ms = text_number(root, "created_ms"),
                                .changed_ms = text_number(root, "changed_ms"),
                                .spec = text_get(root, "spec") };
    return true;
}

struct document_list documents_list(const struct documents *d, struct arena *arena,
                                    const char *kind, const char *project)
{
    struct document_list list = { 0 };
    struct object_row *rows;
    size_t n = 0;
    if (store_objects(d->config.store, arena,
                      &(struct object_row){ .kind = kind, .project = project }, &rows, &n, NULL))
        return list;
    if (n)
        qsort(rows, n, sizeof *rows, by_name);
    list.at = ARENA_ARRAY(arena, n, struct document_view);
    for (size_t i = 0; i < n; i++)
        list.n += read_view(arena, &rows[i], &list.at[list.n]);
    return list;
}

const struct document_view *document_find(const struct documents *d, struct arena *arena,
                                          const struct document *of)
{
    struct object_row row = { .kind = of->kind, .project = of->project, .name = of->name };
    if (store_get_object(d->config.store, arena, &row, NULL) != 1)
        return NULL;
    struct document_view *view = ARENA_NEW(arena, struct document_view);
    return read_view(arena, &row, view) ? view : NULL;
}

/* ---- putting ---- */

static bool of_job(const struct document *object)
{
    return strncmp(object->kind, DOCUMENT_OF_JOB, strlen(DOCUMENT_OF_JOB)) == 0;
}

static uint64_t job_of(const struct document *object)
{
    uint64_t id = 0;
    return of_job(object) && job_id_parse(object->project, &id) ? id : 0;
}

static int may_put(const struct documents *d, struct arena *arena,
                   const struct document_changes *ask, const struct document *object,
                   const char *owner, struct err *err)
{
    struct job_row job;
    if (of_job(object)) {
        if (d->config.server.row(d->config.server.arg, arena, job_of(object), &job))
            return err_set(err, ERR_NOT_FOUND, "no such job");
        return check_may_change(d->config.accounts, ask->by, &job, err);
    }
    if (!*owner || strcmp(owner, ask->by) == 0 || user_is_admin(d->config.accounts, ask->by))
        return 0;
    return err_set(err, ERR_DENIED, "\"%.100s\" belongs to %.100s", object->name, owner);
}

static int too_large(const struct document *object, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(DOCUMENT_MAX);
    json_print(object->spec, 0, &text);
    if (!text.overflow)
        return 0;
    return err_set(err, ERR_TOO_LARGE, "\"%.100s\" is larger than %u bytes", object->name,
                   DOCUMENT_MAX);
}

static struct object_row row_of(const struct document *object)
{
    return (struct object_row){ .kind = object->kind,
                                .project = object->project,
                                .name = object->name };
}

/* Are all of them allowed and small enough? Asked before the first is written. */
static int check(const struct documents *d, struct arena *arena, const struct document_changes *ask,
                 struct err *err)
{
    for (size_t i = 0; i < ask->n; i++) {
        const struct document *o = &ask->at[i];
        struct object_row row = row_of(o);
        bool there = store_get_object(d->config.store, arena, &row, NULL) == 1;
        const struct text_node *was = there ? parse(arena, &row) : NULL;
        if (!strchr(o->kind, '.'))
            BUG("an object of kind %s is the core's own", o->kind);
        if (there && ask->create)
            return err_set(err, ERR_CONFLICT, "\"%.100s\" is there already", o->name);
        if (!there && ask->told && !o->spec)
            return err_set(err, ERR_NOT_FOUND, "there is no \"%.100s\"", o->name);
        if (may_put(d, arena, ask, o, owner_of(was), err) || (o->spec && too_large(o, err)))
            return -1;
    }
    return 0;
}

static int hold(const struct documents *d, const struct document_changes *ask, struct err *err)
{
    const struct documents_server *server = &d->config.server;
    return ask->hold == DOCUMENT_HOLD_NOT
               ? 0
               : server->hold(server->arg, ask->n ? job_of(&ask->at[0]) : 0, ask->by,
                              ask->hold == DOCUMENT_HOLD, err);
}

static uint64_t tell(const struct documents *d, struct arena *arena, const struct document *object)
{
    const struct documents_server *server = &d->config.server;
    uint64_t job = job_of(object);
    if (job)
        return server->event(server->arg, job, "noted", NULL);
    struct text_node *body = text_map(arena, NULL, NULL);
    text_str(arena, body, "kind", object->kind);
    text_str(arena, body, "project", object->project);
    text_str(arena, body, "name", object->name);
    return server->event(server->arg, 0, object->spec ? "object.put" : "object.removed", body);
}

static int put(const struct documents *d, struct arena *arena, const struct document_changes *ask,
               const struct document *object, struct err *err)
{
    const struct documents_server *server = &d->config.server;
    struct object_row row = row_of(object);
    bool there = store_get_object(d->config.store, arena, &row, NULL) == 1;
    const struct text_node *was = there ? parse(arena, &row) : NULL;
    const char *owner = *owner_of(was) ? owner_of(was) : ask->by;
    row.version = ask->told ? tell(d, arena, object) : 0;
    if (!object->spec)
        return store_delete_object(d->config.store, &row, err);
    const int64_t date = (int64_t)server->date(server->arg);
    const struct text_node *created = was ? text_get(was, "created_ms") : NULL;
    struct text_node *root = text_map(arena, NULL, NULL);
    text_str(arena, root, "owner", owner);
    text_int(arena, root, "created_ms", created ? created->integer : date);
    text_int(arena, root, "changed_ms", date);
    text_copy(arena, root, "spec", object->spec);
    AUTO_BUF struct buf text = BUF_INIT(2 * DOCUMENT_MAX);
    json_print(root, 0, &text);
    if (strcmp(object->kind, DOCUMENT_SECRET) == 0)
        server->secret(server->arg, owner, arena_printf(arena, "%s" SECRET_ALL, object->name));
    row.spec = arena_strdup(arena, buf_str(&text));
    return store_put_object(d->config.store, &row, err);
}

static int put_all(const struct documents *d, struct arena *arena,
                   const struct document_changes *ask, struct err *err)
{
    const struct documents_server *server = &d->config.server;
    if (server->checked(server->arg, check(d, arena, ask, err), err) || hold(d, ask, err))
        return -1;
    for (size_t i = 0; i < ask->n; i++)
        if (put(d, arena, ask, &ask->at[i], err))
            return -1;
    return 0;
}

int documents_put(struct documents *d, struct arena *arena, const struct document_changes *ask,
                  uint64_t *job, struct err *err)
{
    const struct documents_server *server = &d->config.server;
    struct job_row row;
    int rc = put_all(d, arena, ask, err);
    *job = ask->n ? job_of(&ask->at[0]) : 0;
    if (*job && server->row(server->arg, arena, *job, &row) == 0)
        audit_job(d->config.accounts, ask->by, ask->at[0].kind, &row, err);
    const struct text_node *spec = *job && rc == 0 ? ask->at[0].spec : NULL;
    const struct text_node *text = spec ? text_get(spec, "event") : NULL;
    if (text && text->str) /* what was done to the job, in a sentence */
        server->say(server->arg, *job, ask->at[0].kind, text->str);
    return rc;
}
