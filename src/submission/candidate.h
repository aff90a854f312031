/* A job that is submitted and not entered yet: read, then settled against the server that it is
 * submitted to (names, rights, engine, runtime, directories, size), or refused with every problem.
 * It is in no table, and nothing is written but its credentials (candidate_files.h). */
#ifndef SUBMISSION_CANDIDATE_H
#define SUBMISSION_CANDIDATE_H

#include "submission/candidate_parts.h"

struct reason;

/* Fills .read. 0; -1: ERR_INPUT, and report. */
int candidate_read(struct candidate *, struct err *err);
/* Where its interpreter comes from, for who looks at the job later. */
void candidate_note_python(struct candidate *);
/* Fills .site and .notes, and the spec with what names stand for. 0; -1: refused, with err and,
 * where fields are wrong, report. */
int candidate_settle(struct candidate *, struct err *err);
/* What its row says, but for ids, number, state and texts; and the rest of .notes. times: by the
 * clock that is decided by, and by that of people. */
struct candidate_times {
    uint64_t now_ms, date_ms;
};
struct job_row candidate_row(struct candidate *, struct candidate_times);

/* ---- for rows and events, in arena ---- */
struct text_node *candidate_warnings(struct candidate *); /* {path, what, hint, line, col} */
struct reason candidate_reason(const struct candidate *); /* of its first event */
/* Which interpreter tasks have, {path, from, text}, when the submitter's side named one; usual: the
 * server's, NULL: none. NULL: nothing is said of it. */
struct text_node *candidate_python(const struct candidate *, const char *usual);

#endif
