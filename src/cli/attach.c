/* Ask, upgrade, run; when the connection breaks, again from the place reached. What the log says
 * between two connections is read by the next one, or from the log when the attempt is over. */
#include "cli/attach.h"

#include "base/mem.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/follow.h"
#include "cli/jobs.h"
#include "cli/output.h"
#include "http/client.h"
#include "wire/message.h"

#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AGAIN_MS 100

void attach_init(struct attach *a, struct cli *cli, bool tty, int to)
{
    bool terminal = isatty(STDIN_FILENO) == 1 && isatty(to) == 1;
    *a = (struct attach){ .cli = cli };
    session_init(&a->session, tty && terminal);
    a->session.to = to;
    a->session.place = &a->place;
    buf_init(&a->place.kept, 2 * ATTACH_WINDOW);
    randombytes_buf(&a->id, sizeof a->id);
    a->out = out_stream(to, OUT_GUARDED);
    log_print_init(&a->print, a->out, false, false);
}

void attach_fini(struct attach *a)
{
    session_fini(&a->session);
    buf_fini(&a->place.kept);
    log_print_fini(&a->print);
    if (a->out)
        fclose(a->out);
}

struct text_node *attach_where(struct cli *cli, const char *job, const char *task, uint64_t attempt,
                               struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    jobs_path(&path, job, "/attach");
    call_query(&path, "task", task);
    call_query_number(&path, "attempt", attempt);
    return call_get(cli, buf_str(&path), err);
}

/* ---- from the log ---- */

struct showing {
    struct attach *attach;
    const char *tail;
    FILE *to;
};

static void want(void *arg, struct buf *path, struct buf *body)
{
    const struct showing *s = arg;
    jobs_path(path, s->attach->job, "/logs");
    call_query(path, "task", s->attach->task);
    call_query_number(path, "attempt", s->attach->attempt);
    log_print_resume(&s->attach->print, body);
    if (!body->len)
        call_query(path, "tail", s->tail);
}

static bool on_record(void *arg, const struct text_node *record)
{
    struct showing *s = arg;
    bool out = strcmp(answer_text(record, "stream", "stdout"), "stdout") == 0;
    s->attach->print.to = out ? s->to : stderr;
    log_print_record(&s->attach->print, record);
    fflush(s->attach->print.to);
    s->attach->place.output = answer_number(record, "offset", s->attach->place.output);
    return true;
}

int attach_show(struct attach *a, const char *tail, struct err *err)
{
    struct showing s = { .attach = a, .tail = tail, .to = a->print.to };
    struct follow follow = { .request = want, .record = on_record, .arg = &s };
    if (a->place.output)
        log_print_place(&a->print, a->task, a->attempt, a->place.output);
    int rc = follow_run(a->cli, &follow, err);
    a->print.to = s.to;
    return rc;
}

/* ---- one connection after the other ---- */

static int join(struct attach *a, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    struct session *s = &a->session;
    struct winsize size = session_window();
    jobs_path(&path, a->job, "/attach");
    call_query(&path, "task", a->task);
    call_query_number(&path, "attempt", a->attempt);
    call_query_number(&path, "session", a->id);
    call_query_number(&path, "offset", a->place.output);
    if (s->tty) {
        call_query_number(&path, "rows", size.ws_row);
        call_query_number(&path, "cols", size.ws_col);
    }
    buf_clear(&s->in);
    s->line = http_client_upgrade(a->cli->client, buf_str(&path), "muster-attach/1", &s->in, err);
    if (!s->line)
        return err->code == ERR_CANNOT ? err_set(err, ERR_UNAVAILABLE, "it ended meanwhile") : -1;
    a->joined = true;
    int rc = session_run(s, err);
    http_duplex_close(TAKE(s->line));
    return rc;
}

static void wait_after_break(struct attach *a)
{
    const struct follow say = { .gone = a->quiet ? NULL : follow_say_gone,
                                .back = a->quiet ? NULL : follow_say_back };
    call_drop(a->cli);
    if (call_server_lives(a->cli))
        poll(NULL, 0, AGAIN_MS); /* its agent may not be back yet */
    else
        follow_wait(a->cli, &say);
}

int attach_run(struct attach *a, enum attach_end *end, struct err *err)
{
    for (;;) {
        bool there = attach_where(a->cli, a->job, a->task, a->attempt, err) != NULL;
        if (!there && err->code == ERR_CONFLICT) {
            *end = ATTACH_OVER;
            return 0;
        }
        if (there && join(a, err) == 0) {
            *end = a->session.detached ? ATTACH_DETACHED : ATTACH_ENDED;
            return 0;
        }
        if (err->code != ERR_UNAVAILABLE && err->code != ERR_TIMEOUT)
            return -1;
        wait_after_break(a);
    }
}
