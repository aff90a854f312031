/* Which job is meant: by its number, by the newest of a name, by its id, by a member's index. Reads
 * live jobs, arrays and records; commands and readers mean the same by it. */
#include "ctl/contents.h"
#include "ctl/ctl.h"

#include "base/scan.h"
#include "depend/members.h"
#include "job/record.h"
#include "live/live.h"

#include <string.h>

static uint64_t newest_live(const struct contents *core, const char *name)
{
    size_t cursor = 0;
    uint64_t best = 0;
    struct live_job *job;
    while (live_next(core->live, &cursor, &job))
        if (job->row.id > best && !job->row.array && strcmp(job->row.name, name) == 0)
            best = job->row.id;
    const struct live_array *array = array_named(core->arrays, name);
    return array && array->row.id > best ? array->row.id : best;
}

/* A member whose row follows its array's. */
static int say_coming(uint64_t number, struct err *err)
{
    err_set(err, ERR_UNAVAILABLE, "job %llu of an array is accepted and not recorded yet",
            (unsigned long long)number);
    return err_hint(err, "again in a moment");
}

/* "12[3]", "sweep[3]": 1 found, 0 not of that form, -1: no such member, err says so. */
static int find_member(struct ctl *ctl, const char *text, uint64_t *id, struct err *err)
{
    size_t len = strlen(text);
    const char *open = strrchr(text, '[');
    uint64_t index, array = 0;
    if (!open || open == text || len < 4 || text[len - 1] != ']')
        return 0;
    struct arena *arena = arena_create();
    struct job_row row;
    struct job_spec *spec = NULL;
    const char *digits = arena_strndup(arena, open + 1, len - (size_t)(open - text) - 2);
    int rc = scan_u64(digits, 0, UINT32_MAX, &index);
    if (rc && ctl_find(ctl, arena_strndup(arena, text, (size_t)(open - text)), &array, err) < 0)
        rc = -1;
    else if (rc && core_row(ctl, arena, array, &row) == 0 && row.members)
        spec = job_of_text(arena, row.spec);
    if (rc > 0) {
        uint32_t position = spec ? job_array_position(&spec->array, index) : UINT32_MAX;
        char range[JOB_ARRAY_TEXT];
        *id = array + 1 + position;
        if (!spec) {
            err_set(err, ERR_NOT_FOUND, "job %llu is no array", (unsigned long long)row.number);
            rc = -1;
        } else if (position != UINT32_MAX && members_coming(ctl_contents(ctl).arrays, *id, &row)) {
            rc = say_coming(row.number, err);
        } else if (position == UINT32_MAX || core_row(ctl, arena, *id, &row)) {
            err_set(err, ERR_NOT_FOUND, "array %llu has no member %llu",
                    (unsigned long long)row.number, (unsigned long long)index);
            err_hint(err, "its indices are %s", job_array_range(range, &spec->array));
            rc = -1;
        }
    }
    arena_destroy(arena);
    return rc;
}

int ctl_find(struct ctl *ctl, const char *job, uint64_t *id, struct err *err)
{
    const struct contents core = ctl_contents(ctl);
    struct store *store = core.store;
    uint64_t number = 0, found = 0;
    if (scan_u64(job, 1, INT64_MAX, &number) && store_find_number(store, number, &found) == 1) {
        *id = found;
        return 0;
    }
    *id = number ? members_find_coming(core.arrays, number) : 0;
    if (*id)
        return say_coming(number, err);
    found = newest_live(&core, job);
    if (found || store_find_name(store, job, NULL, &found) == 1) {
        *id = found;
        return 0;
    }
    struct arena *arena = arena_create();
    struct job_row row;
    bool by_id =
        job_id_parse(job, &found) && store_get_lean_job(store, arena, found, &row, NULL) == 1;
    arena_destroy(arena);
    if (by_id) {
        *id = found;
        return 0;
    }
    int member = find_member(ctl, job, id, err);
    if (member)
        return member < 0 ? -1 : 0;
    err_set(err, ERR_NOT_FOUND, "no job \"%.120s\"", job);
    return err_remedy(err, REMEDY_LIST_ALL);
}

int ctl_find_owned(struct ctl *ctl, const char *owner, const char *name, uint64_t *id,
                   struct err *err)
{
    if (store_find_name(ctl_contents(ctl).store, name, owner, id) == 1)
        return 0;
    return err_set(err, ERR_NOT_FOUND, "%.60s has no job \"%.120s\"", owner, name);
}
