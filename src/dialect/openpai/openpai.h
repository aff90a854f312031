/* OpenPAI job configuration v1 (JSON, releases v0.1 to v1.0) and the environment, exit codes and
 * state words that its tasks and users rely on. What is honoured and what differs:
 * doc/dialect-openpai.md. */
#ifndef DIALECT_OPENPAI_OPENPAI_H
#define DIALECT_OPENPAI_OPENPAI_H

#include "dialect/dialect.h"

extern const struct dialect openpai_v1;
extern const struct convention openpai_v1_convention;

/* An environment value that is exactly this text is replaced by the agent with the task's working
 * directory, which only it knows. */
#define OPENPAI_WORK_DIR "@WORK_DIR@"

/* A row of the exit specification. */
struct openpai_exit {
    int code;
    const char *phrase;
    const char *causer, *type; /* as OpenPAI writes them: "PAI_OS", "PLATFORM_FAILURE" */
    enum end_class class;      /* says the reaction */
    const char *text;          /* one sentence for people */
};
/* The row of code; codes that are not listed get the row of 256 (above 0) or -8000. Never NULL. */
const struct openpai_exit *openpai_exit_find(int code);
/* All rows, ascending by code. */
const struct openpai_exit *openpai_exits(size_t *n);

#endif
