/* The canonical job: made of a tree or by a dialect, checked, written back, described. */
#ifndef JOB_JOB_H
#define JOB_JOB_H

#include "base/buf.h"
#include "base/report.h"
#include "job/spec.h"

/* Canonical tree <-> job. Decoding is strict: unknown keys with the nearest known one, types,
 * bounds, cross-field rules (role names unique, gang roles known ...), all problems in report; then
 * NULL is returned. The result and its texts live in arena. */
struct job_spec *job_decode(struct arena *, const struct text_node *, struct report *);
/* Some members of a job that was decoded before: of what is not there, the default. No roles. */
struct job_spec *job_decode_some(struct arena *, const struct text_node *);
/* What runs a role's Python entry point: a program and its arguments, in arena. */
struct words job_entry(struct arena *, const struct role *);
/* Full canonical tree; defaults are left out, so decode(encode(j)) == j. */
struct text_node *job_encode(struct arena *, const struct job_spec *);
/* A job with every default in place, no roles. Dialects fill it. role_init the same for one role
 * (replicas and min are 1: whoever sets one sets both). */
struct job_spec *job_new(struct arena *);
void role_init(struct role *);
/* JSON Schema (draft 2020-12) of the native format, and the reference page doc/job.md, from the
 * field tables. */
struct text_node *job_schema(struct arena *);
void job_reference(struct buf *out);

/* Applies "roles.worker.replicas=2" (face.md --set) to a native tree before decoding. */
int job_tree_set(struct arena *, struct text_node *tree, const char *assignment, struct err *err);

#endif
