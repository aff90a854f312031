/* OpenPAI's job configuration v1 (JSON, releases v0.1 to v1.0) and protocol version 2 (YAML, v0.13
 * to v1.8), and the environment, exit codes and state words that their tasks and users rely on.
 * What is honoured and what differs: doc/dialect-openpai.md. */
#ifndef DIALECT_OPENPAI_OPENPAI_H
#define DIALECT_OPENPAI_OPENPAI_H

#include "dialect/dialect.h"

extern const struct dialect openpai_v1, openpai_v2;
extern const struct convention openpai_v1_convention, openpai_v2_convention;

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
/* All rows, ascending by code; those of v1.x have no causer. */
const struct openpai_exit *openpai_exits(size_t *n);
const struct openpai_exit *openpai_v2_exits(size_t *n);

struct buf;
/* The field tables of version 2 on the page, in Markdown, from the rows that decode. */
void openpai_v2_reference(struct buf *out);

#endif
