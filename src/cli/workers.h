/* One process for each of several machines, some at a time: a machine that hangs holds up nobody,
 * and each has its own result. On a terminal one line says what goes on. */
#ifndef CLI_WORKERS_H
#define CLI_WORKERS_H

#include "base/pairs.h"
#include "cli/cmd.h"

#define WORKERS_AT_ONCE 8u

/* In the worker. Texts become one line. */
struct worker_report;
void worker_at(struct worker_report *, const char *doing); /* "copying muster-node" */
void worker_set(struct worker_report *, const char *key, const char *value);
void worker_note(struct worker_report *, const char *text); /* for people, beside the result */

struct worker_result {
    const char *name;
    bool ok;
    struct pairs values;          /* what worker_set() said, in order */
    struct pairs notes;           /* texts are names; values "" */
    const char *what, *hint, *at; /* of a failure; what it was doing */
};
struct work_list {
    struct cli *cli;
    const char *const *names;
    size_t n;
    /* In a process of its own; -1 with err: it failed. */
    int (*work)(void *arg, size_t i, struct worker_report *, struct err *err);
    void (*done)(void *arg, const struct worker_result *); /* here, as they end */
    void *arg;
};
/* How many failed; -1 with err: not all were tried. */
int workers_run(const struct work_list *, struct err *err);

#endif
