/* What the readers of the launchers' lines share. */
#ifndef CLI_LINE_READER_H
#define CLI_LINE_READER_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "cli/line/line_job.h"

enum {
    LINE_RANKS_MOST = 1024, /* of one task */
    LINE_NODES_MOST = 16384,
    LINE_SAID_MAX = 48,
};

struct line_reader {
    struct arena *arena;
    const struct line_request *asked;
    struct words front; /* wrappers that stay in front of the launcher: conda run -n env */
    bool own_path;      /* one of them puts programs of its own first in PATH */
    int argc;           /* the line from the launcher on */
    char **argv;
    struct line_job *out;
};
/* A reader looks whether the line is one of its launcher's: 0 no, 1 yes, -1 yes and wrong. */
typedef int line_reader_fn(struct line_reader *, struct err *);
line_reader_fn line_torchrun, line_torch_launch, line_accelerate, line_deepspeed, line_horovodrun,
    line_mpirun, line_srun;

void line_say(struct line_reader *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Takes variables and wrappers (env, nohup, conda run ...) off the front of the line. */
void line_wrappers(struct line_reader *);

/* "torchrun" of /opt/bin/torchrun. */
const char *line_base_name(const char *word);
/* How many words name the program: 1 for NAME, 3 for python -m MODULE; 0 when it is another one.
 * *python: the interpreter to run its ranks by, or NULL for the task's own. */
int line_program(struct line_reader *, const char *name, const char *module, const char **python);

/* A number of an option. -1 with err names the option. */
int line_number(const char *option, const char *text, uint64_t least, uint64_t most, uint32_t *n,
                struct err *err);
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

/* ---- hosts ---- */

struct line_host {
    const char *name;
    uint32_t slots; /* 0: not said */
};
struct line_hosts {
    struct line_host *at;
    size_t n, cap;
};
/* "a:4,b:4"; a host named twice has the slots of both. Adds to *hosts. */
int line_hosts_list(struct line_reader *, const char *option, const char *text, struct line_hosts *,
                    struct err *err);
/* A file of lines HOST, HOST:4 or HOST slots=4. */
int line_hosts_file(struct line_reader *, const char *option, const char *path, struct line_hosts *,
                    struct err *err);

/* ---- options ---- */

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
