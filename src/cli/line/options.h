/* The options of a launcher by its table, walked along a line. */
#ifndef CLI_LINE_OPTIONS_H
#define CLI_LINE_OPTIONS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One or several names of an option, without dashes ('-' and '_' are the same), what it means to
 * its reader (0: it stays on the line), and how many words follow it. */
struct line_option {
    const char *names;
    unsigned values;
    int means;
};
enum line_unknown_option { LINE_UNKNOWN_REFUSED, LINE_UNKNOWN_FLAG, LINE_UNKNOWN_VALUE };
struct line_options {
    const char *launcher; /* for messages */
    const struct line_option *rows;
    size_t n;
    enum line_unknown_option
        unknown; /* an option that is in no row: refused, or with so many values */
    bool glued;  /* -n8 is -n 8 */
};
struct line_walk {
    const struct line_options *of;
    int argc, at; /* the next word */
    char **argv;
};
struct line_match {
    int means;
    const char *name, *value; /* value: of the first word, or NULL */
    int first, n;             /* its words in argv */
};
/* 1: *out is the next option; 0: the program begins at walk->at, or the line ends; -1: err. */
int line_next(struct line_walk *, struct line_match *out, struct err *err);

#endif
