/* What arrays, dependencies and bundles have to say, in words: the only sentences of this folder.
 *
 * Inputs: rows and what modules answer. Effects: none, but on the draft, the report or the err. */
#include "depend/wording.h"

#include <stdio.h>

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

void draft_failure(struct draft *draft, const struct job_row *member)
{
    draft_init(draft);
    draft_add(draft, "[%u] ", member->index);
    draft_sentence(draft, &member->reason);
}

void draft_counts(struct draft *draft, const struct live_array *array)
{
    char counts[JOB_ARRAY_TEXT];
    draft_init(draft);
    draft_add(draft, "%s", job_array_counts(counts, array->counts));
    if (array->row.state != JOB_FAILED || !*array->row.reason.text)
        return;
    draft_add(draft, "; first ");
    draft_sentence(draft, &array->row.reason);
}

int refuse_array(const struct job_row *array, struct err *err)
{
    unsigned long long number = array->number;
    err_set(err, ERR_CONFLICT, "%llu is an array of %u jobs", number, array->members);
    return err_hint(err, "name one of them by its index: %llu[3]", number);
}
