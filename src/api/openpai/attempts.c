/* Starts of a job and attempts of its tasks, as version 2 counts them: a start of the whole job is
 * attempt n from 0, and within it each task has attempts k from 0. */
#include "api/openpai/attempts.h"

#include "api/openpai/job.h"
#include "api/openpai/members.h"
#include "base/mem.h"

#include <string.h>

static const struct attempt_view none; /* of a task that has none in that start */

static const struct attempt_view *or_none(const struct attempt_view *attempt)
{
    return attempt ? attempt : &none;
}

uint64_t pai_attempt_of(const struct job_view *job)
{
    return job->generation ? job->generation - 1 : 0;
}

size_t pai_attempts(const struct task_view *task, uint64_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < task->attempts.n; i++)
        count += task->attempts.at[i].generation == n + 1;
    return count;
}

const struct attempt_view *pai_attempt(const struct task_view *task, uint64_t n, uint64_t k)
{
    for (size_t i = 0; i < task->attempts.n; i++)
        if (task->attempts.at[i].generation == n + 1 && k-- == 0)
            return &task->attempts.at[i];
    return NULL;
}

const struct attempt_view *pai_last_attempt(const struct task_view *task, uint64_t n)
{
    size_t count = pai_attempts(task, n);
    return count ? pai_attempt(task, n, count - 1) : NULL;
}

const struct task_view *pai_task(const struct job_view *job, const char *role, uint64_t index)
{
    for (size_t i = 0; i < job->task_list.n; i++) {
        const struct task_view *task = &job->task_list.at[i];
        if (strcmp(task->role, role) == 0 && task->index == index)
            return task;
    }
    return NULL;
}

/* In OpenPAI's numbers where the job was written for it, else as the program ended. */
bool pai_exit_code(unsigned version, const struct attempt_view *attempt, int64_t *code)
{
    if (!attempt)
        return false;
    if (attempt->has_foreign_code)
        *code = attempt->foreign_code;
    else if (attempt->state == ATTEMPT_STOPPED)
        *code = pai_stop_code(version, false);
    else if (attempt->has_exit_code)
        *code = attempt->exit_code;
    else if (attempt->has_signal)
        *code = 128 + attempt->signal;
    else
        return false;
    return true;
}

const char *pai_end_class(const struct attempt_view *attempt)
{
    return attempt && attempt->class ? end_class_word(attempt->class) : NULL;
}

void pai_put_attempt_times(struct arena *a, struct text_node *out,
                           const struct attempt_view *attempt)
{
    pai_put_ms(a, out, "currentAttemptCreatedTime", attempt->placed_ms);
    pai_put_ms(a, out, "currentAttemptLaunchedTime", attempt->started_ms);
    pai_put_ms(a, out, "currentAttemptCompletedTime", attempt->ended_ms);
}

bool pai_failed_before(const struct task_view *task, uint64_t n, uint64_t *first_ms)
{
    const struct attempt_view *last = or_none(pai_last_attempt(task, n));
    if ((last->state != ATTEMPT_FAILED && last->state != ATTEMPT_LOST) ||
        last->ended_ms >= *first_ms)
        return false;
    *first_ms = last->ended_ms;
    return true;
}

const char *pai_log_path(struct pai *p, const struct task_view *task, uint64_t n, uint64_t k)
{
    return arena_printf(
        p->a,
        "/rest-server/api/v2/jobs/%s/attempts/%llu/taskRoles/%s/taskIndex/%llu/attempts/%llu/logs",
        p->frame, (unsigned long long)n, task->role, (unsigned long long)task->index,
        (unsigned long long)k);
}

/* ---- tasks of one start ---- */

/* {label: "20001,20002"} */
static void put_ports(struct pai *p, struct text_node *out, const struct attempt_view *attempt)
{
    struct text_node *ports = text_map(p->a, out, "containerPorts");
    for (size_t i = 0; i < attempt->ports.n; i++) {
        const struct placed_port *port = &attempt->ports.at[i];
        const char *text = "";
        for (uint32_t k = 0; k < port->count; k++)
            text = arena_printf(p->a, "%s%s%u", text, k ? "," : "", port->numbers[k]);
        text_str(p->a, ports, port->label, text);
    }
}

/* Version 1: bit n of it is device n. */
static void put_devices(struct pai *p, struct text_node *out, const struct attempt_view *attempt)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < attempt->gpus.n; i++)
        if (attempt->gpus.at[i] < 63)
            bits |= 1ull << attempt->gpus.at[i];
    if (p->version == PAI_V1)
        text_int(p->a, out, "containerGpus", (int64_t)bits);
    else
        text_null(p->a, out, "containerGpus");
}

static void put_exit(struct pai *p, struct text_node *out, const struct attempt_view *attempt)
{
    int64_t code;
    if (pai_exit_code(p->version, attempt, &code))
        text_int(p->a, out, "containerExitCode", code);
    else
        text_null(p->a, out, "containerExitCode");
}

static void put_exit_more(struct pai *p, struct text_node *out, const struct attempt_view *attempt)
{
    const char *phrase = pai_said(attempt->phrase);
    int64_t code;
    if (phrase && pai_exit_code(p->version, attempt, &code)) {
        struct text_node *spec = text_map(p->a, out, "containerExitSpec");
        text_int(p->a, spec, "code", code);
        text_str(p->a, spec, "phrase", phrase);
        pai_put_text(p->a, spec, "type", pai_end_class(attempt));
        pai_put_text(p->a, spec, "reason", pai_said(attempt->text));
    } else {
        text_null(p->a, out, "containerExitSpec");
    }
    pai_put_text(p->a, out, "containerExitDiagnostics", pai_said(attempt->reason));
}

/* The state of the task in that start: of an earlier one, its last attempt's. */
static const char *state_in(const struct job_view *job, const struct task_view *task, uint64_t n,
                            const struct attempt_view *attempt)
{
    return n == pai_attempt_of(job) ? pai_task_word(task->state) : pai_attempt_word(attempt->state);
}

/* Since its first attempt in that start, and how often it was tried again. */
static void put_span(struct pai *p, struct text_node *out, const struct task_view *task, uint64_t n)
{
    size_t count = pai_attempts(task, n);
    const struct attempt_view *first = or_none(pai_attempt(task, n, 0));
    text_int(p->a, out, "retries", count ? (int64_t)count - 1 : 0);
    text_int(p->a, out, "accountableRetries", count ? (int64_t)count - 1 : 0);
    pai_put_ms(p->a, out, "createdTime", first->placed_ms);
    pai_put_ms(p->a, out, "launchedTime", first->started_ms);
    pai_put_ms(p->a, out, "completedTime", or_none(pai_last_attempt(task, n))->ended_ms);
}

static void put_task_v2(struct pai *p, struct text_node *out, const struct task_view *task,
                        uint64_t n)
{
    size_t count = pai_attempts(task, n);
    const struct attempt_view *attempt = or_none(pai_last_attempt(task, n));
    struct arena *a = p->a;
    text_str(a, out, "taskUid",
             arena_printf(a, "%llu-%s-%llu", (unsigned long long)p->id, task->role,
                          (unsigned long long)task->index));
    pai_put_text(a, out, "containerNodeName", pai_said(attempt->node));
    put_exit_more(p, out, attempt);
    put_span(p, out, task, n);
    text_int(a, out, "attemptId", count ? (int64_t)count - 1 : 0);
    text_str(a, out, "attemptState", pai_attempt_word(attempt->state));
    pai_put_attempt_times(a, out, attempt);
    text_null(a, out, "hived");
}

const char *pai_container(struct pai *p, const struct task_view *task,
                          const struct attempt_view *attempt)
{
    return arena_printf(p->a, "%llu-%s-%llu-%llu", (unsigned long long)p->id, task->role,
                        (unsigned long long)task->index, (unsigned long long)attempt->attempt);
}

void pai_put_task(struct pai *p, struct text_node *list, const struct job_view *job,
                  const struct task_view *task, uint64_t n)
{
    struct arena *a = p->a;
    size_t count = pai_attempts(task, n);
    const struct attempt_view *attempt = or_none(pai_last_attempt(task, n));
    struct text_node *out = text_map(a, list, NULL);
    text_int(a, out, "taskIndex", (int64_t)task->index);
    text_str(a, out, "taskState", state_in(job, task, n, attempt));
    pai_put_text(a, out, "containerId", count ? pai_container(p, task, attempt) : NULL);
    pai_put_text(a, out, "containerIp", pai_said(attempt->address));
    put_ports(p, out, attempt);
    put_devices(p, out, attempt);
    pai_put_text(a, out, "containerLog", count ? pai_log_path(p, task, n, count - 1) : NULL);
    put_exit(p, out, attempt);
    if (p->version == PAI_V2)
        put_task_v2(p, out, task, n);
}

struct text_node *pai_put_role(struct arena *a, struct text_node *roles, const char *name)
{
    struct text_node *role = text_map(a, roles, name);
    text_str(a, text_map(a, role, "taskRoleStatus"), "name", name);
    return text_list(a, role, "taskStatuses");
}

void pai_put_roles(struct pai *p, struct text_node *out, const struct job_view *job, uint64_t n)
{
    struct text_node *roles = text_map(p->a, out, "taskRoles"), *list = NULL;
    const struct task_list *all = &job->task_list;
    for (const struct task_view *task = all->at; task < all->at + all->n; task++) {
        if (task->index == 0) /* tasks of a role follow each other */
            list = pai_put_role(p->a, roles, task->role);
        pai_put_task(p, list, job, task, n);
    }
}

/* ---- one task's attempts ---- */

bool pai_number_of(const char *text, uint64_t *n)
{
    size_t len = strspn(text, "0123456789");
    *n = 0;
    if (!len || text[len] || len > 9)
        return false;
    for (; *text; text++)
        *n = *n * 10 + (uint64_t)(*text - '0');
    return true;
}

bool pai_find_task(struct pai *p, struct pai_place *place)
{
    uint64_t index;
    if (!pai_find_job(p))
        return false;
    place->job = pai_job_view(p, JOB_TASKS);
    if (!place->job)
        return false;
    if (pai_number_of(p->param[1], &place->n) && pai_number_of(p->param[3], &index) &&
        (place->task = pai_task(place->job, p->param[2], index)) != NULL &&
        place->n <= pai_attempt_of(place->job))
        return true;
    pai_fail(p, PAI_NO_JOB, "Task %.200s %.20s of attempt %.20s is not found in %.600s.",
             p->param[2], p->param[3], p->param[1], p->frame);
    return false;
}

static void put_attempt(struct pai *p, struct text_node *list, const struct pai_place *place,
                        uint64_t k)
{
    struct arena *a = p->a;
    const struct attempt_view *attempt = or_none(pai_attempt(place->task, place->n, k));
    struct text_node *out = text_map(a, list, NULL);
    text_int(a, out, "attemptId", (int64_t)k);
    text_str(a, out, "attemptState", pai_attempt_word(attempt->state));
    pai_put_attempt_times(a, out, attempt);
    pai_put_text(a, out, "containerIp", pai_said(attempt->address));
    pai_put_text(a, out, "containerNodeName", pai_said(attempt->node));
    put_ports(p, out, attempt);
    put_devices(p, out, attempt);
    text_str(a, out, "containerLog", pai_log_path(p, place->task, place->n, k));
    put_exit(p, out, attempt);
    put_exit_more(p, out, attempt);
}

void pai_task_attempts(struct pai *p)
{
    struct pai_place at;
    struct arena *a = p->a;
    if (!pai_find_task(p, &at))
        return;
    const struct attempt_view *last = or_none(pai_last_attempt(at.task, at.n));
    struct text_node *out = text_map(a, NULL, NULL);
    text_str(a, out, "username", at.job->owner);
    text_str(a, out, "jobName", at.job->name);
    text_int(a, out, "jobAttemptId", (int64_t)at.n);
    text_str(a, out, "taskRoleName", p->param[2]);
    text_int(a, out, "taskIndex", (int64_t)at.task->index);
    text_str(a, out, "taskState", state_in(at.job, at.task, at.n, last));
    put_span(p, out, at.task, at.n);
    struct text_node *list = text_list(a, out, "attempts");
    for (size_t k = pai_attempts(at.task, at.n); k-- > 0;)
        put_attempt(p, list, &at, k);
    pai_answer(p, 200, out);
}
