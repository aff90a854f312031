/* One reading of a launcher's line: what it is made of, and what all readers do alike. */
#ifndef CLI_LINE_READER_H
#define CLI_LINE_READER_H

#include "base/arena.h"
#include "base/err.h"
#include "cli/line/line_job.h"

enum { LINE_SAID_MAX = 48 };

struct line_reader {
    struct arena *arena;
    const struct line_request *asked;
    struct words front; /* wrappers that stay in front of the launcher: conda run -n env */
    bool own_path;      /* one of them puts programs of its own first in PATH */
    int argc;           /* the line from the launcher on */
    char **argv;
    struct line_job *out;
    /* For a launcher that starts the line of another one: line_read(). */
    int (*read)(struct arena *, int argc, char **argv, const struct line_request *,
                struct line_job *out, struct err *err);
};
/* A reader looks whether the line is one of its launcher's: 0 no, 1 yes, -1 yes and wrong. */
typedef int line_reader_fn(struct line_reader *, struct err *);

void line_say(struct line_reader *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "torchrun" of /opt/bin/torchrun. */
const char *line_base_name(const char *word);
/* How many words name the program: 1 for NAME, 3 for python -m MODULE; 0 when it is another one.
 * *python: the interpreter to run its ranks by, or NULL for the task's own. */
int line_program(struct line_reader *, const char *name, const char *module, const char **python);

/* Devices or cores asked for beside the line, when they are a whole number; else 0. */
uint32_t line_whole(const char *text);
/* out->argv: what stays in front, then n words. */
void line_keep(struct line_reader *, const char *const *words, size_t n);
/* The same as shell text in out->run: words[i] as it is when it starts with LINE_RAW, else quoted.
 */
#define LINE_RAW '\001'
void line_keep_shell(struct line_reader *, const char *before, const struct words *words);
/* out->program: the words from `at` on. */
void line_starts(struct line_reader *, int at);
/* Sets the shape: nodes tasks of so many ranks. -1 when --replicas says another number. */
int line_shape(struct line_reader *, uint32_t nodes, uint32_t ranks, struct err *err);

#endif
