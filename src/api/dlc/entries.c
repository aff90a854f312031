/* What the core knows by name (data sets, code sources, images, workspaces), changed together with
 * what only these clients say of it. The entry goes first: a document without it means nothing, an
 * entry without its document is what `muster apply` makes. */
#include "api/dlc/op.h"

#include "base/buf.h"
#include "base/mem.h"
#include "text/json.h"

#include <string.h>

#define TEXT_SIZE ((size_t)1 << 20)

const struct text_node *dlc_entries(struct dlc_call *d, enum entry_kind kind)
{
    return text_get(ctl_catalogue_tree(d->ctl, d->arena, kind), entry_plural(kind));
}

const struct text_node *dlc_entry(struct dlc_call *d, enum entry_kind kind, const char *name)
{
    const struct text_node *list = dlc_entries(d, kind);
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (strcmp(dlc_text(one, "name"), name) == 0)
            return one;
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
    ctl_objects_put(d->ctl,
                    &(struct ctl_objects){
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
    ctl_declare(d->ctl,
                &(struct ctl_declaration){
                    .owner = d->call->owner, .text = buf_str(&text), .len = text.len },
                changed, d);
}
