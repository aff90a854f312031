/* The catalogue of this server: what ships, the queues of its settings, and what its administrator
 * declared (rows). In memory as a whole; made anew when a row changes. */
#include "account/audit.h"
#include "account/rights.h"
#include "ctl/core.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "source/resolve.h"
#include "text/detect.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

#define NAME_SHOWN 200 /* of an entry, in the audit record */
#define SPEC_MAX   (1u << 20)

/* ---- in memory ---- */

static void put_shipped(const struct ctl *ctl, struct catalogue *c)
{
    const struct words *queues = ctl->config.queues;
    catalogue_put(c, &(struct entry){ .kind = ENTRY_WORKSPACE, .name = "default" });
    catalogue_put(c, &(struct entry){ .kind = ENTRY_QUOTA,
                                      .name = "default",
                                      .description = "the whole cluster" });
    for (size_t i = 0; queues && i < queues->n; i++)
        if (strcmp(queues->at[i], "default") != 0)
            catalogue_put(c, &(struct entry){ .kind = ENTRY_QUOTA,
                                              .name = queues->at[i],
                                              .description = "from the server's settings" });
    for (size_t i = 0; i < ctl->config.n_shipped; i++)
        catalogue_put(c, &ctl->config.shipped[i]);
    for (size_t i = 0; i < ctl->config.n_declared; i++)
        catalogue_put(c, &ctl->config.declared[i]);
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
static struct catalogue *all_of(struct ctl *ctl, const struct object_row *without)
{
    struct arena *arena = arena_create();
    struct catalogue *c = catalogue_create();
    put_shipped(ctl, c);
    for (unsigned kind = 0; kind < ENTRY_KIND_N; kind++) {
        struct object_row *rows;
        size_t n = 0;
        if (store_objects(ctl->config.store, arena,
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

void catalogue_load(struct ctl *ctl)
{
    catalogue_destroy(ctl->catalogue);
    ctl->catalogue = all_of(ctl, NULL);
    queues_declare(ctl->queues, ctl->catalogue);
    const struct queue_tree *tree = queues_tree(ctl->queues);
    for (size_t i = 0; i < tree->n_problems; i++)
        log_warn("queues.problem", "%s", tree->problems[i].what);
    ctl->catalogue_touched = false;
}

/* ---- do the queues make sense ---- */

/* Fewer nodes than the settings count on are no reason not to start: jobs may run on them. */
int catalogue_check_settings(struct ctl *ctl, struct err *err)
{
    struct catalogue *c = catalogue_create();
    put_shipped(ctl, c);
    struct queue_tree *tree = queue_tree_make(c, ctl->cluster, ctl->config.topology);
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
static struct queue_tree *new_problems(struct ctl *ctl, const struct catalogue *trial)
{
    struct queue_tree *tree = queue_tree_make(trial, ctl->cluster, ctl->config.topology);
    size_t n = 0;
    for (size_t i = 0; i < tree->n_problems; i++)
        if (!was_there(queues_tree(ctl->queues), &tree->problems[i]))
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
static bool by_admin(struct ctl *ctl, const char *owner)
{
    struct err err;
    bool admin = user_is_admin(ctl->accounts, owner);
    if (!admin)
        err_set(&err, ERR_DENIED, "the catalogue is kept by %s", ctl->admin);
    return taped_right(ctl, admin ? 0 : -1, &err) == 0;
}

static int may_declare(const struct ctl *ctl, const char *owner, enum entry_kind kind,
                       const char *name, struct err *err)
{
    const struct entry *was = catalogue_find(ctl->catalogue, kind, name);
    if (own_kind(kind) && (!was || (was->owner && strcmp(was->owner, owner) == 0)))
        return 0;
    if (own_kind(kind))
        err_set(err, ERR_DENIED, "%s \"%.100s\" belongs to %s", entry_shown(kind), name,
                was->owner ? was->owner : ctl->admin);
    else
        err_set(err, ERR_DENIED, "the catalogue is kept by %s", ctl->admin);
    return err_hint(err, "ask them to declare it");
}

static void audit_entry(struct ctl *ctl, const char *by, const char *action,
                        const struct object_row *row, const struct err *outcome)
{
    char object[NAME_SHOWN];
    snprintf(object, sizeof object, "%s %.150s", row->kind, row->name);
    audit(ctl->accounts, by, action, object, outcome);
}

/* May they declare all of it? Sets whose each is. */
static int may_declare_all(struct ctl *ctl, const char *owner, struct entry *at, size_t n,
                           struct err *err)
{
    bool admin = by_admin(ctl, owner);
    for (size_t i = 0; i < n; i++) {
        const struct entry *was = catalogue_find(ctl->catalogue, at[i].kind, at[i].name);
        if (!admin && may_declare(ctl, owner, at[i].kind, at[i].name, err)) {
            const struct object_row row = { .kind = entry_word(at[i].kind), .name = at[i].name };
            audit_entry(ctl, owner, "catalogue.apply", &row, err);
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

static void declare(struct ctl *ctl, const char *by, struct arena *arena, const struct entry *entry,
                    struct text_node *list)
{
    const struct entry *before = catalogue_find(ctl->catalogue, entry->kind, entry->name);
    const char *spec = spec_of(arena, entry), *applied = "created";
    if (before)
        applied = strcmp(spec_of(arena, before), spec) == 0 ? "unchanged" : "changed";
    struct object_row row = { .kind = entry_word(entry->kind), .name = entry->name, .spec = spec };
    if (strcmp(applied, "unchanged") != 0) {
        store_put_object(ctl->config.store, &row, NULL);
        catalogue_put(ctl->catalogue, entry);
        ctl->catalogue_touched = true;
        audit_entry(ctl, by, "catalogue.apply", &row, NULL);
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

struct declaration_list {
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
static const struct text_node *guilty(const struct catalogue *c, const struct declaration_list *d,
                                      const struct queue_problem *problem)
{
    const struct entry *blamed = resolve_queue(c, problem->queue);
    const struct text_node *relative = NULL;
    for (size_t i = 0; i < d->n; i++) {
        const struct entry *entry = &d->at[i];
        if (entry->kind != ENTRY_QUOTA && entry->kind != ENTRY_VIRTUAL_CLUSTER)
            continue;
        if (strcmp(entry->name, problem->queue) == 0)
            return document(d->root, i);
        if (problem->family && same_parent(entry, blamed))
            relative = document(d->root, i);
    }
    return relative;
}

static void refuse(const struct catalogue *c, const struct declaration_list *d,
                   const struct queue_problem *problem, struct report *report)
{
    const struct text_node *node = guilty(c, d, problem);
    const struct text_node *field = node && problem->field ? text_get(node, problem->field) : NULL;
    const struct place place = field ? field->place : node ? node->place : (struct place){ 0 };
    struct problem *p =
        report_error(report, place, problem->field ? problem->field : "", "%s", problem->what);
    report_hint(report, p, "%s", problem->hint);
}

static void check_workspace(const struct catalogue *c, const struct declaration_list *d, size_t i,
                            struct report *report)
{
    const struct entry *entry = &d->at[i];
    if (entry->kind != ENTRY_WORKSPACE || !entry->queue || resolve_queue(c, entry->queue))
        return;
    const char *near = catalogue_near(c, ENTRY_QUOTA, entry->queue);
    struct problem *p = report_error(report, text_get(document(d->root, i), "queue")->place,
                                     "queue", "queue \"%.100s\" is not known here", entry->queue);
    report_hint(report, p, "%s", near ? near : "declare it in the same file");
}

/* Queues and workspaces with what these declarations make of them. 0, or -1 with report. */
static int check_queues(struct ctl *ctl, const struct declaration_list *d, struct report *report)
{
    size_t errors = report->errors;
    struct catalogue *trial = catalogue_copy(ctl->catalogue);
    for (size_t i = 0; i < d->n; i++)
        catalogue_put(trial, &d->at[i]);
    struct queue_tree *tree = new_problems(ctl, trial);
    for (size_t i = 0; i < tree->n_problems; i++)
        refuse(trial, d, &tree->problems[i], report);
    for (size_t i = 0; i < d->n; i++)
        check_workspace(trial, d, i, report);
    queue_tree_destroy(tree);
    catalogue_destroy(trial);
    return report->errors > errors ? -1 : 0;
}

void ctl_declare(struct ctl *ctl, const struct ctl_declaration *ask, ctl_done *done, void *arg)
{
    struct tape_scope AUTO_TAPE_SCOPE taped =
        tape_scope_begin(ctl, (struct ctl_input){ .kind = INPUT_DECLARE, .declaration = ask });
    struct answer *answer = turn_answer(ctl, done, arg);
    struct entry *at;
    size_t n = 0, documents;
    answer->writes = answer->has_report = true;
    const struct text_node *root =
        text_parse_documents(answer->arena, ask->text, ask->len, &documents, &answer->report);
    if (!root || entries_decode(answer->arena, root, &at, &n, &answer->report) ||
        check_queues(ctl, &(struct declaration_list){ root, at, n }, &answer->report)) {
        report_err(&answer->report, &answer->err);
        answer->err.code = ERR_INPUT;
        return;
    }
    if (may_declare_all(ctl, ask->owner, at, n, &answer->err))
        return;
    answer->tree = text_map(answer->arena, NULL, NULL);
    struct text_node *list = text_list(answer->arena, answer->tree, "applied");
    for (size_t i = 0; i < n; i++)
        declare(ctl, ask->owner, answer->arena, &at[i], list);
    queues_declare(ctl->queues, ctl->catalogue);
    ctl->plan_due = true;
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
static int check_removal(struct ctl *ctl, const struct object_row *row, struct err *err)
{
    struct catalogue *trial = all_of(ctl, row);
    struct queue_tree *tree = new_problems(ctl, trial);
    int rc = tree->n_problems ? -1 : check_workspaces(tree->arena, trial, err);
    if (tree->n_problems) {
        err_set(err, ERR_CONFLICT, "without it: %.220s", tree->problems[0].what);
        err_remedy(err, REMEDY_LIST_QUEUES);
    }
    queue_tree_destroy(tree);
    catalogue_destroy(trial);
    return rc;
}

void ctl_undeclare(struct ctl *ctl, const char *owner, enum entry_kind kind, const char *name,
                   ctl_done *done, void *arg)
{
    struct tape_scope AUTO_TAPE_SCOPE taped = tape_scope_begin(
        ctl,
        (struct ctl_input){ .kind = INPUT_UNDECLARE, .owner = owner, .what = kind, .name = name });
    struct answer *answer = turn_answer(ctl, done, arg);
    const struct entry *entry = catalogue_find(ctl->catalogue, kind, name);
    const struct object_row row = { .kind = entry_word(kind), .name = name };
    answer->writes = true;
    if (!by_admin(ctl, owner) && may_declare(ctl, owner, kind, name, &answer->err)) {
        audit_entry(ctl, owner, "catalogue.remove", &row, &answer->err);
        return;
    }
    if (!entry) {
        const char *near = catalogue_near(ctl->catalogue, kind, name);
        err_set(&answer->err, ERR_NOT_FOUND, "no %s \"%.100s\"", entry_shown(kind), name);
        err_hint(&answer->err, "%s", near ? near : entry_plural(kind));
        return;
    }
    const char *before = spec_of(answer->arena, entry);
    if (check_removal(ctl, &row, &answer->err) ||
        store_delete_object(ctl->config.store, &row, &answer->err) < 0)
        return;
    catalogue_load(ctl);
    ctl->plan_due = true;
    ctl->catalogue_touched = true;
    entry = catalogue_find(ctl->catalogue, kind, name);
    if (entry && strcmp(spec_of(answer->arena, entry), before) == 0) {
        err_set(&answer->err, ERR_CANNOT, "%s \"%.100s\" ships with muster or is a setting",
                entry_shown(kind), name);
        err_hint(&answer->err, "declare it anew to change it");
        return;
    }
    audit_entry(ctl, owner, "catalogue.remove", &row, NULL);
    answer->tree = text_map(answer->arena, NULL, NULL);
    text_str(answer->arena, answer->tree, "kind", entry_word(kind));
    text_str(answer->arena, answer->tree, "name", name);
    text_bool(answer->arena, answer->tree, "as_shipped", entry != NULL);
}

/* ---- reading ---- */

struct entry_list ctl_catalogue_view(struct ctl *ctl, struct arena *arena, enum entry_kind kind)
{
    struct entry_list list;
    list.at = catalogue_list(ctl->catalogue, arena, kind, &list.n);
    return list;
}
