/* Credentials of image registries: taken out of what was submitted, kept as a secret of their own,
 * and handed to the agents that pull. They are in no row but the sealed one, in no document and in
 * no recording. */
#ifndef SOURCE_REGISTRY_AUTH_H
#define SOURCE_REGISTRY_AUTH_H

#include "base/err.h"
#include "job/job.h"
#include "store/store.h"

/* What a job brings: the content of its file (NULL: none; JSON as docker login writes it, or three
 * lines: registry, user, password, as OpenPAI has it) and logins that stood in its text. *json is
 * one document of docker's form, malloc'ed, which the caller wipes; NULL: there are none. ERR_INPUT
 * says what is wrong with the file, and nothing of what is in it. */
int registry_auth_make(const char *file, size_t len, const struct inputs *, char **json,
                       struct err *);
/* Under the id of the job, or of its array. */
int registry_auth_keep(struct store *, const char *owner, uint64_t job, const char *json,
                       struct err *);
/* In arena; NULL: none were kept, or they cannot be read (a line of the log says so). */
const char *registry_auth_find(struct store *, struct arena *, const struct job_row *);

#endif
