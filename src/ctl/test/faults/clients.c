/* Clients that submit, command and remember what they were told. What was acknowledged is compared
 * with the records after each start. */
#include "ctl/test/faults/clients.h"

#include "base/buf.h"
#include "base/mem.h"
#include "ctl/core.h"
#include "ctl/node_work.h"
#include "ctl/results.h"

#include <stdio.h>
#include <string.h>

enum asked { ASKED_SUBMIT, ASKED_COMMAND, ASKED_OTHER };
struct question { /* who waits for an answer; freed by it */
    struct clients *clients;
    struct work *work;
    enum asked asked;
    enum ctl_verb verb;
};

void clients_init(struct clients *c, struct crash *crash, struct dice *dice)
{
    *c = (struct clients){ .crash = crash, .dice = dice };
}

static uint32_t below(struct clients *c, uint32_t n)
{
    return dice_below(c->dice, n);
}

/* ---- what they are told ---- */

static void wrong(struct clients *c, const char *what, const struct work *work, uint64_t told)
{
    if (!*c->wrong)
        snprintf(c->wrong, sizeof c->wrong, "%s: %s, %llu", what, work->name,
                 (unsigned long long)told);
}

static void acknowledged(struct clients *c, struct work *work, const struct ctl_answer *answer)
{
    uint64_t number = answer->made.submitted->number;
    if (work->acknowledged) {
        if (work->id != answer->job || work->number != number)
            wrong(c, "a repeated submission has another number", work, number);
        return;
    }
    work->acknowledged = true;
    work->id = answer->job;
    work->number = number;
    bool again = answer->made.submitted->existing;
    if (!again && (answer->job <= c->last_id || number <= c->last_number))
        wrong(c, "a number or an id is given a second time", work, number);
    c->last_id =
        answer->job + work->members > c->last_id ? answer->job + work->members : c->last_id;
    c->last_number =
        number + work->members > c->last_number ? number + work->members : c->last_number;
}

static bool comes_later(enum err_code code)
{
    return code == ERR_FULL || code == ERR_SYSTEM || code == ERR_UNAVAILABLE ||
           code == ERR_CONFLICT;
}

static void heard(struct work *work, enum err_code code)
{
    work->unheard--;
    work->failed = (code == ERR_FULL || code == ERR_SYSTEM) && work->unheard == 0;
}

static void done(void *arg, const struct ctl_answer *answer)
{
    struct question q = *(struct question *)arg;
    struct clients *c = q.clients;
    free(arg);
    if (crash_point(c->crash))
        return; /* it went nowhere */
    c->answers++;
    if (q.asked == ASKED_SUBMIT)
        heard(q.work, answer->err ? answer->err->code : ERR_NONE);
    size_t used = strlen(c->said);
    snprintf(c->said + used, sizeof c->said - used, " -> %s",
             answer->err ? answer->err->what : "ok");
    if (answer->err) {
        c->refusals++;
        if (q.asked == ASKED_SUBMIT && !comes_later(answer->err->code))
            q.work->refused = true;
        if (q.asked == ASKED_SUBMIT && !comes_later(answer->err->code) && answer->report &&
            answer->report->n)
            snprintf(c->said, sizeof c->said, "refused: %.150s", answer->report->at[0].what);
    } else if (q.asked == ASKED_SUBMIT) {
        acknowledged(c, q.work, answer);
    } else if (q.asked == ASKED_COMMAND && q.work) {
        q.work->stopped |= q.verb == CTL_STOP || q.verb == CTL_STOP_NOW;
        q.work->deleted |= q.verb == CTL_DELETE;
    }
    crash_point(c->crash);
}

static struct question *ask(struct clients *c, struct work *work, enum asked asked)
{
    struct question *q = mem_new(sizeof *q);
    *q = (struct question){ .clients = c, .work = work, .asked = asked };
    return q;
}

/* ---- submissions ---- */

static const char *pick(struct clients *c, const char *const *from, size_t n)
{
    return from[below(c, (uint32_t)n)];
}
#define PICK(c, ...)                                                                               \
    pick(c, (const char *const[]){ __VA_ARGS__ },                                                  \
         sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

/* true: it restarts as a whole. */
static bool add_role(struct clients *c, struct buf *out, const char *name)
{
    uint32_t most = 1 + below(c, 3);
    uint32_t least = below(c, 3) ? most : 1 + below(c, most);
    buf_addf(out, "\"%s\":{\"run\":\"x\",\"replicas\":{\"min\":%u,\"max\":%u},", name, least, most);
    buf_addf(out, "\"resources\":{\"cpu\":%s,\"gpu\":%s}", PICK(c, "0.5", "1", "1", "2", "3"),
             PICK(c, "0", "0", "0.25", "0.5", "1", "2"));
    if (below(c, 3) == 0)
        buf_addf(out, ",\"ports\":{\"p\":%u}", 1 + below(c, 2));
    if (below(c, 8) == 0)
        buf_puts(out, ",\"spares\":1");
    bool whole = below(c, 8) == 0;
    buf_puts(out, whole ? ",\"restart\":\"role\"}" : "}");
    return whole;
}

static void add_rules(struct clients *c, struct buf *out, struct work *work)
{
    work->unknown = below(c, 3);
    work->platform = 1 + below(c, 4);
    work->per_job = below(c, 3) == 0;
    buf_addf(
        out,
        ",\"retry\":{\"scope\":\"%s\",\"unknown\":%u,\"conflict\":2,\"platform\":%u,\"per_node\":%u}",
        work->per_job ? "job" : "task", work->unknown, work->platform, below(c, 4));
    if (below(c, 4) == 0)
        buf_addf(out, ",\"limits\":{\"run_time\":\"%us\",\"pending\":\"%us\"}", 1 + below(c, 20),
                 1 + below(c, 20));
    else if (below(c, 8) == 0)
        buf_addf(out, ",\"limits\":{\"hold\":\"%us\"},\"health\":{\"debug_hold\":%s}",
                 1 + below(c, 5), PICK(c, "false", "false", "true"));
    else if (below(c, 4) == 0)
        buf_addf(out, ",\"health\":{\"silent_after\":\"%us\"}", below(c, 10));
    if (below(c, 3) == 0)
        buf_addf(out, ",\"preemptible\":true,\"capacity\":\"%s\"", PICK(c, "any", "idle"));
}

static void write_work(struct clients *c, struct work *work)
{
    AUTO_BUF struct buf out = BUF_INIT(WORK_TEXT - 1);
    const struct work *before = c->n ? &c->works[below(c, (uint32_t)c->n)] : NULL;
    snprintf(work->name, sizeof work->name, "w%zu", c->n);
    work->owner = PICK(c, "ada", "bob");
    buf_addf(&out, "{\"name\":\"%s\",\"priority\":%u", work->name, 1 + below(c, 9));
    if (below(c, 8) == 0)
        buf_puts(&out, ",\"suspend\":true");
    if (below(c, 12) == 0)
        buf_addf(&out, ",\"array\":%u", work->members = 2 + below(c, 6));
    if (before && before->acknowledged && below(c, 8) == 0)
        buf_addf(&out, ",\"after\":[{\"job\":%llu,\"ended\":\"%s\"}]",
                 (unsigned long long)before->number, PICK(c, "any", "well"));
    if (c->queues && below(c, 2))
        buf_addf(&out, ",\"queue\":\"%s\"", PICK(c, "a", "b"));
    add_rules(c, &out, work);
    buf_puts(&out, ",\"roles\":{");
    work->by_role[0] = add_role(c, &out, "a");
    if (below(c, 3) == 0) {
        buf_puts(&out, ",");
        work->by_role[1] = add_role(c, &out, "b");
    }
    buf_puts(&out, "}}");
    snprintf(work->text, sizeof work->text, "%s", buf_str(&out));
}

static struct work *unanswered(struct clients *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (!c->works[i].acknowledged && !c->works[i].refused)
            return &c->works[i];
    return NULL;
}

size_t clients_waiting(const struct clients *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += !c->works[i].acknowledged && !c->works[i].refused;
    return n;
}

void clients_submit(struct clients *c, struct ctl *ctl)
{
    struct work *work = unanswered(c);
    bool again = work != NULL;
    if (!work && c->n == WORK_MAX)
        work = &c->works[below(c, WORK_MAX)]; /* answered; once more */
    if (!work) {
        work = &c->works[c->n];
        write_work(c, work);
        c->n++;
    }
    work->unheard++;
    work->failed = false;
    snprintf(c->said, sizeof c->said, "%s%s %.100s", again ? "again " : "", work->name, work->text);
    ctl_submit(ctl,
               &(struct submission){ .owner = work->owner,
                                     .text = work->text,
                                     .len = strlen(work->text),
                                     .key = work->name },
               done, ask(c, work, ASKED_SUBMIT));
}

/* ---- commands ---- */

static struct work *draw_work(struct clients *c)
{
    for (unsigned i = 0; i < 4 && c->n; i++) {
        struct work *work = &c->works[below(c, (uint32_t)c->n)];
        if (work->acknowledged && !work->deleted)
            return work;
    }
    return NULL;
}

static void restart(struct clients *c, struct ctl *ctl, struct work *work)
{
    static const char *const names[] = { "a/0", "a/1" };
    struct ctl_restart ask_for = { .owner = "root", .job = work->id };
    uint32_t drawn = below(c, 8);
    ask_for.how = drawn == 0 ? RESTART_NEVER : drawn < 3 ? RESTART_COUNTED : RESTART_WISH;
    if (below(c, 2))
        ask_for.tasks =
            (struct words){ .at = (const char **)(uintptr_t)names, .n = 1 + below(c, 2) };
    snprintf(c->said, sizeof c->said, "restart %s", work->name);
    ctl_restart(ctl, &ask_for, done, ask(c, work, ASKED_OTHER));
}

void clients_command(struct clients *c, struct ctl *ctl)
{
    static const unsigned verbs[] = { CTL_STOP,    CTL_STOP_NOW, CTL_SUSPEND, CTL_SUSPEND,
                                      CTL_SUSPEND, CTL_RESUME,   CTL_RESUME,  CTL_RESUME,
                                      CTL_RESUME,  CTL_DELETE,   CTL_PRIORITY };
    struct work *work = draw_work(c);
    if (!work)
        return;
    work->wishes++;
    if (below(c, 4) == 0) {
        restart(c, ctl, work);
        return;
    }
    unsigned verb = verbs[below(c, (uint32_t)ARRAY_LEN(verbs))];
    verb += verb == CTL_PRIORITY ? 1 + below(c, JOB_PRIORITY) : 0;
    struct question *q = ask(c, work, ASKED_COMMAND);
    q->verb = (enum ctl_verb)verb;
    work->delete_asked |= verb == CTL_DELETE;
    snprintf(c->said, sizeof c->said, "command %u %s", verb, work->name);
    ctl_command(ctl, work->owner, work->id, (enum ctl_verb)verb, done, q);
}

void clients_node(struct clients *c, struct ctl *ctl, const char *node)
{
    bool drain = below(c, 2);
    snprintf(c->said, sizeof c->said, "%s %s", drain ? "drain" : "undrain", node);
    ctl_node_command(ctl, node, drain, done, ask(c, NULL, ASKED_OTHER));
}

void clients_undrain(struct clients *c, struct ctl *ctl, const char *node)
{
    ctl_node_command(ctl, node, false, done, ask(c, NULL, ASKED_OTHER));
}

void clients_declare(struct clients *c, struct ctl *ctl)
{
    static const char text[] = "kind: quota\nname: a\nguaranteed: {gpu: 2}\n---\n"
                               "kind: quota\nname: b\nguaranteed: {gpu: 1}\n";
    snprintf(c->said, sizeof c->said, "declare queues");
    ctl_declare(ctl, &(struct declaration){ .owner = "root", .text = text, .len = sizeof text - 1 },
                done, ask(c, NULL, ASKED_OTHER));
}

bool clients_resume(struct clients *c, struct ctl *ctl)
{
    bool any = false;
    for (size_t i = 0; i < c->n; i++) {
        struct work *work = &c->works[i];
        for (uint32_t k = 0; work->acknowledged && k <= work->members; k++) {
            const struct live_job *job = live_find(ctl->live, work->id + k);
            if (!job || job->row.state != JOB_SUSPENDED)
                continue;
            any = true;
            work->wishes++;
            struct question *q = ask(c, work, ASKED_COMMAND);
            q->verb = CTL_RESUME;
            ctl_command(ctl, work->owner, work->id + k, CTL_RESUME, done, q);
        }
    }
    return any;
}
