/* What the core keeps for these clients: documents, and what it knows by name (data sets, code
 * sources, images, workspaces), changed together with what only these clients say of it. The entry
 * goes first: a document without it means nothing, an entry without its document is what `muster
 * apply` makes. */
#include "api/dlc/documents.h"

#include "base/buf.h"
#include "base/mem.h"
#include "text/json.h"

#include <string.h>
#include <strings.h>

#define TEXT_SIZE ((size_t)1 << 20)

/* ---- documents ---- */

const struct document_view *dlc_object(struct dlc_call *d, const char *kind, const char *project,
                                       const char *name)
{
    return document_find(ctl_documents(d->ctl), d->arena,
                         &(struct document){ kind, project, name, NULL });
}

const struct text_node *dlc_spec(const struct document_view *object)
{
    static const struct text_node none = { .kind = TEXT_MAP };
    return object && object->spec->kind == TEXT_MAP ? object->spec : &none;
}

bool dlc_own(const struct dlc_call *d, const struct document_view *object)
{
    const char *owner = object->owner;
    return dlc_is_admin(d) || !owner || strcmp(owner, d->call->owner) == 0;
}

void dlc_store(struct dlc_call *d, const struct document *object, bool create,
               struct text_node *ready)
{
    d->more = ready;
    call_keep(d->call);
    ctl_documents_put(
        d->ctl,
        &(struct document_changes){ .by = d->call->owner, .create = create, .at = object, .n = 1 },
        dlc_done_plain, d);
}

/* ---- entries ---- */

const struct entry *dlc_entry(struct dlc_call *d, enum entry_kind kind, const char *name)
{
    const struct entry_list list = ctl_catalogue_view(d->ctl, d->arena, kind);
    for (size_t i = 0; i < list.n; i++)
        if (strcmp(list.at[i]->name, name) == 0)
            return list.at[i];
    return NULL;
}

static void changed(void *arg, const struct ctl_answer *answer)
{
    struct dlc_call *d = arg;
    const struct dlc_change *change = d->more;
    if (!dlc_done(d, answer))
        return;
    d->more = change->ready;
    if (!change->n_objects) {
        dlc_ok(d, change->ready ? change->ready : dlc_map(d));
        return;
    }
    ctl_documents_put(d->ctl,
                      &(struct document_changes){
                          .by = d->call->owner, .at = change->objects, .n = change->n_objects },
                      dlc_done_plain, d);
}

void dlc_change(struct dlc_call *d, const struct dlc_change *change)
{
    struct dlc_change *own = ARENA_NEW(d->arena, struct dlc_change);
    AUTO_BUF struct buf text = BUF_INIT(TEXT_SIZE);
    *own = *change;
    d->more = own;
    call_keep(d->call);
    if (!change->entry) {
        ctl_undeclare(d->ctl, d->call->owner, change->kind, change->name, changed, d);
        return;
    }
    json_print(change->entry, 0, &text);
    if (text.overflow) {
        dlc_fail(d, 413, "RequestTooLarge", "what is said of it is more than %zu bytes", TEXT_SIZE);
        return;
    }
    ctl_declare(
        d->ctl,
        &(struct declaration){ .owner = d->call->owner, .text = buf_str(&text), .len = text.len },
        changed, d);
}

/* ---- things ---- */

struct dlc_object dlc_thing(struct dlc_call *d, const struct dlc_kind *kind,
                            const struct entry *entry)
{
    const char *id = arena_strdup(d->arena, entry->name);
    const struct document_view *row = dlc_object(d, kind->document, "", id);
    return (struct dlc_object){ .id = id,
                                .owner = arena_strdup(d->arena, entry->owner),
                                .entry = entry,
                                .row = row,
                                .spec = dlc_spec(row) };
}

bool dlc_thing_visible(const struct dlc_call *d, const struct dlc_object *x)
{
    return !x->owner || dlc_is_admin(d) || strcmp(x->owner, d->call->owner) == 0 ||
           strcasecmp(dlc_thing_access(x), "PUBLIC") == 0;
}

const struct dlc_object *dlc_things(struct dlc_call *d, const struct dlc_kind *kind, size_t *n)
{
    const struct entry_list all = ctl_catalogue_view(d->ctl, d->arena, kind->entry);
    struct dlc_object *out = ARENA_ARRAY(d->arena, all.n + 1, struct dlc_object);
    *n = 0;
    for (size_t i = 0; i < all.n; i++) {
        if (kind->versions && strchr(all.at[i]->name, ':'))
            continue;
        out[*n] = dlc_thing(d, kind, all.at[i]);
        if (dlc_thing_visible(d, &out[*n]))
            ++*n;
    }
    return out;
}

bool dlc_thing_find(struct dlc_call *d, const struct dlc_kind *kind, struct dlc_object *x)
{
    const char *id = d->param[0];
    const struct entry *entry =
        kind->versions && strchr(id, ':') ? NULL : dlc_entry(d, kind->entry, id);
    if (entry) {
        *x = dlc_thing(d, kind, entry);
        if (dlc_thing_visible(d, x))
            return true;
    }
    dlc_fail(d, 404, "NotFound", "no %s \"%.100s\"", entry_shown(kind->entry), id);
    return false;
}

const char *dlc_thing_access(const struct dlc_object *x)
{
    const char *access = dlc_text(x->spec, "Accessibility");
    return access ? access : x->owner ? "PRIVATE" : "PUBLIC";
}

void dlc_thing_common(struct dlc_call *d, struct text_node *out, const struct dlc_object *x,
                      const char *changed_key)
{
    struct arena *a = d->arena;
    text_str(a, out, "Accessibility", dlc_thing_access(x));
    text_str(a, out, "UserId", x->owner ? x->owner : "");
    text_str(a, out, "WorkspaceId", dlc_workspace(dlc_text(x->spec, "WorkspaceId")));
    text_str(a, out, "GmtCreateTime", facade_time_ms(a, x->row ? x->row->created_ms : 0));
    text_str(a, out, changed_key, facade_time_ms(a, x->row ? x->row->changed_ms : 0));
}

bool dlc_thing_within(const struct dlc_object *x, const char *workspace)
{
    return !workspace || !x->owner ||
           strcmp(dlc_workspace(dlc_text(x->spec, "WorkspaceId")), workspace) == 0;
}

void dlc_thing_put(struct dlc_call *d, const struct dlc_kind *kind, const char *id,
                   struct text_node *entry, const struct text_node *spec, struct text_node *ready)
{
    struct document *object = ARENA_NEW(d->arena, struct document);
    text_str(d->arena, entry, "kind", entry_word(kind->entry));
    text_str(d->arena, entry, "name", id);
    *object = (struct document){ kind->document, "", id, spec };
    dlc_change(d, &(struct dlc_change){ .kind = kind->entry,
                                        .name = id,
                                        .entry = entry,
                                        .objects = object,
                                        .n_objects = 1,
                                        .ready = ready });
}

void dlc_thing_remove(struct dlc_call *d, const struct dlc_kind *kind, const char *id,
                      struct text_node *ready)
{
    struct document *gone = ARENA_NEW(d->arena, struct document);
    *gone = (struct document){ kind->document, "", id, NULL };
    dlc_change(
        d, &(struct dlc_change){
               .kind = kind->entry, .name = id, .objects = gone, .n_objects = 1, .ready = ready });
}
