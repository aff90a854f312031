/* Texts made of the verb and option tables: overview, man page, shell completions. */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

#include "cli/cmd.h"

void manual_overview(const struct cli *, struct buf *out);
void manual_man(const struct cli *, struct buf *out);                          /* roff, section 1 */
void manual_man_verb(const struct cli *, const struct cmd *, struct buf *out); /* of one verb */
/* shell: "bash", "zsh" or "fish"; false when it is none of them. */
bool manual_completion(const struct cli *, const char *shell, struct buf *out);

#endif
