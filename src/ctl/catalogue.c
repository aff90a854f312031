/* The catalogue of this server: what ships, the queues of its settings, and what its administrator
 * declared (rows). In memory as a whole; made anew when a row changes. */
#include "ctl/core.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "text/detect.h"
#include "text/json.h"

#include <string.h>

#define SPEC_MAX (1u << 20)

/* ---- in memory ---- */

static void put_shipped(struct ctl *ctl)
{
    const struct words *queues = ctl->config.queues;
    catalogue_put(ctl->catalogue, &(struct entry){ .kind = ENTRY_WORKSPACE, .name = "default" });
    catalogue_put(ctl->catalogue, &(struct entry){ .kind = ENTRY_QUOTA,
                                                   .name = "default",
                                                   .description = "the whole cluster" });
    for (size_t i = 0; queues && i < queues->n; i++)
        if (strcmp(queues->at[i], "default") != 0)
            catalogue_put(ctl->catalogue,
                          &(struct entry){ .kind = ENTRY_QUOTA,
                                           .name = queues->at[i],
                                           .description = "from the server's settings" });
    for (size_t i = 0; i < ctl->config.n_shipped; i++)
        catalogue_put(ctl->catalogue, &ctl->config.shipped[i]);
}

static void put_row(struct ctl *ctl, struct arena *arena, const struct object_row *row)
{
    struct report report;
    struct entry *entry;
    size_t n = 0;
    report_init(&report, arena);
    const struct text_node *root = json_parse(arena, row->spec, strlen(row->spec), 0, &report);
    if (!root || entries_decode(arena, root, &entry, &n, &report) || n != 1)
        log_error("catalogue.row", "%s \"%s\" cannot be read", row->kind, row->name);
    else
        catalogue_put(ctl->catalogue, entry);
}

void catalogue_load(struct ctl *ctl)
{
    struct arena *arena = arena_create();
    catalogue_destroy(ctl->catalogue);
    ctl->catalogue = catalogue_create();
    put_shipped(ctl);
    for (unsigned kind = 0; kind < ENTRY_KIND_N; kind++) {
        struct object_row *rows;
        size_t n = 0;
        if (store_objects(ctl->config.store, arena,
                          &(struct object_row){ .kind = entry_word((enum entry_kind)kind) }, &rows,
                          &n, NULL) == 0)
            for (size_t i = 0; i < n; i++)
                put_row(ctl, arena, &rows[i]);
    }
    ctl->catalogue_touched = false;
    arena_destroy(arena);
}

/* ---- commands ---- */

static int may_declare(const struct ctl *ctl, const char *owner, struct err *err)
{
    if (core_admin(ctl, owner))
        return 0;
    err_set(err, ERR_DENIED, "the catalogue is kept by %s", ctl->admin);
    return err_hint(err, "ask them to declare it");
}

static const char *spec_of(struct arena *arena, const struct entry *entry)
{
    AUTO_BUF struct buf text = BUF_INIT(SPEC_MAX);
    json_print(entry_encode(arena, NULL, entry), 0, &text);
    return arena_strdup(arena, buf_str(&text));
}

static void declare(struct ctl *ctl, struct arena *arena, const struct entry *entry,
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
    }
    struct text_node *one = text_map(arena, list, NULL);
    text_str(arena, one, "kind", entry_word(entry->kind));
    text_str(arena, one, "name", entry->name);
    text_str(arena, one, "applied", applied);
}

void ctl_declare(struct ctl *ctl, const struct ctl_declaration *ask, ctl_done *done, void *arg)
{
    struct answer *answer = turn_answer(ctl, done, arg);
    struct entry *at;
    size_t n, documents;
    answer->writes = answer->has_report = true;
    if (may_declare(ctl, ask->owner, &answer->err))
        return;
    const struct text_node *root =
        text_parse_documents(answer->arena, ask->text, ask->len, &documents, &answer->report);
    if (!root || entries_decode(answer->arena, root, &at, &n, &answer->report)) {
        report_err(&answer->report, &answer->err);
        answer->err.code = ERR_INPUT;
        return;
    }
    answer->tree = text_map(answer->arena, NULL, NULL);
    struct text_node *list = text_list(answer->arena, answer->tree, "applied");
    for (size_t i = 0; i < n; i++)
        declare(ctl, answer->arena, &at[i], list);
}

void ctl_undeclare(struct ctl *ctl, const char *owner, enum entry_kind kind, const char *name,
                   ctl_done *done, void *arg)
{
    struct answer *answer = turn_answer(ctl, done, arg);
    const struct entry *entry = catalogue_find(ctl->catalogue, kind, name);
    const struct object_row row = { .kind = entry_word(kind), .name = name };
    answer->writes = true;
    if (may_declare(ctl, owner, &answer->err))
        return;
    if (!entry) {
        const char *near = catalogue_near(ctl->catalogue, kind, name);
        err_set(&answer->err, ERR_NOT_FOUND, "no %s \"%.100s\"", entry_shown(kind), name);
        err_hint(&answer->err, "%s", near ? near : entry_plural(kind));
        return;
    }
    const char *before = spec_of(answer->arena, entry);
    if (store_delete_object(ctl->config.store, &row, &answer->err) < 0)
        return;
    catalogue_load(ctl);
    ctl->catalogue_touched = true;
    entry = catalogue_find(ctl->catalogue, kind, name);
    if (entry && strcmp(spec_of(answer->arena, entry), before) == 0) {
        err_set(&answer->err, ERR_CANNOT, "%s \"%.100s\" ships with muster or is a setting",
                entry_shown(kind), name);
        err_hint(&answer->err, "declare it anew to change it");
        return;
    }
    answer->tree = text_map(answer->arena, NULL, NULL);
    text_str(answer->arena, answer->tree, "kind", entry_word(kind));
    text_str(answer->arena, answer->tree, "name", name);
    text_bool(answer->arena, answer->tree, "as_shipped", entry != NULL);
}

/* ---- reading ---- */

struct text_node *ctl_catalogue_tree(struct ctl *ctl, struct arena *arena, enum entry_kind kind)
{
    size_t n;
    struct text_node *root = text_map(arena, NULL, NULL);
    struct text_node *list = text_list(arena, root, entry_plural(kind));
    const struct entry **at = catalogue_list(ctl->catalogue, arena, kind, &n);
    for (size_t i = 0; i < n; i++)
        entry_encode(arena, list, at[i]);
    return root;
}
