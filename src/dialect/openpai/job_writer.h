/* What both writers need: warnings about what OpenPAI has no words for, and shell text. Internal to
 * this folder. */
#ifndef DIALECT_OPENPAI_JOB_WRITER_H
#define DIALECT_OPENPAI_JOB_WRITER_H

#include "dialect/dialect.h"

struct buf;

struct job_writer {
    struct arena *arena;
    const struct job_spec *job;
    struct text_node *out;
    struct report *report;
    const char *format; /* "openpai v1" */
};

/* Canonical fields that the format has words for, by the object they are in; each ends with NULL.
 * No list: the object is not looked into. */
struct writer_words {
    const char *const *job, *const *role, *const *resource, *const *inputs, *const *code,
                                                                                *const *health;
};
/* A warning "PATH cannot be said ..." for every field of the job that is not among them. */
void writer_unsaid(struct job_writer *, const struct writer_words *);
/* A warning "PATH ...": something is lost. */
void writer_nearly(struct job_writer *, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A note "PATH ...": the same is meant. */
void writer_alike(struct job_writer *, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The job with role names of letters, digits and what is in more, each once; digits: may one begin
 * with a digit? A note for each that changes. */
struct job_spec *writer_shape(struct job_writer *, const char *more, bool digits);
/* name with what is neither a letter, a digit nor in more written as _, and a note then. */
const char *writer_name(struct job_writer *, const char *name, const char *more, const char *path);
/* value in units, rounded up, with a warning when it is not exact or below least. */
uint64_t writer_units(struct job_writer *, uint64_t value, uint64_t unit, uint64_t least,
                      const char *path);

void writer_export(struct buf *, const struct pair *env); /* "export NAME='value'" */
/* run as it is, argv quoted, a Python entry point called. */
void writer_program(struct buf *, const struct role *);
/* Notes for a program that is written as shell text, or with its variables in front. */
void writer_command(struct job_writer *, const struct role *, const char *path, bool variables);
/* The rules give the same ends the same retries. */
bool writer_same_retry(const struct retry *, const struct retry *);

#endif
