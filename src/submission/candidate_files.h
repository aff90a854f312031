/* Directories, files and credentials that a submitted job names, looked at with the rights of its
 * account. */
#ifndef SUBMISSION_CANDIDATE_FILES_H
#define SUBMISSION_CANDIDATE_FILES_H

#include "submission/candidate_parts.h"

/* May it be placed on another machine than this one? */
bool candidate_runs_elsewhere(const struct candidate *);
/* What its directories are on this machine, into .site; -1: a field's is not there, or cannot be
 * used, as err and report say. */
int candidate_find_files(struct candidate *, struct err *err);
/* What err says, as a problem of that field. -1. */
int candidate_refuse_field(struct candidate *, const char *path, struct err *err);
/* Credentials of registries lie apart from the job: those that it brings are kept under this id.
 * What cannot be used or kept is a warning. */
void candidate_keep_auth(struct candidate *, struct store *, uint64_t job);

#endif
