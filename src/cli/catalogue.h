/* Declarations of the server's catalogue on the command line. */
#ifndef CLI_CATALOGUE_H
#define CLI_CATALOGUE_H

#include "cli/cmd.h"

/* Does the text declare names (kind: dataset ...), and is no job? */
bool catalogue_text(struct cli *, const char *text, size_t len);
/* Sends it and says what became of each. file: for messages. 0 or -1. */
int catalogue_apply(struct cli *, const char *file, const char *text, size_t len, struct err *err);
/* "dataset/d-digits": where that one is; false when the word is none of these. */
bool catalogue_path(const char *word, struct buf *path);

#endif
