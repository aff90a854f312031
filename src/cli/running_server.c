/* The server that there is: asked for its settings, ended, or what its start said. Waits until one
 * that was told to end is gone, at most so long as its jobs' agents would wait. */
#include "cli/running_server.h"

#include "base/proc_stat.h"
#include "cli/call.h"
#include "text/json.h"
#include "text/remedies.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#define STOP_WAIT_MS 15000

int server_start_why(struct cli *cli, const char *said, const char *log_path, struct err *err)
{
    struct report report;
    report_init(&report, cli->arena);
    struct text_node *why =
        *said ? json_parse(cli->arena, said, strlen(said), JSON_ANSWER, &report) : NULL;
    if (!why) {
        err_set(err, ERR_UNAVAILABLE, "the server did not start");
        return err_hint(err, "%s says why", log_path);
    }
    err_set(err, ERR_UNAVAILABLE, "the server did not start: %s", text_word(why, "what"));
    const char *hint = remedies_read(cli->arena, why, &err->remedies);
    return *hint ? err_hint(err, "%s", hint) : err_hint(err, "%s says more", log_path);
}

static const char *setting_of(const struct text_node *settings, const char *key)
{
    for (const struct text_node *n = settings ? settings->first : NULL; n; n = n->next)
        if (strcmp(text_word(n, "name"), key) == 0)
            return text_word(n, "value");
    return "";
}

/* Ended counts as gone: whose child it was may take its status late, or never, as the first process
 * of many containers. */
static bool is_gone(pid_t pid)
{
    struct proc_stat stat;
    return (kill(pid, 0) != 0 && errno == ESRCH) || (proc_stat_read(pid, &stat) && stat.ended);
}

/* Answered does not mean gone: whoever starts the next server must not meet the last one. */
static int wait_gone(struct cli *cli, uint64_t pid, struct err *err)
{
    for (int waited = 0; waited < STOP_WAIT_MS; waited += 5) {
        if (pid > 1 && is_gone((pid_t)pid))
            return 0;
        if (pid <= 1 && !call_server_lives(cli))
            return 0;
        poll(NULL, 0, 5);
    }
    return err_set(err, ERR_TIMEOUT, "server %llu has not ended after %d s",
                   (unsigned long long)pid, STOP_WAIT_MS / 1000);
}

int server_end(struct cli *cli, struct err *err)
{
    const struct text_node *s = call_get(cli, "/v1/server", err);
    uint64_t pid = text_number(s, "pid");
    if (!s || !call_send(cli, &(struct call){ .method = "POST", .path = "/v1/server/stop" }, err))
        return -1;
    call_drop(cli);
    return cli->url && !cli->found ? 0 : wait_gone(cli, cli->found ? 0 : pid, err);
}

const char *server_setting(struct cli *cli, const char *key)
{
    struct err err;
    return setting_of(text_get(call_get(cli, "/v1/config", &err), "config"), key);
}

int server_count_new(struct cli *cli, const struct pairs *given, struct err *err)
{
    const struct text_node *answer = call_get(cli, "/v1/config", err);
    int n = 0;
    for (size_t i = 0; answer && i < given->n; i++)
        n += strcmp(setting_of(text_get(answer, "config"), given->at[i].name),
                    given->at[i].value) != 0;
    return answer ? n : -1;
}
