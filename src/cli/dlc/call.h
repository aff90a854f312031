/* One call of `dlc`: its verb, and the flags as they were written. Internal to this folder. */
#ifndef CLI_DLC_CALL_H
#define CLI_DLC_CALL_H

#include "cli/cmd.h"

struct dlc_call {
    struct cli *cli;
    struct text_node *flags;  /* a map of texts: long names without "--" */
    struct text_node *config; /* of ~/.dlc/config and the global flags over it */
    bool configured;          /* some of those flags were given */
    int argc;                 /* operands, those that named the verb not counted */
    char **argv;
};

/* A flag's text, absent when it was not given. */
const char *dlc_flag(const struct dlc_call *, const char *name, const char *absent);
bool dlc_flag_on(const struct dlc_call *, const char *name);
/* A number of min .. max, absent when it was not given; -1 with err. */
int dlc_flag_number(const struct dlc_call *, const char *name, uint64_t max, uint64_t *value,
                    struct err *err);

#endif
