/* dlc stop job, dlc delete job: one request each. On a terminal they ask first, unless --force says
 * not to; stop waits for the job's end, unless --quiet. */
#include "cli/dlc/jobs.h"

#include "base/mem.h"
#include "cli/call.h"
#include "cli/dlc/follow.h"
#include "cli/jobs.h"

#include <stdio.h>
#include <unistd.h>

static int one_job(const struct dlc_call *c, const char *verb, struct err *err)
{
    if (c->argc == 1)
        return 0;
    err_set(err, ERR_INPUT, "dlc %s job needs the id of one job", verb);
    return err_hint(err, "dlc get job lists them");
}

/* Asked only where somebody can answer. */
static bool sure(const struct dlc_call *c, const char *verb)
{
    char line[16];
    if (dlc_flag_on(c, "force") || isatty(STDIN_FILENO) != 1)
        return true;
    fprintf(stderr, "%s job %s? [y/N] ", verb, c->argv[0]);
    return fgets(line, sizeof line, stdin) && (line[0] == 'y' || line[0] == 'Y');
}

static struct text_node *order(struct dlc_call *c, const char *method, const char *rest,
                               struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    jobs_path(&path, c->argv[0], rest);
    return call_send(c->cli, &(struct call){ .method = method, .path = buf_str(&path) }, err);
}

int dlc_stop_run(struct dlc_call *c, struct err *err)
{
    if (one_job(c, "stop", err) < 0)
        return -1;
    if (!sure(c, "stop"))
        return EXIT_USAGE;
    const struct text_node *view = order(c, "POST", "/stop", err);
    if (!view)
        return -1;
    const char *id = arena_printf(c->cli->arena, "dlc%s", text_word(view, "id"));
    if (dlc_flag_on(c, "quiet"))
        return EXIT_OK;
    view = dlc_follow(c->cli, id, false, err);
    return view ? EXIT_OK : -1;
}

int dlc_delete_run(struct dlc_call *c, struct err *err)
{
    if (one_job(c, "delete", err) < 0)
        return -1;
    if (!sure(c, "delete"))
        return EXIT_USAGE;
    const struct text_node *view = order(c, "DELETE", NULL, err);
    if (!view)
        return -1;
    if (!dlc_flag_on(c, "quiet"))
        printf("Job dlc%s is deleted\n", text_word(view, "id"));
    return EXIT_OK;
}
