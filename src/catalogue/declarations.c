/* Entries in layers: what ships, then the settings, then the rows, of which the last of a name
 * counts. A declaration is tried on a copy first, together with the queues that it would make; what
 * goes shows what was below it. */
#include "catalogue/declarations.h"

#include "account/audit.h"
#include "account/rights.h"
#include "queue/queues.h"
#include "source/resolve.h"
#include "text/detect.h"
#include "text/json.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define NAME_SHOWN 200 /* of an entry, in the audit record */
#define SPEC_MAX   (1u << 20)

struct declarations {
    struct declarations_config config;
    struct catalogue *catalogue; /* NULL before it is loaded */
    bool touched;                /* since the last commit */
};

struct declarations *declarations_create(const struct declarations_config *config)
{
    struct declarations *d = mem_new(sizeof *d);
    d->config = *config;
    return d;
}

void declarations_destroy(struct declarations *d)
{
    if (!d)
        return;
    catalogue_destroy(d->catalogue);
    free(d);
}

const struct catalogue *declarations_catalogue(const struct declarations *d)
{
    return d->catalogue;
}

/* ---- in memory ---- */

static void put_shipped(const struct declarations *d, struct catalogue *c)
{
    const struct words *queues = d->config.queue_names;
    catalogue_put(c, &(struct entry){ .kind = ENTRY_WORKSPACE, .name = "default" });
    catalogue_put(c, &(struct entry){ .kind = ENTRY_QUOTA,
                                      .name = "default",
                                      .description = "the whole cluster" });
    for (size_t i = 0; queues && i < queues->n; i++)
        if (strcmp(queues->at[i], "default") != 0)
            catalogue_put(c, &(struct entry){ .kind = ENTRY_QUOTA,
                                              .name = queues->at[i],
                                              .description = "from the server's settings" });
    for (size_t i = 0; i < d->config.n_shipped; i++)
        catalogue_put(c, &d->config.shipped[i]);
    for (size_t i = 0; i < d->config.n_set; i++)
        catalogue_put(c, &d->config.set[i]);
}

static void put_row(struct catalogue *c, struct arena *arena, const struct object_row *row)
{
    struct report report;
    struct entry *entry;
    size_t n = 0;
    report_init(&report, arena);
    const struct text_node *root = json_parse(arena, row->spec, strlen(row->spec), 0, &report);
    if (!root || entries_decode(arena, root, &entry, &n, &report) || n != 1)
        log_error("catalogue.row", "%s \"%s\" cannot be read", row->kind, row->name);
    else
        catalogue_put(c, entry);
}

/* What ships, what is set and what the rows say; without: but for that row. */
static struct catalogue *all_of(const struct declarations *d, const struct object_row *without)
{
    struct arena *arena = arena_create();
    struct catalogue *c = catalogue_create();
    put_shipped(d, c);
    for (unsigned kind = 0; kind < ENTRY_KIND_N; kind++) {
        struct object_row *rows;
        size_t n = 0;
        if (store_objects(d->config.store, arena,
                          &(struct object_row){ .kind = entry_word((enum entry_kind)kind) }, &rows,
                          &n, NULL) == 0)
            for (size_t i = 0; i < n; i++)
                if (!without || strcmp(rows[i].kind, without->kind) != 0 ||
                    strcmp(rows[i].name, without->name) != 0)
                    put_row(c, arena, &rows[i]);
    }
    arena_destroy(arena);
    return c;
}

void declarations_load(struct declarations *d)
{
    catalogue_destroy(d->catalogue);
    d->catalogue = all_of(d, NULL);
    queues_declare(d->config.queues, d->catalogue);
    const struct queue_tree *tree = queues_tree(d->config.queues);
    for (size_t i = 0; i < tree->n_problems; i++)
        log_warn("queues.problem", "%s", tree->problems[i].what);
    d->touched = false;
}

void declarations_committed(struct declarations *d)
{
    d->touched = false;
}

void declarations_undone(struct declarations *d)
{
    if (d->touched)
        declarations_load(d);
}

/* ---- do the queues make sense ---- */

/* Fewer nodes than the settings count on are no reason not to start: jobs may run on them. */
int declarations_check_settings(const struct declarations *d, struct err *err)
{
    struct catalogue *c = catalogue_create();
    put_shipped(d, c);
    struct queue_tree *tree = queue_tree_make(c, d->config.cluster, d->config.topology);
    const struct queue_problem *first = NULL;
    for (size_t i = 0; i < tree->n_problems && !first; i++)
        first = tree->problems[i].of_nodes ? NULL : &tree->problems[i];
    if (first) {
        err_set(err, ERR_INPUT, "setting queues: %.220s", first->what);
        err_hint(err, "%s", first->hint);
    }
    queue_tree_destroy(tree);
    catalogue_destroy(c);
    return first ? -1 : 0;
}

static bool was_there(const struct queue_tree *tree, const struct queue_problem *problem)
{
    for (size_t i = 0; i < tree->n_problems; i++)
        if (strcmp(tree->problems[i].what, problem->what) == 0)
            return true;
    return false;
}

/* The problems that another catalogue would bring, oldest first; tree is the caller's to destroy.
 */
static struct queue_tree *new_problems(const struct declarations *d, const struct catalogue *trial)
{
    struct queue_tree *tree = queue_tree_make(trial, d->config.cluster, d->config.topology);
    size_t n = 0;
    for (size_t i = 0; i < tree->n_problems; i++)
        if (!was_there(queues_tree(d->config.queues), &tree->problems[i]))
            tree->problems[n++] = tree->problems[i];
    tree->n_problems = n;
    return tree;
}

/* ---- commands ---- */

/* What names only data, code and images is anybody's to add, and its owner's to change; what says
 * who gets how much is not. */
static bool own_kind(enum entry_kind kind)
{
    return kind == ENTRY_DATASET || kind == ENTRY_CODE_SOURCE || kind == ENTRY_IMAGE;
}

/* Is it an admin who asks? Others own what they declare. */
static bool by_admin(const struct declarations *d, const char *owner)
{
    struct err err;
    bool admin = user_is_admin(d->config.accounts, owner);
    if (!admin)
        err_set(&err, ERR_DENIED, "the catalogue is kept by %s", d->config.admin);
    return d->config.right(d->config.arg, admin ? 0 : -1, &err) == 0;
}

static int may_declare(const struct declarations *d, const char *owner, enum entry_kind kind,
                       const char *name, struct err *err)
{
    const struct entry *was = catalogue_find(d->catalogue, kind, name);
    if (own_kind(kind) && (!was || (was->owner && strcmp(was->owner, owner) == 0)))
        return 0;
    if (own_kind(kind))
        err_set(err, ERR_DENIED, "%s \"%.100s\" belongs to %s", entry_shown(kind), name,
                was->owner ? was->owner : d->config.admin);
    else
        err_set(err, ERR_DENIED, "the catalogue is kept by %s", d->config.admin);
    return err_hint(err, "ask them to declare it");
}

static void audit_entry(const struct declarations *d, const char *by, const char *action,
                        const struct object_row *row, const struct err *outcome)
{
    char object[NAME_SHOWN];
    snprintf(object, sizeof object, "%s %.150s", row->kind, row->name);
    audit(d->config.accounts, by, action, object, outcome);
}

/* May they declare all of it? Sets whose each is. */
static int may_declare_all(const struct declarations *d, const char *owner, struct entry *at,
                           size_t n, struct err *err)
{
    bool admin = by_admin(d, owner);
    for (size_t i = 0; i < n; i++) {
        const struct entry *was = catalogue_find(d->catalogue, at[i].kind, at[i].name);
        if (!admin && may_declare(d, owner, at[i].kind, at[i].name, err)) {
            const struct object_row row = { .kind = entry_word(at[i].kind), .name = at[i].name };
            audit_entry(d, owner, "catalogue.apply", &row, err);
            return -1;
        }
        if (!admin)
            at[i].owner = owner;
        else if (was && !at[i].owner)
            at[i].owner = was->owner;
    }
    return 0;
}

static const char *spec_of(struct arena *arena, const struct entry *entry)
{
    AUTO_BUF struct buf text = BUF_INIT(SPEC_MAX);
    json_print(entry_encode(arena, NULL, entry), 0, &text);
    return arena_strdup(arena, buf_str(&text));
}

static void declare(struct declarations *d, const char *by, struct arena *arena,
                    const struct entry *entry, struct text_node *list)
{
    const struct entry *before = catalogue_find(d->catalogue, entry->kind, entry->name);
    const char *spec = spec_of(arena, entry), *applied = "created";
    if (before)
        applied = strcmp(spec_of(arena, before), spec) == 0 ? "unchanged" : "changed";
    struct object_row row = { .kind = entry_word(entry->kind), .name = entry->name, .spec = spec };
    if (strcmp(applied, "unchanged") != 0) {
        store_put_object(d->config.store, &row, NULL);
        catalogue_put(d->catalogue, entry);
        d->touched = true;
        audit_entry(d, by, "catalogue.apply", &row, NULL);
    }
    struct text_node *one = text_map(arena, list, NULL);
    text_str(arena, one, "kind", entry_word(entry->kind));
    text_str(arena, one, "name", entry->name);
    text_str(arena, one, "applied", applied);
}

static const struct text_node *document(const struct text_node *root, size_t i)
{
    const struct text_node *node = root->kind == TEXT_LIST ? root->first : root;
    while (i-- > 0)
        node = node->next;
    return node;
}

struct document_list {
    const struct text_node *root;
    const struct entry *at;
    size_t n;
};

static bool same_parent(const struct entry *a, const struct entry *b)
{
    return b &&
           (a->parent && b->parent ? strcmp(a->parent, b->parent) == 0 : a->parent == b->parent);
}

/* Which of the documents the problem is about; NULL: none of them. */
static const struct text_node *guilty(const struct catalogue *c, const struct document_list *of,
                                      const struct queue_problem *problem)
{
    const struct entry *blamed = resolve_queue(c, problem->queue);
    const struct text_node *relative = NULL;
    for (size_t i = 0; i < of->n; i++) {
        const struct entry *entry = &of->at[i];
        if (entry->kind != ENTRY_QUOTA && entry->kind != ENTRY_VIRTUAL_CLUSTER)
            continue;
        if (strcmp(entry->name, problem->queue) == 0)
            return document(of->root, i);
        if (problem->family && same_parent(entry, blamed))
            relative = document(of->root, i);
    }
    return relative;
}

static void refuse(const struct catalogue *c, const struct document_list *of,
                   const struct queue_problem *problem, struct report *report)
{
    const struct text_node *node = guilty(c, of, problem);
    const struct text_node *field = node && problem->field ? text_get(node, problem->field) : NULL;
    const struct place place = field ? field->place : node ? node->place : (struct place){ 0 };
    struct problem *p =
        report_error(report, place, problem->field ? problem->field : "", "%s", problem->what);
    report_hint(report, p, "%s", problem->hint);
}

static void check_workspace(const struct catalogue *c, const struct document_list *of, size_t i,
                            struct report *report)
{
    const struct entry *entry = &of->at[i];
    if (entry->kind != ENTRY_WORKSPACE || !entry->queue || resolve_queue(c, entry->queue))
        return;
    const char *near = catalogue_near(c, ENTRY_QUOTA, entry->queue);
    struct problem *p = report_error(report, text_get(document(of->root, i), "queue")->place,
                                     "queue", "queue \"%.100s\" is not known here", entry->queue);
    report_hint(report, p, "%s", near ? near : "declare it in the same file");
}

/* Queues and workspaces with what these declarations make of them. 0, or -1 with report. */
static int check_queues(const struct declarations *d, const struct document_list *of,
                        struct report *report)
{
    size_t errors = report->errors;
    struct catalogue *trial = catalogue_copy(d->catalogue);
    for (size_t i = 0; i < of->n; i++)
        catalogue_put(trial, &of->at[i]);
    struct queue_tree *tree = new_problems(d, trial);
    for (size_t i = 0; i < tree->n_problems; i++)
        refuse(trial, of, &tree->problems[i], report);
    for (size_t i = 0; i < of->n; i++)
        check_workspace(trial, of, i, report);
    queue_tree_destroy(tree);
    catalogue_destroy(trial);
    return report->errors > errors ? -1 : 0;
}

struct text_node *declare_entries(struct declarations *d, struct arena *arena,
                                  const struct declaration *ask, struct report *report,
                                  struct err *err)
{
    struct entry *at;
    size_t n = 0, documents;
    const struct text_node *root =
        text_parse_documents(arena, ask->text, ask->len, &documents, report);
    if (!root || entries_decode(arena, root, &at, &n, report) ||
        check_queues(d, &(struct document_list){ root, at, n }, report)) {
        report_err(report, err);
        err->code = ERR_INPUT;
        return NULL;
    }
    if (may_declare_all(d, ask->owner, at, n, err))
        return NULL;
    struct text_node *tree = text_map(arena, NULL, NULL), *list = text_list(arena, tree, "applied");
    for (size_t i = 0; i < n; i++)
        declare(d, ask->owner, arena, &at[i], list);
    queues_declare(d->config.queues, d->catalogue);
    return tree;
}

/* A workspace that leads to a queue which is no more. */
static int check_workspaces(struct arena *arena, const struct catalogue *trial, struct err *err)
{
    size_t n;
    const struct entry **at = catalogue_list(trial, arena, ENTRY_WORKSPACE, &n);
    for (size_t i = 0; i < n; i++) {
        if (!at[i]->queue || resolve_queue(trial, at[i]->queue))
            continue;
        err_set(err, ERR_CONFLICT, "jobs of workspace \"%.80s\" go to queue \"%.80s\"", at[i]->name,
                at[i]->queue);
        return err_hint(err, "declare the workspace with another queue, or without one");
    }
    return 0;
}

/* What stands on it would stand on nothing. */
static int check_removal(const struct declarations *d, const struct object_row *row,
                         struct err *err)
{
    struct catalogue *trial = all_of(d, row);
    struct queue_tree *tree = new_problems(d, trial);
    int rc = tree->n_problems ? -1 : check_workspaces(tree->arena, trial, err);
    if (tree->n_problems) {
        err_set(err, ERR_CONFLICT, "without it: %.220s", tree->problems[0].what);
        err_remedy(err, REMEDY_LIST_QUEUES);
    }
    queue_tree_destroy(tree);
    catalogue_destroy(trial);
    return rc;
}

struct text_node *undeclare_entry(struct declarations *d, struct arena *arena,
                                  const struct entry_removal *ask, bool *changed, struct err *err)
{
    const enum entry_kind kind = ask->kind;
    const char *name = ask->name;
    const struct entry *entry = catalogue_find(d->catalogue, kind, name);
    const struct object_row row = { .kind = entry_word(kind), .name = name };
    *changed = false;
    if (!by_admin(d, ask->owner) && may_declare(d, ask->owner, kind, name, err)) {
        audit_entry(d, ask->owner, "catalogue.remove", &row, err);
        return NULL;
    }
    if (!entry) {
        const char *near = catalogue_near(d->catalogue, kind, name);
        err_set(err, ERR_NOT_FOUND, "no %s \"%.100s\"", entry_shown(kind), name);
        err_hint(err, "%s", near ? near : entry_plural(kind));
        return NULL;
    }
    const char *before = spec_of(arena, entry);
    if (check_removal(d, &row, err) || store_delete_object(d->config.store, &row, err) < 0)
        return NULL;
    declarations_load(d);
    d->touched = *changed = true;
    entry = catalogue_find(d->catalogue, kind, name);
    if (entry && strcmp(spec_of(arena, entry), before) == 0) {
        err_set(err, ERR_CANNOT, "%s \"%.100s\" ships with muster or is a setting",
                entry_shown(kind), name);
        err_hint(err, "declare it anew to change it");
        return NULL;
    }
    audit_entry(d, ask->owner, "catalogue.remove", &row, NULL);
    struct text_node *tree = text_map(arena, NULL, NULL);
    text_str(arena, tree, "kind", entry_word(kind));
    text_str(arena, tree, "name", name);
    text_bool(arena, tree, "as_shipped", entry != NULL);
    return tree;
}
