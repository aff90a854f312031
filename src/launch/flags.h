/* Every flag of torchrun 2.13, of dlrover-run and of muster's own, as one table: parsing (both
 * spellings, "--k v" and "--k=v", abbreviations refused for dlrover-run and taken for torchrun when
 * unique, as argparse does), PET_* defaults, --help and the table of doc/launch.md come from it. */
#ifndef LAUNCH_FLAGS_H
#define LAUNCH_FLAGS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "launch/launch.h"

#include <stdbool.h>

enum flag_fate { FLAG_HONOURED, FLAG_NO_EFFECT, FLAG_REFUSED };
struct flag {
    const char *name; /* "nproc-per-node"; '-' and '_' are the same */
    char letter;
    bool takes_value;
    enum flag_fate fate;
    unsigned names;       /* 1 << enum launch_name: under which names it exists */
    const char *fallback; /* default as text, or NULL */
    const char *arg, *help;
    const char *why; /* of no effect or refused; or what differs */
};
extern const struct flag flag_table[];
extern const unsigned flag_table_n;

struct flags; /* values by name */
/* rest: index of the script in argv; what follows belongs to it. */
int flags_parse(struct arena *, enum launch_name, int argc, char **argv, struct flags **, int *rest,
                struct err *);
const char *flags_text(const struct flags *, const char *name); /* given, PET_*, fallback, NULL */
bool flags_on(const struct flags *, const char *name);
bool flags_given(const struct flags *, const char *name); /* on the line or by PET_* */
void flags_help(enum launch_name, struct buf *out);
void flags_page(struct buf *out); /* the table of doc/launch.md */

#endif
