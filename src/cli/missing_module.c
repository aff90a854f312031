/* Python says what it lacks in words of its own ("ModuleNotFoundError: No module named 'torch'"),
 * the same in every release and language: the only place a program's death is told by them. Every
 * Python that is found is asked in a process of its own, all at once, in no directory of the user's
 * (a folder of that name there is no module). */
#include "cli/missing_module.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/script_name.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/python_choice.h"
#include "cli/summary.h"
#include "job/ending.h"
#include "job/runtime.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOUND_MAX  32
#define SHOWN_MAX  3
#define LEVELS_UP  4
#define DEADLINE_S 5
#define LIST_MAX   65536
#define MARK       "No module named "

const char *missing_module_name(struct arena *a, const char *output)
{
    const char *last = NULL;
    for (const char *at = output; (at = strstr(at, MARK)); at += strlen(MARK))
        last = at + strlen(MARK);
    if (!last)
        return NULL;
    last += *last == '\'';
    size_t n = 0;
    while (isalnum((unsigned char)last[n]) || last[n] == '_')
        n++;
    return n > 0 && n < 128 ? arena_strndup(a, last, n) : NULL;
}

/* ---- the Pythons of this machine ---- */

struct python_list {
    struct arena *arena;
    const char * not ; /* the one the job had */
    const char *at[FOUND_MAX];
    bool has[FOUND_MAX];
    size_t n;
};

static void add(struct python_list *f, const char *path)
{
    if (!path || f->n == FOUND_MAX || access(path, X_OK) != 0 || strcmp(path, f->not ) == 0)
        return;
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->at[i], path) == 0)
            return;
    f->at[f->n++] = path;
}

static void add_dir(struct python_list *f, const char *dir)
{
    if (dir && dir[0] == '/')
        add(f, python_of_dir(f->arena, dir));
}

/* Environments of a project lie in its directory, which is this one or above. */
static void add_project(struct python_list *f, const char *dir)
{
    static const char *const names[] = { ".venv", "venv", "env" };
    char *at = dir && dir[0] == '/' ? arena_strdup(f->arena, dir) : NULL;
    for (int up = 0; at && *at && up < LEVELS_UP; up++) {
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
            add_dir(f, arena_printf(f->arena, "%s/%s", at, names[i]));
        *strrchr(at, '/') = '\0';
    }
}

static void add_path(struct python_list *f)
{
    const char *path = getenv("PATH");
    for (const char *at = path ? path : ""; *at; at += *at == ':') {
        int n = (int)strcspn(at, ":");
        if (*at == '/') {
            add(f, arena_printf(f->arena, "%.*s/python3", n, at));
            add(f, arena_printf(f->arena, "%.*s/python", n, at));
            for (unsigned minor = 8; minor < 20; minor++)
                add(f, arena_printf(f->arena, "%.*s/python3.%u", n, at, minor));
        }
        at += n;
    }
}

/* Conda keeps a list of its environments, pyenv a folder of its versions. */
static void add_home(struct python_list *f)
{
    const char *home = getenv("HOME");
    AUTO_FREE char *list = NULL;
    struct err err;
    size_t len;
    if (!home || home[0] != '/')
        return;
    if (file_read(arena_printf(f->arena, "%s/.conda/environments.txt", home), LIST_MAX, &list, &len,
                  &err) == 0)
        for (char *at = list, *next; at; at = next) {
            next = strchr(at, '\n');
            if (next)
                *next++ = '\0';
            add_dir(f, arena_strdup(f->arena, at));
        }
    const char *versions = arena_printf(f->arena, "%s/.pyenv/versions", home);
    DIR *dir = opendir(versions);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.')
            add_dir(f, arena_printf(f->arena, "%s/%s", versions, e->d_name));
    if (dir)
        closedir(dir);
}

/* Beside the scripts of the command that was typed. */
static void add_scripts(struct python_list *f, const struct cli *cli)
{
    char real[PATH_MAX];
    for (int i = 0; i < cli->n_words; i++)
        if (script_is_name(cli->words[i]) && realpath(cli->words[i], real)) {
            *strrchr(real, '/') = '\0';
            add_project(f, real);
        }
}

static void find_all(struct python_list *f, const struct cli *cli, const struct text_node *job)
{
    char here[4096];
    add_dir(f, getenv("VIRTUAL_ENV"));
    add_dir(f, getenv("CONDA_PREFIX"));
    add_project(f, getcwd(here, sizeof here));
    add_scripts(f, cli);
    add_project(f, answer_text(job, "work_dir", NULL));
    add_project(f, answer_text(job, "code_dir", NULL));
    add_project(f, answer_text(job, "file", NULL));
    add_path(f);
    add_home(f);
}

/* ---- asking them ---- */

_Noreturn static void be_asked(const char *python, const char *module)
{
    static const char program[] = "import importlib.util as u, sys\n"
                                  "sys.exit(0 if u.find_spec(sys.argv[1]) else 3)";
    int null = open("/dev/null", O_RDWR);
    for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    unsetenv("PYTHONPATH");
    unsetenv("PYTHONHOME");
    signal(SIGALRM, SIG_DFL);
    alarm(DEADLINE_S); /* stays over exec */
    if (chdir("/") == 0)
        execl(python, python, "-c", program, module, (char *)NULL);
    _exit(127);
}

static size_t ask_all(struct python_list *f, const char *module)
{
    pid_t pids[FOUND_MAX];
    size_t have = 0;
    fflush(NULL);
    for (size_t i = 0; i < f->n; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            be_asked(f->at[i], module);
    }
    for (size_t i = 0; i < f->n; i++) {
        int status = -1;
        f->has[i] = pids[i] > 0 && waitpid(pids[i], &status, 0) == pids[i] && status == 0;
        have += f->has[i];
    }
    return have;
}

/* ---- what is said ---- */

/* As it would be typed here. */
static const char *short_path(const char *path)
{
    char here[4096];
    size_t n = getcwd(here, sizeof here) ? strlen(here) : 0;
    return n > 1 && strncmp(path, here, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

static void put_line(const struct cli *cli, const char *python, struct buf *out)
{
    buf_puts(out, "  with it      ");
    remedy_put_line(out, REMEDY_WITH_PYTHON, python, &cli->refused);
    buf_putc(out, '\n');
}

static const char *from_words(const char *from)
{
    static const struct {
        const char *from, *words;
    } rows[] = { { "option", "named at submission" }, { "job", "named by the job" },
                 { "server", "the server's" },        { "PATH", "the first in PATH" },
                 { "VIRTUAL_ENV", "of VIRTUAL_ENV" }, { "CONDA_PREFIX", "of CONDA_PREFIX" } };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].from, from) == 0)
            return rows[i].words;
    return from;
}

/* Where it is found, and the line to type; have: in how many. */
static void put_found(const struct cli *cli, const struct python_list *f, size_t have,
                      struct buf *out)
{
    const char *best = NULL;
    size_t shown = 0;
    buf_puts(out, "  has it       ");
    for (size_t i = 0; i < f->n && shown < SHOWN_MAX; i++) {
        if (!f->has[i])
            continue;
        best = best ? best : short_path(f->at[i]);
        buf_addf(out, "%s%s", shown++ ? ", " : "", f->at[i]);
    }
    buf_addf(out, have > shown ? " and %zu more\n" : "\n", have - shown);
    put_line(cli, best, out);
}

/* What the first task that failed would have run, where that is a bare name of this machine and
 * could not be started: it left neither a code nor a signal, and nothing else kept it from that.
 * NULL: that is not what happened. */
static const char *missing_program(struct cli *cli, const struct text_node *job,
                                   const struct text_node *first, const char *task)
{
    struct arena *a = cli->arena;
    struct err err;
    if (answer_has(first, "exit_code") || answer_has(first, "signal") ||
        strcmp(text_word(first, "by"), end_origin_word(BY_ITSELF)) != 0 ||
        strcmp(answer_text(job, "runtime", runtime_word(RUNTIME_HOST)),
               runtime_word(RUNTIME_HOST)) != 0)
        return NULL;
    const char *path =
        arena_printf(a, "/v1/jobs/%llu?spec=1", (unsigned long long)text_number(job, "number"));
    const struct text_node *whole = call_get(cli, path, &err);
    const struct text_node *spec = whole ? text_get(whole, "spec") : NULL;
    const struct text_node *roles = spec ? text_get(spec, "roles") : NULL;
    const char *role = arena_strndup(a, task, strcspn(task, "/"));
    const struct text_node *own = roles ? text_get(roles, role) : spec;
    const struct text_node *argv = own ? text_get(own, "argv") : NULL;
    const char *name = argv && argv->first ? argv->first->str : NULL;
    return name && !strchr(name, '/') ? name : NULL;
}

/* Programs that packages bring (accelerate, ray) lie beside the Python of their environment. */
static void print_program(struct cli *cli, const struct text_node *job, const char *program,
                          struct buf *out)
{
    struct python_list *f = ARENA_NEW(cli->arena, struct python_list);
    size_t have = 0;
    f->arena = cli->arena;
    f->not = text_word(job, "python");
    find_all(f, cli, job);
    for (size_t i = 0; i < f->n; i++) {
        const char *dir =
            arena_strndup(f->arena, f->at[i], (size_t)(strrchr(f->at[i], '/') - f->at[i]));
        f->has[i] = access(arena_printf(f->arena, "%s/%s", dir, program), X_OK) == 0;
        have += f->has[i];
    }
    if (have)
        put_found(cli, f, have, out);
}

void missing_module_print(struct cli *cli, const struct text_node *job, struct buf *out)
{
    const char *task = "";
    const struct text_node *first = summary_first_failure(job, &task);
    const char *had = answer_text(job, "python", NULL);
    const char *module = first ? missing_module_name(cli->arena, text_word(first, "tail")) : NULL;
    const char *program = first && !module ? missing_program(cli, job, first, task) : NULL;
    if (program && python_is_local(cli))
        print_program(cli, job, program, out);
    if (!module || !had)
        return;
    buf_addf(out, "  its Python   %s (%s) has no module %s\n", had,
             from_words(answer_text(job, "python_from", "server")), module);
    if (!python_is_local(cli))
        return;
    struct python_list *f = ARENA_NEW(cli->arena, struct python_list);
    f->arena = cli->arena;
    f->not = had;
    find_all(f, cli, job);
    size_t have = ask_all(f, module);
    if (have)
        put_found(cli, f, have, out);
    else
        buf_addf(out,
                 "  others here  none of %zu has it: install it in an environment, then "
                 "--python DIR\n",
                 f->n);
}
