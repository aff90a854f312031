/* A batch of submissions: one job a line, one answer a line, in order. A request has room for more
 * than a hundred thousand of them, so they are submitted a few at a time, each few in a turn of the
 * loop and a commit of their own; all are, also when the client leaves meanwhile.
 *
 * Inputs: the request's body and what is asked for all of them alike. Effects: submissions, and the
 * answer when the last of them is answered. */
#include "api/accounts.h"
#include "api/work.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/pieces.h"
#include "base/vec.h"
#include "ctl/ctl.h"
#include "text/json.h"

#include <string.h>

#define LINES      128u  /* of one turn: the jobs of a commit are worth its wait for the disk */
#define LINES_US   4000u /* they are fewer when they take longer */
#define ANSWERS    256u  /* put into the answer together */
#define ANSWER_MAX ((size_t)4 << 20)

struct batch {
    struct call *call;
    struct submission all;
    const char *at, *end; /* what is not submitted yet */
    bool sent;            /* nothing is left of it */
    bool over;            /* the server ends */
    size_t pending, put;  /* submissions without an answer; answers that stand in `text` */
    VEC(char *) lines;    /* answers, by line; NULL: there is none yet */
    struct pieces *text;
    struct work *work; /* NULL: it waits for answers */
};
struct batch_line {
    struct batch *batch;
    size_t at;
};

static void batch_free(struct batch *b)
{
    for (size_t i = 0; i < b->lines.n; i++)
        free(b->lines.at[i]);
    vec_fini(&b->lines);
    pieces_destroy(b->text);
    free(b);
}

static void end_unanswered(struct batch *b)
{
    call_free(b->call);
    batch_free(b);
}

/* What is on its way may still be answered. */
static void on_end(void *arg)
{
    struct batch *b = arg;
    b->over = true;
    if (!b->pending)
        end_unanswered(b);
}

static bool go_on(void *arg);

static void begin_work(struct batch *b)
{
    const struct answer_work ask = { .step = go_on, .left = on_end, .arg = b };
    b->work = work_alone(b->call->api, &ask);
}

/* ---- submitting ---- */

static void on_line(void *arg, const struct ctl_answer *answer)
{
    struct batch_line *line = arg;
    struct batch *b = line->batch;
    struct arena *scratch = arena_create();
    AUTO_BUF struct buf text = BUF_INIT(ANSWER_MAX);
    static const struct refused piece = { .program = "muster" };
    json_print(answer->err ? problem_tree(scratch, answer->err, answer->report, &piece)
                           : job_submitted(b->call, scratch, answer->made.submitted),
               0, &text);
    b->lines.at[line->at] = buf_take(&text);
    arena_destroy(scratch);
    free(line);
    b->pending--;
    if (b->over && !b->pending)
        end_unanswered(b);
    else if (b->sent && !b->pending && !b->work)
        begin_work(b);
}

static void submit_line(struct batch *b, const char *text, size_t len)
{
    struct submission s = b->all;
    struct batch_line *line = mem_new(sizeof *line);
    line->batch = b;
    line->at = b->lines.n;
    vec_push(&b->lines, NULL);
    s.text = text;
    s.len = len;
    if (s.key)
        s.key = arena_printf(b->call->arena, "%s#%zu", s.key, line->at);
    b->pending++;
    accounts_submit(b->call, &s, on_line, line);
}

/* The next line that is not blank; false: there is none. */
static bool submit_next(struct batch *b)
{
    while (b->at && b->at < b->end) {
        const char *text = b->at, *stop = memchr(text, '\n', (size_t)(b->end - text));
        stop = stop ? stop : b->end;
        b->at = stop + 1;
        size_t len = (size_t)(stop - text);
        if (strspn(text, " \t\r") < len) {
            submit_line(b, text, len);
            return true;
        }
    }
    return false;
}

static void submit_some(struct batch *b)
{
    uint64_t until = clock_mono_us() + LINES_US;
    for (unsigned n = 0; n < LINES && !b->sent; n++) {
        b->sent = !submit_next(b);
        if (clock_mono_us() >= until)
            break;
    }
    size_t n = b->lines.n;
    if (b->sent)
        limit_take(b->call, LIMIT_SUBMIT, n ? n - 1 : 0); /* one was taken with the request */
}

/* ---- answering ---- */

static void put_some(struct batch *b)
{
    struct buf *out = pieces_end(b->text);
    for (unsigned n = 0; n < ANSWERS && b->put < b->lines.n; n++) {
        char **line = &b->lines.at[b->put++];
        buf_puts(out, *line ? *line : "");
        buf_putc(out, '\n');
        free(*line);
        *line = NULL;
    }
}

/* false: it is answered, or waits for answers. */
static bool go_on(void *arg)
{
    struct batch *b = arg;
    if (!b->sent) {
        submit_some(b);
        return true;
    }
    if (b->pending) {
        b->work = NULL;
        return false;
    }
    put_some(b);
    if (b->put < b->lines.n)
        return true;
    call_pieces(b->call, 200, "application/x-ndjson", TAKE(b->text));
    batch_free(b);
    return false;
}

void job_batch(struct call *call, const struct submission *all)
{
    struct batch *b = mem_new(sizeof *b);
    *b = (struct batch){ .call = call, .all = accounts_copy(call->arena, all) };
    b->at = b->all.text;
    b->end = b->at ? b->at + b->all.len : NULL;
    b->text = pieces_create();
    call_keep(call);
    submit_some(b);
    begin_work(b);
}
