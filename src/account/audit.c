/* Entries of the audit record: who calls, what is worth one, how many refusals are.
 *
 * Inputs: who takes requests says who calls (audit_called_by); commands say what became of what.
 * Effects: rows in the open turn, so that what is done and its entry are committed together. */
#include "account/audit.h"

#include "account/auditor.h"
#include "account/handle.h"
#include "account/identity.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"
#include "store/audit.h"
#include "store/store.h"
#include "text/json.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define FIELD_MAX    200
#define KEEP_MS      (400ull * 86400000) /* entries; then they go, oldest first */
#define MINUTE_MS    60000ull
#define REFUSALS     10u /* of a minute that are entries; the others are counted */
#define SETTING_MAX  (64u << 10)
#define SETTING_KIND "audit.setting"

struct refusals { /* of the minute */
    uint64_t minute;
    unsigned n, more;
};

struct auditor {
    char name[FIELD_MAX], known[FIELD_MAX], from[FIELD_MAX];
    struct refusals users, strangers; /* strangers' many do not hide what a user tried */
};

struct auditor *auditor_create(void)
{
    return mem_new(sizeof(struct auditor));
}

void auditor_destroy(struct auditor *a)
{
    free(a);
}

/* Names and paths are texts from outside: short, of whole characters (a byte that is none would be
 * another one in JSON, and its hash would not fit), none of which moves a terminal. */
static void set(char out[FIELD_MAX], const char *text)
{
    size_t len = text ? strnlen(text, FIELD_MAX - 1) : 0, good = 0;
    memcpy(out, text ? text : "", len);
    while ((good += scan_utf8_prefix(out + good, len - good)) < len)
        out[good] = '?';
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)out[i], next = i + 1 < len ? (unsigned char)out[i + 1] : 0;
        if (c < ' ' || c == 0x7f)
            out[i] = '?';
        else if (c == 0xc2 && next < 0xa0) /* U+0080 to U+009F */
            out[i] = out[i + 1] = '?';
    }
    out[len] = '\0';
}

void audit_called_by(struct accounts *all, const struct audit_caller *by)
{
    struct auditor *a = all->auditor;
    set(a->name, by ? by->name : NULL);
    set(a->known, by ? by->known : NULL);
    set(a->from, by ? by->from : NULL);
}

/* ---- writing ---- */

static void add(struct accounts *all, struct audit_row *row)
{
    row->at_ms = accounts_date(all);
    store_add_audit(all->config.store, row, NULL); /* a failed write fails the commit */
}

static bool skipped(const struct accounts *all)
{
    return !store_keeps_details(all->config.store) ||
           all->config.server.replays(all->config.server.arg);
}

/* false: the refusal is counted only. */
static bool counted_in(struct accounts *all, struct refusals *r, const char *whose)
{
    uint64_t minute = accounts_now(all) / MINUTE_MS;
    if (minute != r->minute && r->more) {
        char object[FIELD_MAX];
        snprintf(object, sizeof object, "%u more of %s in a minute", r->more, whose);
        struct audit_row more = { .user = "",
                                  .role = "",
                                  .known = "",
                                  .from = "",
                                  .action = "audit.more",
                                  .object = object,
                                  .outcome = "denied" };
        add(all, &more);
    }
    if (minute != r->minute)
        *r = (struct refusals){ .minute = minute };
    if (r->n >= REFUSALS)
        r->more++;
    return r->n++ < REFUSALS;
}

void audit_add(struct accounts *all, const struct audit_entry *entry)
{
    struct auditor *a = all->auditor;
    const struct err *refused = entry->refused;
    const char *who = entry->user ? entry->user : a->name;
    bool bad = refused && refused->code != ERR_NONE;
    /* Else what is known of the caller is of somebody else. */
    bool calls = entry->claimed || strcmp(who, a->name) == 0;
    char user[FIELD_MAX], object[FIELD_MAX];
    if (skipped(all) || (bad && !counted_in(all, entry->claimed ? &a->strangers : &a->users,
                                            entry->claimed ? "strangers" : "users")))
        return;
    set(user, who);
    set(object, entry->object);
    struct audit_row row = { .user = user,
                             .role = entry->claimed ? "" : user_role_word(user_role_of(all, who)),
                             .known = calls ? a->known : "",
                             .from = calls ? a->from : "",
                             .action = entry->action,
                             .object = object,
                             .outcome = bad ? err_word(refused->code) : "ok" };
    add(all, &row);
}

void audit(struct accounts *all, const char *who, const char *action, const char *object,
           const struct err *outcome)
{
    audit_add(all,
              &(struct audit_entry){
                  .user = who ? who : "", .action = action, .object = object, .refused = outcome });
}

void audit_job(struct accounts *all, const char *who, const char *action, const struct job_row *job,
               const struct err *outcome)
{
    char object[FIELD_MAX];
    if (!who || !job->owner || strcmp(who, job->owner) == 0 || skipped(all))
        return;
    snprintf(object, sizeof object, "job %llu of %.100s", (unsigned long long)job->number,
             job->owner);
    audit(all, who, action, object, outcome);
}

void audit_expire(struct accounts *all)
{
    uint64_t now = accounts_now(all);
    struct audit_row cut = { .user = "",
                             .role = "",
                             .known = "",
                             .from = "",
                             .action = AUDIT_CUT,
                             .outcome = "ok",
                             .at_ms = accounts_date(all) };
    if (now > KEEP_MS && !skipped(all))
        store_cut_audit(all->config.store, now - KEEP_MS, &cut, NULL);
}

/* ---- start and end ---- */

void audit_server(struct accounts *all, const char *action, const char *object)
{
    char what[FIELD_MAX];
    set(what, object);
    struct audit_row row = { .user = "",
                             .role = "",
                             .known = "server",
                             .from = "",
                             .action = action,
                             .object = what,
                             .outcome = "ok" };
    add(all, &row);
}

static void note_setting(struct accounts *all, const char *name, const char *value)
{
    struct object_row row = { .kind = SETTING_KIND, .project = "", .name = name };
    struct arena *arena = arena_create();
    struct text_node *map = text_map(arena, NULL, NULL);
    text_str(arena, map, "value", value);
    AUTO_BUF struct buf text = BUF_INIT(SETTING_MAX);
    json_print(map, 0, &text);
    const char *spec = buf_str(&text);
    bool there = store_get_object(all->config.store, arena, &row, NULL) == 1;
    if (!there || strcmp(row.spec, spec) != 0) {
        if (there)
            audit_server(all, "setting.changed", arena_printf(arena, "%s: %s", name, value));
        row.spec = spec;
        row.version = 0;
        store_put_object(all->config.store, &row, NULL);
    }
    arena_destroy(arena);
}

bool audit_server_start(struct accounts *all, const char *version, const struct pairs *settings)
{
    if (skipped(all))
        return false;
    audit_server(all, "server.started", version);
    for (size_t i = 0; i < settings->n; i++)
        note_setting(all, settings->at[i].name, settings->at[i].value);
    return true;
}

bool audit_server_end(struct accounts *all, const char *why)
{
    if (skipped(all))
        return false;
    audit_server(all, "server.ended", why);
    return true;
}
