/* What people write in front of a program: variables, and programs that start another one. Those
 * that make no difference to a task are left out, variables become the job's, the rest stays. */
#include "cli/line/wrappers.h"

#include "base/mem.h"

#include <ctype.h>
#include <string.h>

enum fate { KEEP, LEAVE_OUT };

struct wrapper {
    const char *name;
    const char *verb;   /* its first word: conda run; or NULL */
    const char *valued; /* options with a value, without dashes */
    int operands;       /* words before the program: timeout 1h */
    enum fate fate;
    bool own_path; /* its programs come first in PATH */
    const char *why;
};
static const struct wrapper wrappers[] = {
    { "nohup", NULL, "", 0, LEAVE_OUT, false, "a task has no terminal that could hang up" },
    { "time", NULL, "f format o output", 0, LEAVE_OUT, false, "muster show has the times" },
    { "exec", NULL, "a", 0, LEAVE_OUT, false, NULL },
    { "command", NULL, "", 0, LEAVE_OUT, false, NULL },
    { "env", NULL, "u unset C chdir S split-string", 0, KEEP, false, NULL },
    { "nice", NULL, "n adjustment", 0, KEEP, false, NULL },
    { "ionice", NULL, "c class n classdata p pid", 0, KEEP, false, NULL },
    { "setsid", NULL, "", 0, KEEP, false, NULL },
    { "stdbuf", NULL, "i input o output e error", 0, KEEP, false, NULL },
    { "unbuffer", NULL, "", 0, KEEP, false, NULL },
    { "timeout", NULL, "s signal k kill-after", 1, KEEP, false, NULL },
    { "taskset", NULL, "", 1, KEEP, false, NULL },
    { "numactl", NULL, "N cpunodebind C physcpubind m membind i interleave p preferred l", 0, KEEP,
      false, NULL },
    { "poetry", "run", "C directory P project", 0, KEEP, true, NULL },
    { "pipenv", "run", "", 0, KEEP, true, NULL },
    { "pdm", "run", "p project", 0, KEEP, true, NULL },
    { "rye", "run", "", 0, KEEP, true, NULL },
    { "pixi", "run", "e environment manifest-path", 0, KEEP, true, NULL },
    { "uv", "run",
      "with with-editable with-requirements p python extra group env-file project directory package "
      "index default-index",
      0, KEEP, true, NULL },
    { "conda", "run", "n name p prefix cwd", 0, KEEP, true, NULL },
    { "mamba", "run", "n name p prefix cwd", 0, KEEP, true, NULL },
    { "micromamba", "run", "n name p prefix cwd", 0, KEEP, true, NULL },
};

static bool is_variable(const char *word)
{
    const char *at = word;
    if (!isalpha((unsigned char)*at) && *at != '_')
        return false;
    while (isalnum((unsigned char)*at) || *at == '_')
        at++;
    return *at == '=';
}

static bool is_listed(const char *list, const char *name, size_t len)
{
    for (const char *at = list; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        if (n == len && strncmp(at, name, n) == 0)
            return true;
        at += n;
    }
    return false;
}

/* Words of the wrapper at argv[0], its options and operands included; argc or more: no program
 * follows. */
static int count_words(const struct wrapper *w, int argc, char **argv)
{
    int at = w->verb ? 2 : 1;
    while (at < argc && argv[at][0] == '-' && argv[at][1]) {
        const char *name = argv[at] + strspn(argv[at], "-");
        if (strcmp(argv[at], "--") == 0)
            return at + 1 + w->operands;
        at += is_listed(w->valued, name, strlen(name)) ? 2 : 1;
    }
    return at + w->operands;
}

static const struct wrapper *find_wrapper(int argc, char **argv)
{
    const char *name = line_base_name(argv[0]);
    for (size_t i = 0; i < ARRAY_LEN(wrappers); i++)
        if (strcmp(wrappers[i].name, name) == 0 &&
            (!wrappers[i].verb || (argc > 1 && strcmp(argv[1], wrappers[i].verb) == 0)))
            return &wrappers[i];
    return NULL;
}

static void skip(struct line_reader *r, int n)
{
    r->argc -= n;
    r->argv += n;
}

static void take_variables(struct line_reader *r)
{
    int n = 0;
    while (n < r->argc && is_variable(r->argv[n]))
        n++;
    if (n == r->argc) /* nothing is started: an error of whoever runs it */
        return;
    for (int i = 0; i < n; i++) {
        size_t len = strcspn(r->argv[i], "=");
        pairs_set(&r->out->env, r->arena, arena_strndup(r->arena, r->argv[i], len),
                  r->argv[i] + len + 1);
    }
    skip(r, n);
}

void line_wrappers(struct line_reader *r)
{
    r->front.at = ARENA_ARRAY(r->arena, (size_t)r->argc, const char *);
    for (;;) {
        take_variables(r);
        const struct wrapper *w = find_wrapper(r->argc, r->argv);
        int n = w ? count_words(w, r->argc, r->argv) : r->argc;
        if (n >= r->argc)
            return;
        /* env without options is its variables; with options it stays, and they with it. */
        bool plain_env = strcmp(w->name, "env") == 0 && n == 1;
        if (w->why)
            line_say(r, "%s is left out: %s", w->name, w->why);
        for (int i = 0; w->fate == KEEP && !plain_env && i < n; i++)
            r->front.at[r->front.n++] = r->argv[i];
        r->own_path = r->own_path || w->own_path;
        skip(r, n);
        while (strcmp(w->name, "env") == 0 && !plain_env && r->argc > 1 &&
               is_variable(r->argv[0])) {
            r->front.at[r->front.n++] = r->argv[0];
            skip(r, 1);
        }
    }
}
