/* What arrays, dependencies and bundles have to say, in words: the only sentences of this folder.
 *
 * Inputs: rows and what modules answer. Effects: none, but on the draft, the report or the err. */
#include "depend/wording.h"

#include <stdio.h>
#include <string.h>

#define FAULT_MAX 260 /* bytes of what is said of one fault */

void draft_job(struct draft *draft, const struct job_row *row)
{
    char called[SENTENCE_NAME];
    unsigned long long number = row->array ? array_number(row) : row->number;
    if (row->array)
        snprintf(called, sizeof called, "%llu[%u] (%.100s)", number, row->index, row->name);
    else
        snprintf(called, sizeof called, "%s %llu (%.100s)", row->members ? "array" : "job", number,
                 row->name);
    draft_name(draft, row->number, called);
}

/* ---- arrays ---- */

static void draft_failure(struct draft *draft, const struct job_row *member)
{
    draft_add(draft, "[%u] ", member->index);
    draft_sentence(draft, &member->reason);
}

/* How its members stand, with the first failure when it has failed. */
static void draft_counts(struct draft *draft, const struct live_array *array)
{
    char counts[JOB_ARRAY_TEXT];
    draft_add(draft, "%s", job_array_counts(counts, array->counts));
    if (array->row.state != JOB_FAILED || !*array->row.reason.text)
        return;
    draft_add(draft, "; first ");
    draft_sentence(draft, &array->row.reason);
}

void draft_array(struct draft *draft, const struct live_array *array,
                 const struct array_event *event)
{
    draft_init(draft);
    if (event->failed)
        draft_failure(draft, event->failed);
    else
        draft_counts(draft, array);
}

int array_refuse(const struct job_row *row, struct err *err)
{
    unsigned long long number = row->number;
    if (!row->members)
        return 0;
    err_set(err, ERR_CONFLICT, "%llu is an array of %u jobs", number, row->members);
    return err_hint(err, "name one of them by its index: %llu[3]", number);
}

/* ---- dependencies ---- */

/* "it is running", "3 running, 60 queued" */
static const char *state_text(char out[JOB_ARRAY_TEXT], const struct depend_answer *answer)
{
    if (answer->row.members)
        return job_array_counts(out, answer->counts);
    snprintf(out, JOB_ARRAY_TEXT, "it is %s", job_state_word(answer->row.state));
    return out;
}

static void draft_to_end(struct draft *draft, const struct depend_answer *answer)
{
    char state[JOB_ARRAY_TEXT];
    bool any = strcmp(answer->ended, "any") == 0;
    draft_add(draft, "waits for ");
    draft_job(draft, &answer->row);
    draft_add(draft, " to end%s%s: %s", any ? "" : " ", any ? "" : answer->ended,
              state_text(state, answer));
}

void draft_dependency(struct draft *draft, const struct depend_answer *answer)
{
    draft_init(draft);
    switch (answer->kind) {
    case DEPEND_MET: break;
    case DEPEND_TO_END: draft_to_end(draft, answer); break;
    case DEPEND_GONE:
        draft_add(draft, "waited for job %llu, which is no longer known",
                  (unsigned long long)answer->number);
        break;
    case DEPEND_OTHERWISE:
        draft_add(draft, "waited for ");
        draft_job(draft, &answer->row);
        draft_add(draft, " to end %s, and it has %s", answer->ended,
                  job_state_word(answer->row.state));
        break;
    }
}

/* What is wrong with one, and what to write instead; "" for nothing. */
static const char *fault_text(const struct depend_problem *p, char out[FAULT_MAX])
{
    char own[JOB_ARRAY_TEXT], its[JOB_ARRAY_TEXT];
    unsigned long long number = p->number;
    switch (p->fault) {
    case DEPEND_NO_NAME:
        snprintf(out, FAULT_MAX, ".job: no job \"%.100s\"", p->name);
        return "only a job that is there can be waited for";
    case DEPEND_NO_NUMBER:
        snprintf(out, FAULT_MAX, ".job: no job %llu", number);
        return "only a job that is there can be waited for";
    case DEPEND_NO_INDEX:
        snprintf(out, FAULT_MAX, ".match: this job is no array");
        return "array: 10";
    case DEPEND_NO_ARRAY:
        snprintf(out, FAULT_MAX, ".match: job %llu is no array", number);
        return "leave match out: every member waits for it";
    case DEPEND_OTHER_INDEX:
        snprintf(out, FAULT_MAX, ".match: the indices are %.80s, those of array %llu are %.80s",
                 job_array_range(own, &p->own), number, job_array_range(its, &p->its));
        return "the same indices for both, or leave match out";
    case DEPEND_TOO_MANY:
        snprintf(out, FAULT_MAX, ": with it the job waits for more than %u", JOB_AFTER_MAX);
        return "the last of them, which may wait for others";
    default:
        snprintf(out, FAULT_MAX, ".ended: job %llu cannot end well and badly", number);
        return "any";
    }
}

void report_dependencies(struct report *report, const struct depend_problem *first)
{
    char what[FAULT_MAX];
    for (const struct depend_problem *p = first; p; p = p->next) {
        const char *hint = fault_text(p, what);
        struct problem *said =
            report_error(report, (struct place){ 0 }, "after", "after[%zu]%s", p->at, what);
        report_hint(report, said, "%s", hint);
        if (p->fault == DEPEND_NO_NAME || p->fault == DEPEND_NO_NUMBER)
            report_remedy(report, said, REMEDY_LIST_ALL, "");
    }
}

/* ---- bundles ---- */

void draft_bundle(struct draft *draft, const struct bundle_answer *answer)
{
    draft_init(draft);
    draft_add(draft, "starts together with gang %.100s", answer->gang);
    switch (answer->kind) {
    case BUNDLE_WHOLE: break;
    case BUNDLE_NO_JOB: draft_add(draft, ", which no job has"); break;
    case BUNDLE_SUSPENDED:
        draft_add(draft, ": ");
        draft_job(draft, &answer->row);
        draft_add(draft, " is suspended");
        break;
    case BUNDLE_DIFFERS:
        draft_add(draft, ", and ");
        draft_job(draft, &answer->row);
        draft_add(draft, " names others");
        break;
    }
}
