/* scontrol inside a job: what scripts ask of it is to expand and to write lists of hosts. The rest
 * belongs to a Slurm that is not there, and is refused with what to type instead. */
#include "step/step.h"

#include "base/hostlist.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_MAX = 8 << 20 };

static bool is_word(const char *said, const char *word, size_t least)
{
    size_t n = strlen(said);
    return n >= least && strncmp(word, said, n) == 0;
}

static int say(const struct err *err)
{
    fprintf(stderr, "scontrol: error: %s\n", err->what);
    if (*err->hint)
        fprintf(stderr, "scontrol: %s\n", err->hint);
    return 1;
}

static int show_names(struct arena *a, const char *list, struct err *err)
{
    const char **names;
    size_t n;
    if (hostlist_read(a, list, &names, &n, err) < 0)
        return say(err);
    for (size_t i = 0; i < n; i++)
        puts(names[i]);
    return 0;
}

static int show_list(struct arena *a, const char *list, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(LIST_MAX);
    const char **names;
    size_t n;
    if (hostlist_read(a, list, &names, &n, err) < 0)
        return say(err);
    hostlist_write(&out, names, n);
    puts(buf_str(&out));
    return 0;
}

static int refuse(struct err *err, int argc, char **argv)
{
    err_set(err, ERR_CANNOT, "\"%.60s%s%.60s\" is not known inside a job of muster", argv[1],
            argc > 2 ? " " : "", argc > 2 ? argv[2] : "");
    err_hint(err, "hostnames [LIST] and hostlist NAMES are what can be shown here");
    return say(err);
}

int scontrol_main(int argc, char **argv)
{
    struct arena *a = arena_create();
    struct err err = { .code = ERR_NONE };
    const char *own = getenv("SLURM_JOB_NODELIST");
    int code;
    if (argc > 1 && strcmp(argv[1], "-o") == 0) {
        argv++;
        argc--;
    }
    if (argc < 2) {
        err_set(&err, ERR_INPUT, "a command is needed");
        err_hint(&err, "scontrol show hostnames");
        code = say(&err);
    } else if (argc > 2 && is_word(argv[1], "show", 2) && is_word(argv[2], "hostnames", 5)) {
        code = show_names(a, argc > 3 ? argv[3] : own ? own : "", &err);
    } else if (argc > 3 && is_word(argv[1], "show", 2) &&
               (is_word(argv[2], "hostlist", 5) || is_word(argv[2], "hostlistsorted", 9))) {
        code = show_list(a, argv[3], &err);
    } else {
        code = refuse(&err, argc, argv);
    }
    arena_destroy(a);
    return fflush(stdout) != 0 ? 1 : code;
}
