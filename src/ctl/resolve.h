/* Names in a job that only this server can explain: its catalogue, its secrets. */
#ifndef CTL_RESOLVE_H
#define CTL_RESOLVE_H

#include "base/report.h"
#include "dialect/dialect.h"
#include "job/catalogue.h"

struct ctl;

/* Workspace, queue, data sets, code source, image labels: unknown ones are refused in report with
 * the nearest known one; code sources and image labels become what they stand for. 0, or -1. */
int resolve_names(const struct catalogue *, const struct dialect *, struct job_spec *,
                  struct report *);
/* Quotas and virtual clusters are queues: the one that jobs of the queue ("" or NULL: the default
 * one) take from. NULL: none is called that. */
const struct entry *resolve_queue(const struct catalogue *, const char *queue);
/* The data set of a URI "dataset:ID" or "dataset:ID:VERSION". NULL: none is called that; id (in
 * arena) is what to say. */
const struct entry *resolve_dataset(const struct catalogue *, struct arena *, const char *uri,
                                    const char **id);
/* Its secrets: those that are not there for its owner are refused in report, with names that are
 * near (secrets.c). 0, or -1. */
int resolve_secrets(struct ctl *, const char *owner, const struct job_spec *, struct report *);

#endif
