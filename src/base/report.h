/* All problems of one document, in order, bounded; each with its place, what was found and what to
 * write. */
#ifndef BASE_REPORT_H
#define BASE_REPORT_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A note says what was done; nothing is wrong and nothing is lost. */
enum severity { SEVERITY_WARNING, SEVERITY_ERROR, SEVERITY_NOTE };

/* A place in a source text; line 0 means "no place". Columns count characters from 1. */
struct place {
    uint32_t line, col;
    uint32_t len;    /* bytes of the value found */
    uint32_t offset; /* byte offset in the source */
};

/* What may be decided by; the words are for people. */
enum problem_kind {
    PROBLEM_OTHER,
    PROBLEM_UNKNOWN_FIELD, /* of the map at path; field is its key */
    PROBLEM_MISSING,       /* of what must be there at path, and is not */
    PROBLEM_FORBIDDEN,     /* what the field at path asks for is not allowed */
};

struct problem {
    enum severity severity;
    enum problem_kind kind;
    struct place place;
    const char *path; /* "taskRoles[0].memoryMB"; "" for the document */
    const char *what; /* full sentence part: "taskRoles[0].memoryMB is 64, the least is 100" */
    const char *rest; /* what is said of the field at path without its name: "64, the least is 100";
                         NULL: `what` has another subject */
    const char *hint; /* what to write: "100 or more (MB for one task)"; "" when none */
    const char
        *fix; /* replacement text for the len bytes at offset, when it is certain; else NULL */
    const char *field;         /* whole, however long; NULL but for UNKNOWN_FIELD */
    struct remedies *remedies; /* what to type; NULL: nothing */
    bool of_job; /* path, what and hint speak of the job that was made of the document */
};

#define REPORT_MAX 100

struct report {
    struct arena *arena; /* texts live here; not owned */
    struct problem *at;  /* REPORT_MAX slots */
    size_t n;
    size_t errors, warnings, notes; /* all of them, also those past the bound */
    bool of_job;                    /* what is added from now on is of the job */
};

void report_init(struct report *, struct arena *);
/* Adds a problem and returns it so that the caller may set .fix; past the bound it is only counted
 * (a scratch slot is returned). */
struct problem *report_add(struct report *, enum severity, struct place, const char *path,
                           const char *what, const char *hint); /* texts are copied */
/* printf forms: what and hint as one format each would need two lists, so hint is added afterwards.
 */
struct problem *report_error(struct report *, struct place, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
struct problem *report_warn(struct report *, struct place, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
struct problem *report_note(struct report *, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void report_hint(struct report *, struct problem *, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* One more command to type; args as err_remedy_of() takes them, "" for none. */
void report_remedy(struct report *, struct problem *, enum remedy_id, const char *args);
/* What the problem says of its field, without the name of that. */
void report_rest(struct report *, struct problem *, const char *rest);
/* What is wrong is that nobody knows the field of that key in the map at the problem's path. */
void report_unknown(struct report *, struct problem *, const char *key);
bool report_ok(const struct report *); /* no errors */
/* The first error as an err (ERR_INPUT, "3 errors, first: ..."). Returns -1. */
int report_err(const struct report *, struct err *err);

struct buf;
/* Prints problems as face.md "Errors" shows them: file:line:col: what, the source line, the marker
 * with the hint. src may be NULL (no source lines). color: ANSI colours. */
void report_print(const struct report *, const char *file, const char *src, size_t len, bool color,
                  struct buf *out);

#endif
