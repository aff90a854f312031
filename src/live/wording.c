/* Reasons in words. Pure: made of the reason and of what it points to, which is not changed; texts
 * that are too long are cut. */
#include "live/wording.h"

#include "base/buf.h"
#include "base/scan.h"
#include "depend/wording.h"
#include "job/device_error.h"
#include "live/live.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* ---- how an attempt ended ---- */

/* "SIGKILL" or "signal 40". */
static const char *words_signal(char out[24], int signal)
{
    const char *name = sigabbrev_np(signal);
    if (name)
        snprintf(out, 24, "SIG%s", name);
    else
        snprintf(out, 24, "signal %d", signal);
    return out;
}

static const char *const who[END_BY_N] = {
    [BY_KERNEL] = " by the kernel",       [BY_STRANGER] = " from outside",
    [BY_POLICY] = " by the job's policy", [BY_USER] = " by its user",
    [BY_LIMIT] = " by a limit",           [BY_PLATFORM] = " by the platform",
    [BY_CONFLICT] = " by a conflict",
};

static const char *const causes[END_CAUSE_N] = {
    [CAUSE_UNSTARTED] = "ended before it started",
    [CAUSE_AGENT_GONE] = "its agent is gone",
};

const char *words_beside(const struct ending *end, const char *remark)
{
    const char *own = end->cause < END_CAUSE_N ? causes[end->cause] : NULL;
    if (remark && *remark)
        return remark;
    return own ? own : "";
}

const char *words_end(char out[WORDS_MAX], const struct ending *end, const char *remark)
{
    char signal[24];
    const char *beside = words_beside(end, remark), *reason = *beside ? beside : NULL;
    const char *more = end->oom ? ", out of memory" : "";
    if (end->lost)
        snprintf(out, WORDS_MAX, "was lost%s%s", reason ? ": " : "", reason ? reason : "");
    else if (end->exited)
        snprintf(out, WORDS_MAX, "exited with %d%s%s%s", end->code, more, reason ? ": " : "",
                 reason ? reason : "");
    else if (end->signal)
        snprintf(out, WORDS_MAX, "killed (%s%s%s%s%s)", words_signal(signal, end->signal),
                 end->by < END_BY_N && who[end->by] ? who[end->by] : "", more, reason ? ": " : "",
                 reason ? reason : "");
    else
        snprintf(out, WORDS_MAX, "did not start: %s", reason ? reason : "no reason was given");
    return out;
}

static void say_ended(struct draft *draft, const struct reason *r)
{
    char name[160], how[WORDS_MAX];
    enum device_error error = device_error_of(r->ending);
    draft_add(draft, "%.100s on %.60s %.150s%s%s", live_task_name(name, r->job, r->flat),
              r->job->tasks[r->flat].place.node, words_end(how, r->ending, r->text),
              error ? ": " : "", error ? device_error_text(error) : "");
}

static void say_again(struct draft *draft, const struct reason *r)
{
    char wait[FMT_MAX], of[24] = "";
    struct draft what;
    draft_reason(&what, r->because);
    if (r->most)
        snprintf(of, sizeof of, " of %u", r->most);
    if (r->ms)
        draft_add(draft, "%s; again in %s, attempt %u%s", what.text, fmt_duration(wait, r->ms),
                  r->n, of);
    else
        draft_add(draft, "%s; again, attempt %u%s", what.text, r->n, of);
}

/* Which of a job's tasks died first, all that may have been it. */
static void say_dead(const struct live_column *notes, char out[LIVE_REASON_MAX])
{
    AUTO_BUF struct buf text = BUF_INIT(1u << 20);
    buf_puts(&text, notes->first_text ? notes->first_text : "");
    for (size_t i = 1; i < notes->first.n; i++) {
        size_t left = notes->first.n - i;
        bool fits = text.len + strlen(notes->first.at[i]) + 40 < LIVE_REASON_MAX;
        buf_puts(&text, i == 1 ? ", at the same moment as " : left == 1 || !fits ? " and " : ", ");
        if (!fits) {
            buf_addf(&text, "%zu more", left);
            break;
        }
        buf_puts(&text, notes->first.at[i]);
    }
    snprintf(out, LIVE_REASON_MAX, "%s", buf_str(&text));
}

/* What the reason of a job that failed says. */
static void say_first(struct draft *draft, const struct reason *r)
{
    const struct live_job *job = r->job;
    char dead[LIVE_REASON_MAX];
    say_dead(&job->notes, dead);
    if (job->row.tasks > 1 && !job->notes.first_is_root)
        draft_add(draft, "%.290s%s first of %u", dead, job->notes.first.n > 1 ? ":" : ",",
                  job->row.tasks);
    else
        draft_add(draft, "%s", dead);
}

/* ---- tasks and their nodes ---- */

static void say_avoids(struct draft *draft, const struct reason *r)
{
    char name[160];
    draft_add(draft, "%.60s is avoided from now on: %.120s failed %u times there",
              r->job->tasks[r->flat].failed_on, live_task_name(name, r->job, r->flat), r->n);
}

static void say_left_enough(struct draft *draft, const struct reason *r)
{
    char name[160];
    draft_add(draft, "%.120s failed %u times on %.60s, after %u nodes were left",
              live_task_name(name, r->job, r->flat), r->n, r->job->tasks[r->flat].failed_on,
              r->most);
}

static void say_other_port(struct draft *draft, const struct reason *r)
{
    char name[160];
    const struct task_place *place = &r->job->tasks[r->flat].place;
    const struct port_request *want = &r->job->spec->roles[place->role].ports[r->n];
    draft_add(draft, "%s: port %u (%.60s) is taken on %.60s, it has %u instead",
              live_task_name(name, r->job, r->flat), want->first, want->label, place->node,
              place->ports[r->n].numbers[0]);
}

static void say_started(struct draft *draft, const struct reason *r)
{
    draft_add(draft, "runs on %.255s, pid %u", r->job->tasks[r->flat].place.node, r->n);
}

/* ---- jobs ---- */

static void say_placed(struct draft *draft, const struct reason *r)
{
    const struct live_job *job = r->job;
    uint32_t unplaced = live_in_phase(job, PHASE_UNPLACED), placed = job->row.tasks - unplaced;
    char later[48] = "";
    if (unplaced)
        snprintf(later, sizeof later, ", %u more when there is room", unplaced);
    if (job->agents.n == 1)
        draft_add(draft, "%u task%s on %.80s%s", placed, placed == 1 ? "" : "s",
                  job->agents.at[0].node, later);
    else
        draft_add(draft, "%u tasks on %zu nodes%s", placed, job->agents.n, later);
}

static void say_up(struct draft *draft, const struct reason *r)
{
    draft_add(draft, "%u of %u tasks", r->n, r->most);
}

static void say_behind(struct draft *draft, const struct reason *r)
{
    draft_add(draft, "behind %u job%s", r->n, r->n == 1 ? "" : "s");
}

static void say_slot(struct draft *draft, const struct reason *r)
{
    draft_add(draft, "its array runs %u at a time", r->n);
}

static void say_verdict(struct draft *draft, const struct reason *r)
{
    char text[VERDICT_TEXT];
    draft_add(draft, "%s", verdict_text(text, r->job->spec, r->verdict));
}

static void say_new(struct draft *draft, const struct reason *r)
{
    draft_add(draft, "%s", r->n ? "held until it is resumed; " : "");
    switch (r->kind) {
    case REASON_IN_COPY: draft_add(draft, "in a copy of %.20s...", r->text); break;
    case REASON_WITH_CODE: draft_add(draft, "code from %.200s", r->text); break;
    case REASON_IN_DIRECTORY: draft_add(draft, "in %.200s", r->text); break;
    default: draft_add(draft, "in a fresh directory for each task"); break;
    }
}

static void say_said(struct draft *draft, const struct reason *r)
{
    draft_add(draft, "%s", r->text);
}

static void say_by(struct draft *draft, const struct reason *r)
{
    static const char *const done[] = { [REASON_STOPPED] = "stopped",
                                        [REASON_SUSPENDED] = "suspended",
                                        [REASON_RESUMED] = "resumed",
                                        [REASON_RESTARTED] = "restarted",
                                        [REASON_FAILED] = "declared failed" };
    draft_add(draft, "%s by %.100s", done[r->kind], r->text);
}

static void say_priority(struct draft *draft, const struct reason *r)
{
    draft_add(draft, "priority %u, by %.100s", r->n, r->text);
}

static void say_other(struct draft *draft, const struct reason *r)
{
    draft_add(draft, "%s ", r->kind == REASON_REPLACED ? "replaced by" : "makes room for");
    draft_job(draft, r->other);
}

static void say_depends(struct draft *draft, const struct reason *r)
{
    draft_dependency(draft, r->depend);
}

static void say_bundle(struct draft *draft, const struct reason *r)
{
    draft_bundle(draft, r->bundle);
}

static void say_ran_long(struct draft *draft, const struct reason *r)
{
    char limit[FMT_MAX];
    draft_add(draft, "ran longer than its limit of %s", fmt_duration(limit, r->ms));
}

static void say_waited_long(struct draft *draft, const struct reason *r)
{
    draft_add(draft, "did not start within its pending limit%s", *r->said->text ? ": " : "");
    draft_sentence(draft, r->said);
}

static void say_spent(struct draft *draft, const struct reason *r)
{
    struct draft what;
    draft_reason(&what, r->because);
    draft_add(draft, "%.200s; the job has exceeded its %u restarts", what.text, r->n);
}

/* ---- all ---- */

static const char *const plain[REASON_N] = {
    [REASON_ASKS_ALLOCATION] = "asks for an allocation of its own",
    [REASON_AGENT_ROOM] = "waits until the server has room for its agents",
    [REASON_BID] = "its bid is below the price of its nodes",
    [REASON_CUT_OFF] = "not all of its places were recorded when the server ended; none was used",
    [REASON_UNREADABLE] = "its record cannot be read",
};

static void (*const says[REASON_N])(struct draft *, const struct reason *) = {
    [REASON_SAID] = say_said,
    [REASON_STOPPED] = say_by,
    [REASON_SUSPENDED] = say_by,
    [REASON_RESUMED] = say_by,
    [REASON_RESTARTED] = say_by,
    [REASON_FAILED] = say_by,
    [REASON_PRIORITY] = say_priority,
    [REASON_IN_COPY] = say_new,
    [REASON_WITH_CODE] = say_new,
    [REASON_IN_DIRECTORY] = say_new,
    [REASON_FRESH] = say_new,
    [REASON_REPLACED] = say_other,
    [REASON_MAKES_ROOM] = say_other,
    [REASON_DEPENDS] = say_depends,
    [REASON_BUNDLE] = say_bundle,
    [REASON_PLACED] = say_placed,
    [REASON_BEHIND] = say_behind,
    [REASON_SLOT] = say_slot,
    [REASON_UP] = say_up,
    [REASON_VERDICT] = say_verdict,
    [REASON_RAN_LONG] = say_ran_long,
    [REASON_WAITED_LONG] = say_waited_long,
    [REASON_SPENT] = say_spent,
    [REASON_STARTED] = say_started,
    [REASON_ENDED] = say_ended,
    [REASON_AGAIN] = say_again,
    [REASON_FIRST] = say_first,
    [REASON_AVOIDS] = say_avoids,
    [REASON_LEFT_ENOUGH] = say_left_enough,
    [REASON_OTHER_PORT] = say_other_port,
};

void draft_reason(struct draft *draft, const struct reason *reason)
{
    draft_init(draft);
    if (plain[reason->kind])
        draft_add(draft, "%s", plain[reason->kind]);
    else
        says[reason->kind](draft, reason);
}
