/* Lists in the values of flags: streams per rank, ranks, words to look for, signals. what: the flag
 * for messages. Errors are ERR_LATE (flags.h). */
#ifndef LAUNCH_FLAG_LISTS_H
#define LAUNCH_FLAG_LISTS_H

#include "base/arena.h"
#include "base/err.h"
#include "launch/settings.h"

uint8_t std_choice_of(const struct std_choice *, uint32_t local_rank);
/* "3", or "0:1,1:2" (a rank not named has 0). */
int std_choice_read(const char *text, const char *what, struct arena *, struct std_choice *,
                    struct err *);
/* "0,1,2"; an empty text is no list: *at stays NULL. */
int rank_list_read(const char *text, const char *what, struct arena *, const uint32_t **at,
                   size_t *n, struct err *);
/* "apple,orange", ",," is a comma; an empty text is no word. */
void filter_list_read(const char *text, struct arena *, struct words *);
/* "SIGTERM,SIGINT" as signals of the settings, none twice. Names that are no signal are left out,
 * as by torchrun, and given back. */
int signal_list_read(const char *text, const char *what, struct arena *, struct settings *,
                     struct words *unknown, struct err *);

#endif
