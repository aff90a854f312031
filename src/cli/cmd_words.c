/* What a shell offers where jobs, tasks, nodes or formats are named, one a line. It asks the server
 * where one answers, and says nothing where none does: nobody waits for a list of words.
 *
 * Verbs: words. */
#include "cli/cmd.h"

#include "base/mem.h"
#include "cli/call.h"
#include "cli/jobs.h"
#include "cli/output.h"
#include "dialect/dialect.h"

#include <string.h>

#define JOBS "100" /* the newest: what people go on with */

static const struct opt opts[] = { COMMON_OPTS, OPT_END };

static const struct text_node *ask(struct cli *cli, const char *path, const char *list)
{
    struct err err;
    const struct text_node *tree =
        call_server_lives(cli) || cli->url ? call_get(cli, path, &err) : NULL;
    const struct text_node *found = tree ? text_get(tree, list) : NULL;
    return found ? found->first : NULL;
}

static void put_jobs(struct cli *cli, const char *of, struct buf *out)
{
    (void)of;
    for (const struct text_node *job = ask(cli, "/v1/jobs?limit=" JOBS, "jobs"); job;
         job = job->next)
        buf_addf(out, "%s\n%s\n", jobs_label(cli->arena, job), text_word(job, "name"));
}

static void put_tasks(struct cli *cli, const char *of, struct buf *out)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    if (!of)
        return;
    call_path(&path, "/v1/jobs/", of, NULL);
    call_query(&path, "tasks", "1");
    for (const struct text_node *task = ask(cli, buf_str(&path), "task_list"); task;
         task = task->next)
        buf_addf(out, "%s\n", text_word(task, "name"));
}

static void put_nodes(struct cli *cli, const char *of, struct buf *out)
{
    (void)of;
    for (const struct text_node *node = ask(cli, "/v1/nodes", "nodes"); node; node = node->next)
        buf_addf(out, "%s\n", text_word(node, "name"));
}

static void put_formats(struct cli *cli, const char *of, struct buf *out)
{
    (void)of;
    for (size_t i = 0; i < cli->host->dialects->n; i++)
        buf_addf(out, "%s\n", cli->host->dialects->at[i]->name);
}

static const struct {
    const char *kind;
    void (*put)(struct cli *, const char *of, struct buf *);
} kinds[] = {
    { "jobs", put_jobs }, { "tasks", put_tasks }, { "nodes", put_nodes }, { "formats", put_formats }
};

static int run_words(struct cli *cli, const void *o, int argc, char **argv, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(1u << 20);
    (void)o;
    if (cmd_operands(&cmd_words, argc, 1, 2, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].kind, argv[0]) == 0) {
            kinds[i].put(cli, argc > 1 ? argv[1] : NULL, &out);
            out_buf(&out);
            return EXIT_OK;
        }
    err_set(err, ERR_INPUT, "there are no words of \"%.40s\"", argv[0]);
    return err_hint(err, "jobs, tasks JOB, nodes or formats");
}

const struct cmd cmd_words = {
    .name = "words",
    .summary = "what a shell offers for completion",
    .operands = "jobs|tasks|nodes|formats [JOB]",
    .opts = opts,
    .size = sizeof(struct common_opts),
    .hidden = true,
    .run = run_words,
};
