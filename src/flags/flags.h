/* Every flag of torchrun 2.13, of dlrover-run and of muster's own, as one table: parsing (both
 * spellings, "--k v" and "--k=v", abbreviations refused for dlrover-run and taken for torchrun when
 * unique, as argparse does), PET_* defaults, --help and the table of doc/launch.md come from it. */
#ifndef FLAGS_FLAGS_H
#define FLAGS_FLAGS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* By which name the launcher was called. */
enum launch_name { LAUNCH_MUSTER, LAUNCH_TORCHRUN, LAUNCH_DLROVER_RUN };

/* What torchrun finds wrong only after parsing: its exit code is 1 then, and here too. */
#define ERR_LATE ERR_SYSTEM

enum flag_fate { FLAG_HONOURED, FLAG_NO_EFFECT, FLAG_REFUSED };
/* Headings of --help. */
#define FLAG_GROUPS(X)                                                                             \
    X(NODES, "How many, and where")                                                                \
    X(MEETING, "How nodes meet")                                                                   \
    X(PROGRAM, "What a rank runs")                                                                 \
    X(RESTARTS, "Failures and restarts")                                                           \
    X(OUTPUT, "Output")                                                                            \
    X(CHECK, "Node check")                                                                         \
    X(OTHER, "Other")
enum flag_group {
#define FLAG_GROUP_ENUM(id, title) FLAG_##id,
    FLAG_GROUPS(FLAG_GROUP_ENUM)
#undef FLAG_GROUP_ENUM
        FLAG_GROUP_N
};

struct flag {
    const char *name; /* "nproc-per-node"; '-' and '_' are the same */
    char letter;
    bool takes_value;
    bool no_env;     /* no PET_* default: torchrun has none for it */
    bool env_of_all; /* PET_* counts under every name: a job's launcher settings say it so */
    enum flag_fate fate;
    enum flag_group group;
    unsigned names;       /* 1 << enum launch_name: under which names it exists */
    const char *fallback; /* default as text, or NULL */
    const char *arg, *help;
    const char *choices; /* "spawn fork forkserver", or NULL: any text */
    const char *why;     /* of no effect or refused; or what differs */
};
extern const struct flag flag_table[];
extern const unsigned flag_table_n;

const char *launch_name_word(enum launch_name); /* "torchrun" */

struct flags; /* values by name */
/* 1: help was asked for (*out is not set). Errors are ERR_INPUT. */
int flags_parse(struct arena *, enum launch_name, int argc, char **argv, struct flags **out,
                struct err *);
/* The same for a line that runs elsewhere: the environment here presets nothing. */
int flags_of_line(struct arena *, enum launch_name, int argc, char **argv, struct flags **out,
                  struct err *);
int flags_rest(const struct flags *); /* index of the script in argv; what follows belongs to it */
const char *flags_text(const struct flags *, const char *name); /* given, PET_*, fallback, NULL */
bool flags_on(const struct flags *, const char *name);
bool flags_given(const struct flags *, const char *name); /* on the line or by PET_* */
/* Given with the value that it has anyhow. */
bool flags_is_default(const struct flags *, const char *name);
/* How it was given, for messages: "--nnodes" or "PET_NNODES". */
const char *flags_source(const struct flags *, struct arena *, const char *name);
/* --nnodes as the fewest and all of them, 1 <= *least <= *all <= most; ERR_LATE. */
int flags_nnodes(const struct flags *, struct arena *, uint32_t most, uint32_t *least,
                 uint32_t *all, struct err *);
void flags_help(enum launch_name, struct buf *out);
void flags_page(struct buf *out); /* the table of doc/launch.md */

#endif
