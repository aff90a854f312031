/* The request for a command, and the session over what the server made of it. What is wrong with
 * the task comes in that session, as words for stderr and an exit status. */
#include "cli/exec_call.h"

#include "cli/answer.h"
#include "cli/call.h"
#include "cli/jobs.h"
#include "cli/names.h"
#include "http/client.h"

#include <stdio.h>

static void make_path(struct buf *path, const char *job, bool tty, const struct exec_call *call)
{
    struct winsize size = session_window();
    jobs_path(path, job, "/exec");
    if (call->task)
        call_query(path, "task", call->task);
    for (size_t i = 0; i < call->command.n; i++)
        call_query(path, "arg", call->command.at[i]);
    if (call->port)
        call_query_number(path, "port", call->port);
    if (!tty)
        return;
    call_query(path, "tty", "1");
    call_query_number(path, "rows", size.ws_row);
    call_query_number(path, "cols", size.ws_col);
}

int exec_call_run(struct cli *cli, const struct exec_call *call, struct session *session,
                  struct err *err)
{
    struct task_name name;
    AUTO_BUF struct buf path = BUF_INIT(1 << 20);
    if (call->task && names_task(cli->arena, call->task, &name, err) < 0)
        return -1;
    const struct text_node *view = jobs_view(cli, call->job, NULL, err);
    if (!view)
        return -1;
    make_path(&path, answer_text(view, "id", call->job), session->tty, call);
    fflush(NULL);
    session->line =
        http_client_upgrade(cli->client, buf_str(&path), "muster-exec/1", &session->in, err);
    return session->line ? session_run(session, err) : -1;
}
