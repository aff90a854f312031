/* Which events become lines, and how. Restarts of tasks are sentences of their own; what the job's
 * state does because of them is not said twice. Pure. */
#include "cli/phases.h"

#include "base/mem.h"
#include "cli/answer.h"
#include "cli/output.h"

#include <stdio.h>
#include <string.h>

#define FAILED_SHOWN 8

static void stamp(const struct phases *p, uint64_t at, struct buf *out)
{
    double s = at > p->start_ms ? (double)(at - p->start_ms) / 1000 : 0;
    char text[32];
    if (s < 10)
        snprintf(text, sizeof text, "+%.2fs", s);
    else if (s < 600)
        snprintf(text, sizeof text, "+%.1fs", s);
    else
        snprintf(text, sizeof text, "+%.0fs", s);
    buf_addf(out, "%7s  ", text);
}

static void phase_at(const struct phases *p, uint64_t at, const char *word, struct buf *out)
{
    const char *sgr = p->color ? out_state_color(word) : NULL;
    stamp(p, at, out);
    if (sgr)
        buf_addf(out, "\033[%sm%-9s\033[0m  ", sgr, word);
    else
        buf_addf(out, "%-9s  ", word);
}

/* Spans of time by the clock that nobody sets; an old server's event has its date only. */
static uint64_t clock_of(const struct text_node *event)
{
    return answer_number(event, "steady_ms", answer_time(event, "at"));
}

static void phase(const struct phases *p, const struct text_node *event, const char *word,
                  struct buf *out)
{
    phase_at(p, clock_of(event), word, out);
}

static void text_of(const struct text_node *event, struct buf *out)
{
    buf_addf(out, "%s\n", text_word(event, "text"));
}

static void put_places(const struct text_node *nodes, struct buf *out)
{
    size_t shown = 0;
    for (const struct text_node *n = nodes->first; n && shown < 16; n = n->next, shown++) {
        buf_addf(out, "%s%s:", shown ? "   " : "", n->key);
        if (n->kind != TEXT_LIST)
            buf_addf(out, " %s tasks", n->str ? n->str : "?");
        size_t listed = 0;
        for (const struct text_node *t = n->first; t && listed < 12; t = t->next, listed++)
            buf_addf(out, " %s", t->str ? t->str : "?");
        if (n->count > listed && n->kind == TEXT_LIST)
            buf_addf(out, " and %zu more", n->count - listed);
    }
    if (nodes->count > shown)
        buf_addf(out, "   and %zu nodes more", nodes->count - shown);
}

static void on_submitted(struct phases *p, const struct text_node *event, struct buf *out)
{
    p->start_ms = clock_of(event);
    phase(p, event, answer_text(event, "state", "queued"), out);
    text_of(event, out);
}

static void on_word(struct phases *p, const struct text_node *event, struct buf *out)
{
    phase(p, event, answer_text(event, "state", text_word(event, "type")), out);
    text_of(event, out);
}

static void on_allocated(struct phases *p, const struct text_node *event, struct buf *out)
{
    const struct text_node *body = text_get(event, "body"), *nodes = text_get(body, "nodes");
    phase(p, event, "starting", out);
    if (nodes && nodes->count)
        put_places(nodes, out);
    else
        buf_puts(out, text_word(event, "text"));
    if (p->work_dir)
        buf_addf(out, "   in %s", p->work_dir);
    buf_putc(out, '\n');
}

static void on_sentence(struct phases *p, const struct text_node *event, struct buf *out)
{
    const char *text = text_word(event, "text");
    (void)p;
    if (!*text)
        return;
    if (p->color)
        buf_addf(out, "\033[33m%s\033[0m\n", text);
    else
        buf_addf(out, "%s\n", text);
}

static void on_warning(struct phases *p, const struct text_node *event, struct buf *out)
{
    buf_addf(out, "%swarning:%s %s\n", p->color ? "\033[33m" : "", p->color ? "\033[0m" : "",
             text_word(event, "text"));
}

static void on_failed_task(struct phases *p, const struct text_node *event, struct buf *out)
{
    /* The one that decides is told at the end; here it is news while others still run. */
    if (p->tasks > 1 && p->failed++ < FAILED_SHOWN)
        on_sentence(p, event, out);
}

/* Launchers: which task a rank failed in comes first, what followed from it later. */
static void on_failed_rank(struct phases *p, const struct text_node *event, struct buf *out)
{
    (void)out;
    if (!p->fell[0])
        snprintf(p->fell, sizeof p->fell, "%s", text_word(event, "task"));
}

static void on_again(struct phases *p, const struct text_node *event, struct buf *out)
{
    if (p->color)
        buf_puts(out, "\033[33m");
    buf_addf(out, "%s%s%s%s\n", p->fell, p->fell[0] ? "  " : "", text_word(event, "text"),
             p->color ? "\033[0m" : "");
    p->fell[0] = '\0';
}

static const struct {
    const char *type;
    void (*put)(struct phases *, const struct text_node *, struct buf *);
} rows[] = {
    { .type = "submitted", .put = on_submitted },
    { .type = "held", .put = on_submitted },
    { .type = "resumed", .put = on_word },
    { .type = "allocated", .put = on_allocated },
    { .type = "task.port", .put = on_warning },
    { .type = "started", .put = on_word },
    { .type = "requeued", .put = on_word },
    { .type = "paused", .put = on_word },
    { .type = "restart", .put = on_word },
    { .type = "task.retry", .put = on_sentence },
    { .type = "task.failed", .put = on_failed_task },
    { .type = "member.failed", .put = on_failed_task },
    { .type = "launch.failed", .put = on_failed_rank },
    { .type = "launch.again", .put = on_again },
};

void phases_event(struct phases *p, const struct text_node *event, struct buf *out)
{
    const char *type = text_word(event, "type");
    p->last_seq = answer_number(event, "seq", p->last_seq);
    if (p->start_ms == 0)
        p->start_ms = clock_of(event);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].type, type) == 0)
            rows[i].put(p, event, out);
}

void phases_final(struct phases *p, const struct text_node *job, struct buf *out)
{
    bool held = !out_final(text_word(job, "state"));
    uint64_t at = answer_time(job, "ended");
    p->start_ms = answer_time(job, "submitted");
    phase_at(p, at ? at : p->now_ms,
             held ? answer_text(job, "outcome", "ended") : answer_text(job, "state", "ended"), out);
    buf_addf(out, "%s%s\n", text_word(job, "reason"), held ? "  (its resources are held)" : "");
}
