/* A sentence for people that may name another job. Its text names nobody: where the other job
 * stands it says "another user's job", and beside the text are that job's number and what it is
 * called there. Whoever may read that job is told the name (account/redact.h); a text that is
 * handed on without a look at rights tells nothing. Records keep both parts. */
#ifndef JOB_SENTENCE_H
#define JOB_SENTENCE_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

#define SENTENCE_MAX  320 /* bytes of the text, with its end */
#define SENTENCE_NAME 160 /* of what a job is called in it */
#define HIDDEN_JOB    "another user's job"
#define UNKNOWN_JOB   "a job that is gone"

struct named_job {
    uint64_t number;    /* 0: the sentence names none */
    const char *called; /* "job 12 (prep)" */
    uint32_t at, len;   /* the bytes of the text that stand for it */
};
struct sentence {
    const char *text; /* NULL: nothing is said */
    struct named_job named;
};

/* The text with these words in place of the job that it names; in arena, or the text itself when it
 * names none. called NULL: the job's name, for who may read it. */
const char *sentence_with(struct arena *, const struct sentence *, const char *called);
bool sentence_same(const struct sentence *, const struct sentence *);
struct sentence sentence_copy(struct arena *, const struct sentence *);

/* One that is being made. What is too long is cut; a name that does not fit is left out whole. */
struct draft {
    char text[SENTENCE_MAX], called[SENTENCE_NAME];
    uint64_t number;
    uint32_t len, at;
};
void draft_init(struct draft *);
void draft_add(struct draft *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The one job that it names; a second one stays hidden. */
void draft_name(struct draft *, uint64_t number, const char *called);
void draft_sentence(struct draft *, const struct sentence *); /* with the job that it names */
struct sentence draft_said(const struct draft *);             /* as long as the draft is there */

/* What records keep beside the text: {"job":12,"at":10,"len":18,"called":"job 12 (prep)"}, or ""
 * when no job is named; allocated. */
char *named_job_pack(const struct named_job *);
/* Back; in arena. What makes no sense for that text names nobody. */
struct named_job named_job_unpack(struct arena *, const char *text, const char *packed);

#endif
