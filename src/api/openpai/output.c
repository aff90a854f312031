/* The output of tasks. A task's logs are links to files; each link carries a token that is good for
 * the output of this job and for some minutes, so that a browser follows it without a header. */
#include "api/openpai/output.h"

#include "api/openpai/attempts.h"
#include "api/openpai/job.h"
#include "api/openpai/members.h"
#include "base/mem.h"
#include "text/form.h"

#include <stdlib.h>
#include <string.h>

#define LINK_MS   (10u * 60 * 1000)
#define TAIL      16384u             /* bytes, as the original's */
#define WHOLE     ((size_t)64 << 20) /* bytes of one file at most, the last ones */
#define FILE_TEXT "text/plain; charset=utf-8"

static const struct {
    const char *name;
    unsigned stream; /* enum record_stream; 0: both */
} files[] = { { "stdout", RECORD_STDOUT }, { "stderr", RECORD_STDERR }, { "all", 0 } };

struct links { /* while their token is made */
    struct pai *p;
    const char *role, *node, *uid;
    bool tail;
};

/* What is no plain character of a name as %xx. */
static const char *escape(struct arena *a, const char *text)
{
    AUTO_BUF struct buf out = BUF_INIT(1u << 16);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~-", *c))
            buf_putc(&out, (char)*c);
        else
            buf_addf(&out, "%%%02X", *c);
    return arena_strdup(a, buf_str(&out));
}

static void on_token(void *arg, const struct ctl_answer *answer)
{
    const struct links *l = arg;
    struct pai *p = l->p;
    struct arena *a = p->a;
    struct text_node *out = text_map(a, NULL, NULL), *list = text_list(a, out, "locations");
    if (answer->err) {
        pai_err(p, answer->err, NULL);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct text_node *one = text_map(a, list, NULL);
        text_str(a, one, "name", files[i].name);
        text_str(a, one, "uri",
                 arena_printf(a,
                              "/log-manager/%s/api/v1/logs/%s?username=%s&framework-name=%s"
                              "&pod-uid=%s&taskrole=%s&token=%s%s",
                              escape(a, l->node), files[i].name, escape(a, p->user),
                              escape(a, p->frame), l->uid, escape(a, l->role),
                              answer->made.token->secret, l->tail ? "&tail-mode=true" : ""));
    }
    pai_answer(p, 200, out);
}

static bool flag(const struct pai *p, const char *name)
{
    const char *value = http_query(p->call->request, name, 0);
    return value && strcmp(value, "true") == 0;
}

void pai_task_logs(struct pai *p)
{
    struct pai_place at;
    uint64_t k;
    if (!pai_find_task(p, &at))
        return;
    const struct attempt_view *attempt =
        pai_number_of(p->param[4], &k) ? pai_attempt(at.task, at.n, k) : NULL;
    if (!attempt) {
        pai_fail(p, PAI_NO_LOG, "Log of task is not found.");
        return;
    }
    struct links *l = ARENA_NEW(p->a, struct links);
    const char *node = pai_said(attempt->node);
    p->user = at.job->owner;
    p->frame = arena_printf(p->a, "%s~%s", p->user, at.job->name);
    *l = (struct links){ .p = p,
                         .role = at.task->role,
                         .node = node ? node : "none",
                         .tail = flag(p, "tail-mode") || flag(p, "tailMode") };
    l->uid = arena_printf(p->a, "%llu.%llu.%llu", (unsigned long long)p->id,
                          (unsigned long long)at.task->index, (unsigned long long)attempt->attempt);
    const struct token_request ask = { .by = p->me,
                                       .owner = p->me,
                                       .label = "log link",
                                       .life_ms = LINK_MS,
                                       .job = arena_printf(p->a, "openpai-log:%llu",
                                                           (unsigned long long)p->id) };
    call_keep(p->call);
    ctl_token_create(p->ctl, &ask, on_token, l);
}

/* ---- the files ---- */

/* "job.index.attempt" */
static bool read_uid(const char *text, struct facade_log *ask)
{
    char *end;
    if (!text || strspn(text, "0123456789.") != strlen(text) || strlen(text) > 60)
        return false;
    ask->job = strtoull(text, &end, 10);
    if (*end != '.')
        return false;
    ask->index = (uint32_t)strtoull(end + 1, &end, 10);
    if (*end != '.')
        return false;
    ask->attempt = (uint32_t)strtoull(end + 1, &end, 10);
    return !*end && ask->attempt > 0;
}

/* A link's token is good for its job only; others read what they may. */
static bool allowed(const struct pai *p, const struct facade_log *ask)
{
    const char *job = p->call->who.job;
    const char *good = arena_printf(p->a, "openpai-log:%llu", (unsigned long long)ask->job);
    return (!job || strcmp(job, good) == 0) &&
           (p->open || answer_may_read(p->ctl, &p->call->who, ask->job));
}

void pai_log_file(struct pai *p)
{
    AUTO_BUF struct buf text = BUF_INIT(3 * WHOLE);
    struct facade_log ask = { .role = http_query(p->call->request, "taskrole", 0),
                              .max = flag(p, "tail-mode") || flag(p, "tailMode") ? TAIL : WHOLE };
    struct err err = { 0 };
    size_t i = 0;
    while (i < ARRAY_LEN(files) && strcmp(files[i].name, p->param[0]) != 0)
        i++;
    bool known = i < ARRAY_LEN(files) && ask.role &&
                 read_uid(http_query(p->call->request, "pod-uid", 0), &ask) && allowed(p, &ask);
    if (known) {
        ask.stream = files[i].stream;
        facade_admit(p->call, pai_reader(p));
    }
    if (known && facade_log_text(p->call, &ask, &text, &err) == 0)
        call_text(p->call, 200, FILE_TEXT, buf_str(&text), text.len);
    else if (err.code == ERR_BUSY)
        pai_err(p, &err, NULL);
    else
        pai_fail(p, PAI_NO_LOG, "Log of task is not found.");
}
