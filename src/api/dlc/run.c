/* Runs one operation of the table: who may, how often, the body, what was asked, its handler. A
 * refusal is answered here in the vendor's form. */
#include "api/dlc/op.h"

#include "base/scan.h"
#include "text/json.h"

#include <strings.h>

#define BODY_MAX (4u << 20)

static bool json_type(const char *type)
{
    return !type || strncasecmp(type, "application/json", 16) == 0;
}

/* Members that say nothing are left out. */
static void drop_empty(struct text_node *map)
{
    struct text_node *one = map->first;
    map->first = map->last = NULL;
    map->count = 0;
    for (struct text_node *next; one; one = next) {
        next = one->next;
        one->next = NULL;
        if (dlc_empty(one))
            continue;
        if (map->last)
            map->last->next = one;
        else
            map->first = one;
        map->last = one;
        map->count++;
    }
}

static bool read_body(struct dlc_call *d)
{
    struct report report;
    const char *type = dlc_header(d, "Content-Type");
    d->body = dlc_map(d);
    if (d->text_len > BODY_MAX) {
        dlc_fail(d, 413, "RequestTooLarge", "the body has %zu bytes, the most are %u", d->text_len,
                 BODY_MAX);
        return false;
    }
    if (d->text_len == 0 && !(d->op->flags & DLC_BODY))
        return true;
    if (d->text_len > 0 && !json_type(type)) {
        dlc_fail(d, 415, "UnsupportedMediaType", "the body is %.80s, not application/json", type);
        return false;
    }
    report_init(&report, d->arena);
    struct text_node *root = json_parse(d->arena, d->text, d->text_len, 0, &report);
    if (!root || report.errors) {
        struct err err;
        report_err(&report, &err);
        err_in(&err, "the body");
        err.code = ERR_INPUT;
        dlc_err(d, &err, NULL);
        return false;
    }
    if (root->kind != TEXT_MAP) {
        dlc_fail(d, 400, "InvalidParameter", "the body is %s, not a JSON object",
                 text_kind_word(root->kind));
        return false;
    }
    if (d->op->body)
        drop_empty(root);
    d->body = root;
    return true;
}

bool dlc_spend(struct dlc_call *d, enum limit limit)
{
    struct err err;
    if (limit_one(d->call, limit, &err) == 0)
        return true;
    dlc_err(d, &err, NULL);
    return false;
}

void dlc_run(struct dlc_call *d)
{
    const char *action = dlc_header(d, "x-acs-action");
    if (d->op->flags & DLC_CANNOT)
        dlc_fail(d, 400, "NotSupported", "%.80s is not supported here: %s",
                 *d->op->name ? d->op->name
                 : action     ? action
                              : "this operation",
                 d->op->note);
    else if ((d->op->flags & DLC_WRITES) && d->call->who.role == ROLE_READER)
        dlc_fail(d, 403, "Forbidden.RAM", "%s is a reader, and %s changes something",
                 d->call->owner, d->op->name);
    else if (read_body(d) && dlc_check_params(d))
        d->op->run(d);
}
