/* Names in a job that only this server can explain: what its catalogue declares. A name that it
 * does not know is refused with one that is near. */
#ifndef SOURCE_RESOLVE_H
#define SOURCE_RESOLVE_H

#include "base/report.h"
#include "job/catalogue.h"
#include "job/job.h"

/* Workspace, queue, data sets, code source, image labels: unknown ones are refused in report with
 * the nearest known one; code sources and image labels become what they stand for. catalogued: in
 * the job's dialect workspaces and images are names of the catalogue, too. 0, or -1. */
int resolve_names(const struct catalogue *, bool catalogued, struct job_spec *, struct report *);
/* Quotas and virtual clusters are queues: the one that jobs of the queue ("" or NULL: the default
 * one) take from. NULL: none is called that. */
const struct entry *resolve_queue(const struct catalogue *, const char *queue);
/* The data set of a URI "dataset:ID" or "dataset:ID:VERSION". NULL: none is called that; id (in
 * arena) is what to say. */
const struct entry *resolve_dataset(const struct catalogue *, struct arena *, const char *uri,
                                    const char **id);

#endif
