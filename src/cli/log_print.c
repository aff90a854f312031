/* Output of several tasks on one screen: only whole lines are mixed. Bytes are passed on as they
 * are: what a terminal may have of them is the stream's to say (cli/output.h). */
#include "cli/log_print.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/output.h"
#include "text/json.h"

#include <string.h>

#define PARTIAL_MAX (64u << 10) /* a longer line is broken */

static const char *const colors[] = { "36", "33", "35", "32", "34", "96", "93", "95", "92", "94" };

void log_print_init(struct log_print *p, FILE *to, bool names, bool color)
{
    *p = (struct log_print){ .to = to, .names = names, .color = color };
}

static struct log_task *task_of(struct log_print *p, const char *name)
{
    for (size_t i = 0; i < p->tasks.n; i++)
        if (strcmp(p->tasks.at[i]->name, name) == 0)
            return p->tasks.at[i];
    struct log_task *task = mem_new(sizeof *task);
    task->name = mem_strdup(name);
    task->partial = mem_new(sizeof *task->partial);
    buf_init(task->partial, PARTIAL_MAX * 2);
    task->color = (unsigned)(p->tasks.n % ARRAY_LEN(colors));
    vec_push(&p->tasks, task);
    int width = (int)scan_columns(name, strlen(name));
    p->width = width > p->width ? width : p->width;
    return task;
}

static void put_line(struct log_print *p, const struct log_task *task, const char *text, size_t len)
{
    int pad = p->width - (int)scan_columns(task->name, strlen(task->name));
    if (p->names && p->color)
        fprintf(p->to, "\033[%sm%s\033[0m%*s", colors[task->color], task->name, pad + 2, "");
    else if (p->names)
        fprintf(p->to, "%s%*s", task->name, pad + 2, "");
    fwrite(text, 1, len, p->to);
    fputc('\n', p->to);
}

static void flush_task(struct log_print *p, struct log_task *task)
{
    if (task->partial->len)
        put_line(p, task, task->partial->data, task->partial->len);
    buf_clear(task->partial);
}

static void put_text(struct log_print *p, struct log_task *task, const char *text, size_t len)
{
    if (!p->names) {
        fwrite(text, 1, len, p->to);
        return;
    }
    for (const char *end = text + len; text < end;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t n = (size_t)((stop ? stop : end) - text);
        if (stop && !task->partial->len) {
            put_line(p, task, text, n);
        } else {
            buf_add(task->partial, text, n);
            if (stop && !task->partial->len)
                put_line(p, task, "", 0);
            if (stop || task->partial->len > PARTIAL_MAX)
                flush_task(p, task);
        }
        text += n + (stop != NULL);
    }
}

/* -1: not of the alphabet. */
static int sextet(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static size_t decode(const char *text, struct buf *out)
{
    unsigned bits = 0, n = 0;
    for (; sextet(*text) >= 0; text++) {
        bits = (bits << 6 | (unsigned)sextet(*text)) & 0xffffffu;
        n += 6;
        if (n < 8)
            continue;
        n -= 8;
        buf_putc(out, (char)(bits >> n & 0xffu));
    }
    return out->len;
}

static void put_gap(struct log_print *p, struct log_task *task, uint64_t bytes)
{
    char size[48], line[96];
    flush_task(p, task);
    int n = snprintf(line, sizeof line, "... %s of output are not kept ...", out_size(size, bytes));
    put_line(p, task, line, (size_t)n);
}

void log_print_record(struct log_print *p, const struct text_node *record)
{
    struct log_task *task = task_of(p, answer_text(record, "task", "?"));
    uint64_t attempt = answer_number(record, "attempt", 1), gap = text_number(record, "gap");
    const char *text = answer_text(record, "text", NULL), *b64 = answer_text(record, "b64", NULL);
    if (attempt != task->attempt)
        flush_task(p, task);
    task->attempt = attempt;
    task->offset = answer_number(record, "offset", task->offset);
    if (p->json) {
        AUTO_BUF struct buf line = BUF_INIT(64u << 20);
        json_print(record, 0, &line);
        fprintf(p->to, "%s\n", buf_str(&line));
    } else if (gap) {
        put_gap(p, task, gap);
    } else if (text) {
        put_text(p, task, text, strlen(text));
    } else if (b64) {
        AUTO_BUF struct buf bytes = BUF_INIT(64u << 20);
        if (decode(b64, &bytes))
            put_text(p, task, bytes.data, bytes.len);
    }
}

/* What is partial now, as lines. */
static void log_print_flush(struct log_print *p)
{
    for (size_t i = 0; i < p->tasks.n; i++)
        flush_task(p, p->tasks.at[i]);
}

void log_print_fini(struct log_print *p)
{
    log_print_flush(p);
    for (size_t i = 0; i < p->tasks.n; i++) {
        free(p->tasks.at[i]->name);
        buf_fini(p->tasks.at[i]->partial);
        free(p->tasks.at[i]->partial);
        free(p->tasks.at[i]);
    }
    vec_fini(&p->tasks);
}

void log_print_place(struct log_print *p, const char *name, uint64_t attempt, uint64_t offset)
{
    struct log_task *task = task_of(p, name);
    task->attempt = attempt;
    task->offset = offset;
}

void log_print_resume(const struct log_print *p, struct buf *body)
{
    if (p->tasks.n == 0)
        return;
    struct arena *a = arena_create();
    struct text_node *root = text_map(a, NULL, NULL), *from = text_map(a, root, "from");
    for (size_t i = 0; i < p->tasks.n; i++) {
        const struct log_task *task = p->tasks.at[i];
        struct text_node *at = text_map(a, from, task->name);
        text_int(a, at, "attempt", (int64_t)task->attempt);
        text_int(a, at, "offset", (int64_t)task->offset);
    }
    json_print(root, 0, body);
    arena_destroy(a);
}
