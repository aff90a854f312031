/* The native tree of a command. Amounts stay as written: the server reads and checks them as it
 * does in a file. Pure. */
#include "cli/made_job.h"

#include "base/buf.h"
#include "base/mem.h"

#include <ctype.h>
#include <string.h>

#define NAME_MAX_BYTES 60

/* python -m pkg.train, bash run.sh: the name is in the first thing that is no interpreter and no
 * option. */
static const char *telling(int argc, char **argv)
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
    const char *slash = strrchr(argv[0], '/');
    return slash ? slash + 1 : argv[0];
}

const char *made_job_name(struct arena *a, int argc, char **argv)
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

/* For a shell: in single quotes, those inside it outside. */
static void quote(struct buf *out, const char *word)
{
    buf_putc(out, '\'');
    for (; *word; word++)
        buf_puts(out, *word == '\'' ? "'\\''" : (char[]){ *word, '\0' });
    buf_putc(out, '\'');
}

/* A list of words has no empty ones in the job format; shell text says them. */
static void put_command(struct arena *a, struct text_node *root, const struct made_job *job)
{
    AUTO_BUF struct buf run = BUF_INIT(TEXT_MAX_BYTES);
    bool empty = false;
    for (int i = 0; i < job->argc; i++)
        empty = empty || !*job->argv[i];
    struct text_node *argv = empty ? NULL : text_list(a, root, "argv");
    buf_puts(&run, "exec");
    for (int i = 0; i < job->argc; i++) {
        if (argv)
            text_str(a, argv, NULL, job->argv[i]);
        buf_putc(&run, ' ');
        quote(&run, job->argv[i]);
    }
    if (empty)
        text_str(a, root, "run", buf_str(&run));
}

struct text_node *made_job_tree(struct arena *a, const struct made_job *job)
{
    struct text_node *root = text_map(a, NULL, NULL);
    text_int(a, root, "muster", 1);
    text_str(a, root, "name", job->name ? job->name : made_job_name(a, job->argc, job->argv));
    if (job->replicas)
        text_int(a, root, "replicas", (int64_t)job->replicas);
    put_command(a, root, job);
    if (job->image)
        text_str(a, root, "image", job->image);
    if (job->cpu || job->memory || job->gpu) {
        struct text_node *resources = text_map(a, root, "resources");
        if (job->cpu)
            text_str(a, resources, "cpu", job->cpu);
        if (job->memory)
            text_str(a, resources, "memory", job->memory);
        if (job->gpu)
            text_str(a, resources, "gpu", job->gpu);
    }
    return root;
}
