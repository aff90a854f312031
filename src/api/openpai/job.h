/* The job that a request is about, in the words of the API. Private to api/openpai/. */
#ifndef API_OPENPAI_JOB_H
#define API_OPENPAI_JOB_H

#include "answer/jobs.h"
#include "api/openpai/request.h"
#include "api/openpai/writer.h"
#include "documents/documents.h"

/* Who reads: the one who asks, or anybody when reading is open. */
const struct identity *pai_reader(const struct pai *);
/* Finds user~job of the path (version 1: user and job) that may be read, into p->id, user, job,
 * frame. false: answered. */
bool pai_find_job(struct pai *);
/* The same, and one's own to command: `what` for the refusal, "remove". */
bool pai_own_job(struct pai *, const char *what);
const struct job_view *pai_job_view(struct pai *, unsigned parts); /* NULL: answered */
const char *pai_job_word(unsigned version, const struct listed_job *);
const char *pai_sub_state(const struct listed_job *);
const char *pai_task_word(enum task_state);
const char *pai_attempt_word(enum attempt_state);
const char *pai_priority(uint64_t priority); /* "prod"; NULL: none of the classes */
const char *pai_debug_id(struct arena *, const char *frame);
int64_t pai_stop_code(unsigned version, bool job);
/* Tags of jobs: all of them, or of one. */
void pai_tags_load(const struct pai *, const char *job, struct document_list *);
/* Those of the job with this id, in arena. */
struct words pai_tags_of(struct arena *, const struct document_list *, const char *id);
/* Members that list and detail have in common. */
void pai_write_status(struct pai_writer *, unsigned version, const struct listed_job *);

#endif
