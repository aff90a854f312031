/* Jobs that wait for other jobs: resolved to numbers at submission, so that only jobs that are
 * there can be named and no circle can be made. A waiting job is filed under one job that it waits
 * for and costs nothing until that one has ended; what ended as wished is noted, so that its record
 * may go. */
#include "depend/dependency.h"

#include "account/rights.h"
#include "base/map.h"
#include "base/mem.h"
#include "depend/members.h"
#include "depend/wording.h"
#include "job/stored.h"

#include <stdio.h>
#include <string.h>

struct waiters {
    VEC(uint64_t) ids;
};
struct afters {
    struct map *by_job; /* struct waiters by the job they wait for */
    VEC(uint64_t) due;  /* to be looked at */
};

struct afters *afters_create(void)
{
    struct afters *afters = mem_new(sizeof *afters);
    afters->by_job = map_create();
    return afters;
}

static void waiters_free(void *freed)
{
    struct waiters *waiters = freed;
    vec_fini(&waiters->ids);
    free(waiters);
}

void afters_destroy(struct afters *afters)
{
    if (!afters)
        return;
    map_destroy_with(afters->by_job, waiters_free);
    vec_fini(&afters->due);
    free(afters);
}

/* ---- looking ---- */

static bool fits(const char *wanted, enum job_state state)
{
    if (!wanted || strcmp(wanted, "any") == 0)
        return true;
    return (strcmp(wanted, "well") == 0) == (state == JOB_SUCCEEDED);
}

static bool matched(const struct job_after *after)
{
    return after->match && strcmp(after->match, "index") == 0;
}

/* "it is running", "3 running, 60 queued" */
static const char *state_of(struct ctl *ctl, char out[JOB_ARRAY_TEXT], const struct job_row *row)
{
    uint32_t counts[JOB_STATE_N];
    if (row->members) {
        array_counts(ctl->arrays, row, counts);
        return job_array_counts(out, counts);
    }
    snprintf(out, JOB_ARRAY_TEXT, "it is %s", job_state_word(row->state));
    return out;
}

static uint64_t id_of(struct ctl *ctl, uint64_t number)
{
    uint64_t id;
    return store_find_number(ctl->config.store, number, &id) == 1
               ? id
               : members_find_coming(ctl->arrays, number);
}

static bool read_row(struct ctl *ctl, struct arena *arena, uint64_t id, struct job_row *row)
{
    return core_row(ctl, arena, id, row) == 0 || members_coming(ctl->arrays, id, row);
}

/* The row of what is waited for, as it is in this turn; texts of live ones are theirs. */
static bool find(struct ctl *ctl, struct arena *arena, uint64_t number, struct job_row *row)
{
    uint64_t id = id_of(ctl, number);
    const struct live_job *live = live_find(ctl->live, id);
    const struct live_array *array = array_find(ctl->arrays, id);
    if (live || array) {
        *row = live ? live->row : array->row;
        return true;
    }
    return read_row(ctl, arena, id, row);
}

struct looked {
    int answer;  /* 1: still to end, 0: ended as wished, -1: never will */
    uint64_t id; /* of what is still to end */
    struct draft text;
};

static void look(struct ctl *ctl, const struct live_job *job, const struct job_after *after,
                 struct looked *out)
{
    char state[JOB_ARRAY_TEXT];
    const char *wanted = after->ended ? after->ended : "any";
    struct arena *arena = arena_create();
    uint64_t number = after->job;
    struct job_row row;
    if (matched(after) &&
        job->row.array) /* members' numbers follow their array's, as their ids do */
        number += job->row.id - job->row.array;
    out->answer = -1;
    draft_init(&out->text);
    if (!find(ctl, arena, number, &row)) {
        draft_add(&out->text, "waited for job %llu, which is no longer known",
                  (unsigned long long)number);
    } else if (!job_state_final(row.state)) {
        out->answer = 1;
        out->id = row.id;
        bool any = strcmp(wanted, "any") == 0;
        draft_add(&out->text, "waits for ");
        draft_job(&out->text, &row);
        draft_add(&out->text, " to end%s%s: %s", any ? "" : " ", any ? "" : wanted,
                  state_of(ctl, state, &row));
    } else if (!fits(after->ended, row.state)) {
        draft_add(&out->text, "waited for ");
        draft_job(&out->text, &row);
        draft_add(&out->text, " to end %s, and it has %s", wanted, job_state_word(row.state));
    } else {
        out->answer = 0;
    }
    arena_destroy(arena);
}

static const char *position_text(char out[24], size_t position)
{
    snprintf(out, 24, "%zu", position);
    return out;
}

/* The first that is not met decides what is said; one that never will be decides at once. */
static struct looked look_all(struct ctl *ctl, const struct live_job *job)
{
    struct looked first = { .answer = 0 }, one;
    char position[24];
    for (size_t i = 0; i < job->spec->n_after; i++) {
        if (words_have(&job->notes.met, position_text(position, i)))
            continue;
        look(ctl, job, &job->spec->after[i], &one);
        if (one.answer < 0)
            return one;
        if (one.answer > 0 && first.answer == 0)
            first = one;
    }
    return first;
}

int after_blocked(struct ctl *ctl, struct live_job *job, struct draft *why)
{
    draft_init(why);
    if (!job->notes.has_after || !core_spec(ctl, job))
        return 0;
    struct looked looked = look_all(ctl, job);
    *why = looked.text;
    return looked.answer;
}

/* ---- waiting ---- */

void after_ask(struct ctl *ctl, struct live_job *job)
{
    vec_push(&ctl->afters->due, job->row.id);
}

void after_ended(struct ctl *ctl, uint64_t id)
{
    struct waiters *waiters = map_remove(ctl->afters->by_job, id);
    if (!waiters)
        return;
    for (size_t i = 0; i < waiters->ids.n; i++)
        vec_push(&ctl->afters->due, waiters->ids.at[i]);
    waiters_free(waiters);
}

static void file_under(struct ctl *ctl, uint64_t id, const struct live_job *job)
{
    struct waiters *waiters = map_get(ctl->afters->by_job, id);
    if (!waiters) {
        waiters = mem_new(sizeof *waiters);
        map_set(ctl->afters->by_job, id, waiters);
    }
    vec_push(&waiters->ids, job->row.id);
}

/* Of several jobs, those that have ended as wished: noted, as nobody looks at them again. */
static void note_met(struct ctl *ctl, struct live_job *job)
{
    struct words met = { .at = ARENA_ARRAY(job->arena, job->spec->n_after, const char *) };
    struct looked one;
    char position[24];
    for (size_t i = 0; i < job->spec->n_after; i++) {
        bool known = words_have(&job->notes.met, position_text(position, i));
        if (!known)
            look(ctl, job, &job->spec->after[i], &one);
        if (known || one.answer == 0)
            met.at[met.n++] = arena_strdup(job->arena, position);
    }
    if (met.n == job->notes.met.n)
        return;
    job->notes.met = met;
    event_job_row(ctl, job);
}

static void settle(struct ctl *ctl, struct live_job *job)
{
    if (!core_spec(ctl, job)) {
        settle_end(ctl, job, JOB_EV_FAIL, "its record cannot be read");
        return;
    }
    struct looked looked = look_all(ctl, job);
    const struct sentence why = draft_said(&looked.text);
    if (looked.answer < 0) {
        settle_end_saying(ctl, job, JOB_EV_FAIL, &why);
    } else if (looked.answer > 0) {
        live_set_sentence(job, &why);
        job->why = (struct live_why){ .why = WAIT_AFTER };
        file_under(ctl, looked.id, job);
        if (job->spec->n_after > 1)
            note_met(ctl, job);
    } else {
        job->notes.has_after = false;
        job->notes.met = (struct words){ 0 };
        event_job_row(ctl, job);
        event_queued(ctl, job);
    }
}

bool after_settle(struct ctl *ctl)
{
    bool any = ctl->afters->due.n > 0;
    for (size_t i = 0; i < ctl->afters->due.n; i++) {
        struct live_job *job = live_find(ctl->live, ctl->afters->due.at[i]);
        if (job && job->row.state == JOB_QUEUED && job->notes.has_after)
            settle(ctl, job);
    }
    vec_clear(&ctl->afters->due);
    return any;
}

/* ---- at submission ---- */

static struct problem *say(struct report *report, size_t i, const char *what, const char *hint)
{
    char text[300];
    snprintf(text, sizeof text, "after[%zu]%s", i, what);
    struct problem *p = report_error(report, (struct place){ 0 }, "after", "%s", text);
    if (hint)
        report_hint(report, p, "%s", hint);
    return p;
}

static void say_unknown(struct report *report, size_t i, const char *what)
{
    struct problem *p = say(report, i, what, "only a job that is there can be waited for");
    report_remedy(report, p, REMEDY_LIST_ALL, "");
}

static void check_match(const struct job_spec *spec, size_t i, const struct job_row *row,
                        const struct job_spec *other, struct report *report)
{
    const struct job_array *a = &spec->array, *b = other ? &other->array : NULL;
    char what[260], own[JOB_ARRAY_TEXT], its[JOB_ARRAY_TEXT];
    if (!a->count) {
        say(report, i, ".match: this job is no array", "array: 10");
    } else if (!row->members || !b) {
        snprintf(what, sizeof what, ".match: job %llu is no array",
                 (unsigned long long)row->number);
        say(report, i, what, "leave match out: every member waits for it");
    } else if (a->count != b->count || a->first != b->first || a->step != b->step) {
        snprintf(what, sizeof what, ".match: the indices are %.80s, those of array %llu are %.80s",
                 job_array_range(own, a), (unsigned long long)row->number, job_array_range(its, b));
        say(report, i, what, "the same indices for both, or leave match out");
    }
}

/* The same job cannot end in two ways. */
static void check_twice(const struct job_spec *spec, size_t i, struct report *report)
{
    const struct job_after *a = &spec->after[i];
    char what[200];
    for (size_t k = 0; k < i; k++) {
        const struct job_after *b = &spec->after[k];
        if (a->job != b->job || strcmp(a->ended, "any") == 0 || strcmp(b->ended, "any") == 0 ||
            strcmp(a->ended, b->ended) == 0)
            continue;
        snprintf(what, sizeof what, ".ended: job %llu cannot end well and badly",
                 (unsigned long long)a->job);
        say(report, i, what, "any");
    }
}

/* What belongs to another one is asked for by its rights, which no recording has. */
static bool may_wait(struct ctl *ctl, const char *owner, const struct job_row *row)
{
    if (!owner || strcmp(owner, row->owner) == 0)
        return true;
    return taped_right(ctl, user_may_read(ctl->accounts, owner, row) ? 0 : -1, NULL) == 0;
}

/* The job that is meant, as its owner may know it; of a name the newest. */
static bool find_meant(struct ctl *ctl, const char *owner, const struct job_after *after,
                       struct arena *arena, struct job_row *row)
{
    struct store *store = ctl->config.store;
    uint64_t id = 0;
    struct err err = { 0 };
    if (!after->job_name)
        id = id_of(ctl, after->job);
    else if (ctl_find(ctl, after->job_name, &id, &err) && err.code != ERR_UNAVAILABLE)
        return false;
    if (!read_row(ctl, arena, id, row))
        return false;
    if (may_wait(ctl, owner, row))
        return true;
    return after->job_name && store_find_name(store, after->job_name, owner, &id) == 1 &&
           core_row(ctl, arena, id, row) == 0;
}

int after_resolve(struct ctl *ctl, const char *owner, struct job_spec *spec, struct report *report)
{
    for (size_t i = 0; i < spec->n_after; i++) {
        struct job_after *after = &spec->after[i];
        struct arena *arena = arena_create();
        struct job_row row;
        char what[200];
        if (find_meant(ctl, owner, after, arena, &row)) {
            after->job = row.number;
            after->job_name = NULL;
            if (matched(after))
                check_match(spec, i, &row, row.members ? job_of_text(arena, row.spec) : NULL,
                            report);
            check_twice(spec, i, report);
        } else if (after->job_name) {
            snprintf(what, sizeof what, ".job: no job \"%.100s\"", after->job_name);
            say_unknown(report, i, what);
        } else {
            snprintf(what, sizeof what, ".job: no job %llu", (unsigned long long)after->job);
            say_unknown(report, i, what);
        }
        arena_destroy(arena);
    }
    return report_ok(report) ? 0 : -1;
}
