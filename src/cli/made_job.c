/* The native tree of a command. Amounts stay as written: the server reads and checks them as it
 * does in a file. Pure. */
#include "cli/made_job.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/shell_word.h"
#include "cli/line/line.h"

#include <ctype.h>
#include <string.h>

#define NAME_MAX_BYTES 60
#define ROLE           "worker" /* of a job whose role has no name */

/* python -m pkg.train, bash run.sh: the name is in the first thing that is no interpreter and no
 * option. */
static const char *telling(int argc, const char *const *argv)
{
    static const char *const runners[] = { "python",   "python3", "bash", "sh",
                                           "torchrun", "env",     "nice", "time" };
    for (int i = 0; i < argc; i++) {
        const char *slash = strrchr(argv[i], '/'), *word = slash ? slash + 1 : argv[i];
        bool runner = false;
        for (size_t k = 0; k < ARRAY_LEN(runners); k++)
            runner = runner || strcmp(word, runners[k]) == 0;
        if (strcmp(argv[i], "-c") == 0)
            break;
        if (!runner && word[0] != '-' && *word)
            return word;
    }
    if (argc == 0)
        return "";
    const char *slash = strrchr(argv[0], '/');
    return slash ? slash + 1 : argv[0];
}

const char *made_job_name(struct arena *a, int argc, const char *const *argv)
{
    const char *word = telling(argc, argv);
    word += strspn(word, ".-");
    const char *dot = strrchr(word, '.');
    size_t n = dot && dot > word ? (size_t)(dot - word) : strlen(word);
    char *name = arena_strndup(a, word, n < NAME_MAX_BYTES ? n : NAME_MAX_BYTES);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._~-", *c))
            *c = '-';
    for (char *c = strstr(name, ".."); c; c = strstr(name, ".."))
        *c = '-';
    return *name ? name : "command";
}

/* A list of words has no empty ones in the job format; shell text says them. */
static void put_words(struct arena *a, struct text_node *root, const char *const *words, size_t n)
{
    AUTO_BUF struct buf run = BUF_INIT(TEXT_MAX_BYTES);
    bool empty = false;
    for (size_t i = 0; i < n; i++)
        empty = empty || !*words[i];
    struct text_node *argv = empty ? NULL : text_list(a, root, "argv");
    buf_puts(&run, "exec");
    for (size_t i = 0; i < n; i++) {
        if (argv)
            text_str(a, argv, NULL, words[i]);
        buf_putc(&run, ' ');
        shell_word(&run, words[i]);
    }
    if (empty)
        text_str(a, root, "run", buf_str(&run));
}

static void put_resources(struct arena *a, struct text_node *role, const struct made_job *job)
{
    if (!job->cpu && !job->memory && !job->gpu)
        return;
    struct text_node *resources = text_map(a, role, "resources");
    if (job->cpu)
        text_str(a, resources, "cpu", job->cpu);
    if (job->memory)
        text_str(a, resources, "memory", job->memory);
    if (job->gpu)
        text_str(a, resources, "gpu", job->gpu);
}

static void put_env(struct arena *a, struct text_node *role, const struct line_job *line)
{
    if (!line->env.n && !line->python)
        return;
    struct text_node *env = text_map(a, role, "env");
    text_pairs(a, env, &line->env);
    if (line->python && !pairs_get(&line->env, "PYTHON_EXEC"))
        text_str(a, env, "PYTHON_EXEC", line->python);
}

/* ---- a launcher's line ---- */

static void put_replicas(struct arena *a, struct text_node *root, const struct line_job *line)
{
    if (line->min == line->max) {
        text_int(a, root, "replicas", line->max);
        return;
    }
    struct text_node *range = text_map(a, root, "replicas");
    text_int(a, range, "min", line->min);
    text_int(a, range, "max", line->max);
    /* A launcher ends well only when the whole world has: tasks that never came are not needed. */
    text_int(a, text_map(a, root, "done"), "succeeded", line->min);
}

static void put_launcher(struct arena *a, struct text_node *root, const struct launcher *l)
{
    if (!job_launcher_set(l))
        return;
    struct text_node *map = text_map(a, root, "launcher");
    if (l->has_ranks_per_node)
        text_int(a, map, "ranks_per_node", l->ranks_per_node);
    if (l->has_max_restarts)
        text_int(a, map, "max_restarts", l->max_restarts);
    if (l->has_node_unit)
        text_int(a, map, "node_unit", l->node_unit);
    if (l->node_check)
        text_bool(a, map, "node_check", true);
}

/* Tasks stand for the nodes of the line, and so are on different ones where there are enough. */
static void put_tasks(struct arena *a, struct text_node *root, const struct line_job *line)
{
    put_replicas(a, root, line);
    if (line->run)
        text_str(a, root, "run", line->run);
    else
        put_words(a, root, line->argv.at, line->argv.n);
    put_launcher(a, root, &line->settings);
    if (line->per_group)
        text_int(a, root, "per_group", line->per_group);
    if (line->max > 1)
        text_str(a, text_list(a, text_map(a, root, "place"), "spread"), NULL, ROLE);
    if (line->meets) /* its label is the one that the variables look for */
        text_int(a, text_map(a, root, "ports"), "master", 1);
    if (line->convention || line->meets) {
        struct text_node *list = text_list(a, root, "conventions");
        text_str(a, list, NULL, line->convention ? line->convention : "pytorch");
    }
}

/* As PAI-DLC's MPIJob, in one role: its first task runs the line, and all are the line's hosts. */
static void put_mpi(struct arena *a, struct text_node *root, const struct line_job *line)
{
    AUTO_BUF struct buf run = BUF_INIT(TEXT_MAX_BYTES);
    buf_puts(&run, "[ \"$MUSTER_TASK_INDEX\" = 0 ] || exec sleep infinity\nexec");
    for (size_t i = 0; i < line->argv.n; i++) {
        buf_putc(&run, ' ');
        shell_word(&run, line->argv.at[i]);
    }
    text_int(a, root, "replicas", line->max);
    text_str(a, root, "run", buf_str(&run));
    text_int(a, text_map(a, root, "done"), "succeeded", 1);
    text_str(a, text_map(a, root, "retry"), "scope", "job");
    text_str(a, text_list(a, text_map(a, root, "place"), "spread"), NULL, ROLE);
    text_str(a, root, "framework", "mpi");
    text_str(a, text_list(a, root, "conventions"), NULL, "dlc");
    struct text_node *dlc = text_map(a, text_map(a, root, "extra"), "dlc");
    text_str(a, dlc, "JobType", "MPIJob");
    text_bool(a, dlc, "LauncherWorks", true);
    text_int(a, dlc, "Slots", line->ranks);
}

static const char *name_of(struct arena *a, const struct made_job *job)
{
    const struct line_job *line = job->line;
    if (job->name)
        return job->name;
    if (line->name)
        return line->name;
    return made_job_name(a, (int)line->program.n, line->program.at);
}

struct text_node *made_job_tree(struct arena *a, const struct made_job *job)
{
    struct text_node *root = text_map(a, NULL, NULL);
    const struct line_job *line = job->line;
    text_int(a, root, "muster", 1);
    text_str(a, root, "name", name_of(a, job));
    if (line->queue)
        text_str(a, root, "queue", line->queue);
    if (line->run_time)
        text_str(a, text_map(a, root, "limits"), "run_time", line->run_time);
    if (line->kind == LINE_MPI)
        put_mpi(a, root, line);
    if (line->kind == LINE_TASKS)
        put_tasks(a, root, line);
    if (line->kind == LINE_PLAIN && job->replicas)
        text_int(a, root, "replicas", (int64_t)job->replicas);
    if (line->kind == LINE_PLAIN)
        put_words(a, root, line->argv.at, line->argv.n);
    if (job->image)
        text_str(a, root, "image", job->image);
    put_env(a, root, line);
    put_resources(a, root, job);
    return root;
}
