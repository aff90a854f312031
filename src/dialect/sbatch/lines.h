/* The words of a script's option lines. Internal to this folder. */
#ifndef DIALECT_SBATCH_LINES_H
#define DIALECT_SBATCH_LINES_H

#include "base/report.h"

#include <stdbool.h>

#define SBATCH_WORDS_MAX 4096u

struct sb_word { /* of an option line, quotes and escapes taken off */
    const char *text;
    struct place place;
    bool part; /* no word: the next component begins here */
};
struct sb_words {
    struct sb_word *at;
    size_t n;
};
/* The option lines of a script up to its first command. What Slurm refuses is an error in report;
 * lines that look like options and are none are warned. */
struct sb_words sb_lines(struct arena *, const char *text, struct report *);

#endif
