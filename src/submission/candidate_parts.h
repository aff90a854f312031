/* What is known of a job that is submitted and not entered yet (candidate.h), step by step. */
#ifndef SUBMISSION_CANDIDATE_PARTS_H
#define SUBMISSION_CANDIDATE_PARTS_H

#include "dialect/dialect.h"
#include "live/row_json.h"
#include "submission/candidate_server.h"
#include "submission/submission.h"

struct candidate {
    const struct candidate_server *server;
    struct submission ask; /* its text is there; work_dir NULL once code lies in a copy */
    struct arena *arena;
    struct report *report; /* problems and warnings of its fields */
    uint32_t only;         /* not 0: the member of an array with index only - 1, again */
    struct dialect_result read;
    struct site_record site;
    struct live_column notes;
};

#endif
