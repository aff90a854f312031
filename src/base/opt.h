/* Command-line options from tables: parsing, help and completion come from the same rows. */
#ifndef BASE_OPT_H
#define BASE_OPT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum opt_type {
    OPT_FLAG,     /* bool */
    OPT_STR,      /* const char * (points into argv) */
    OPT_U64,      /* uint64_t */
    OPT_DURATION, /* uint64_t milliseconds */
    OPT_LIST,     /* struct opt_list: may be repeated */
};
struct opt_list {
    const char **at; /* malloc'ed by opt_parse, freed by opt_fini */
    size_t n;
};
struct opt {
    const char *name; /* "follow" -> --follow, also --no-follow for flags is NOT accepted */
    char letter;      /* 'f' or 0 */
    enum opt_type type;
    size_t offset;   /* in the struct of options */
    const char *arg; /* name of the value in help: "N" */
    const char *help;
    const char *also; /* other names that mean the same, space-separated: "partition"; or NULL */
};
#define OPT_END                                                                                    \
    {                                                                                              \
        .name = NULL                                                                               \
    }

enum opt_flags {
    OPT_STOP_AT_OPERAND =
        1, /* the first operand ends options (`run -- cmd`, `exec`); "--" always does */
    OPT_STOP_AT_SCRIPT =
        2, /* an operand that is a script (script_is_name) does: what follows is its own */
};
/* argv begins at the first argument (no program name). With OPT_STOP_AT_OPERAND what follows the
 * first operand is kept as it is,
 * "--" too; a "--" before it is dropped. */
/* Fills into (a struct of options, preset by the caller) and reorders argv so that operands are
 * first: *argc becomes their number. Accepts --k v, --k=v, -kv, -k v, grouped flags. Unknown:
 * ERR_INPUT with the nearest name. */
int opt_parse(const struct opt *opts, void *into, int *argc, char **argv, unsigned flags,
              struct err *err);
void opt_fini(const struct opt *opts, void *into);
void opt_help(const struct opt *opts, struct buf *out); /* aligned rows */

#endif
