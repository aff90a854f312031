/* Starts of a job and attempts of its tasks, as version 2 counts them: a start of the whole job is
 * attempt n from 0, and within it each task has attempts k from 0. */
#include "api/openpai/pai.h"

#include "base/mem.h"

#include <string.h>

static bool is(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}

uint64_t pai_attempt_of(const struct text_node *job)
{
    uint64_t generation = pai_number(job, "generation");
    return generation ? generation - 1 : 0;
}

static const struct text_node *first_of(const struct text_node *task)
{
    const struct text_node *all = text_get(task, "attempts");
    return all ? all->first : NULL;
}

size_t pai_attempts(const struct text_node *task, uint64_t n)
{
    size_t count = 0;
    for (const struct text_node *one = first_of(task); one; one = one->next)
        count += pai_number(one, "generation") == n + 1;
    return count;
}

const struct text_node *pai_attempt(const struct text_node *task, uint64_t n, uint64_t k)
{
    for (const struct text_node *one = first_of(task); one; one = one->next)
        if (pai_number(one, "generation") == n + 1 && k-- == 0)
            return one;
    return NULL;
}

static const struct text_node *last_of(const struct text_node *task, uint64_t n)
{
    size_t count = pai_attempts(task, n);
    return count ? pai_attempt(task, n, count - 1) : NULL;
}

const struct text_node *pai_task(const struct text_node *job, const char *role, uint64_t index)
{
    const struct text_node *list = text_get(job, "task_list");
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (is(pai_text(one, "role"), role) && pai_number(one, "index") == index)
            return one;
    return NULL;
}

/* In OpenPAI's numbers where the job was written for it, else as the program ended. */
bool pai_exit_code(unsigned version, const struct text_node *attempt, int64_t *code)
{
    const struct text_node *foreign = attempt ? text_get(attempt, "foreign_code") : NULL;
    const struct text_node *own = attempt ? text_get(attempt, "exit_code") : NULL;
    if (foreign)
        *code = foreign->integer;
    else if (attempt && is(pai_text(attempt, "state"), "stopped"))
        *code = pai_stop_code(version, false);
    else if (own)
        *code = own->integer;
    else if (attempt && pai_number(attempt, "signal"))
        *code = 128 + (int64_t)pai_number(attempt, "signal");
    else
        return false;
    return true;
}

void pai_put_attempt_times(struct arena *a, struct text_node *out, const struct text_node *attempt)
{
    pai_put_ms(a, out, "currentAttemptCreatedTime", pai_number(attempt, "placed_ms"));
    pai_put_ms(a, out, "currentAttemptLaunchedTime", pai_number(attempt, "started_ms"));
    pai_put_ms(a, out, "currentAttemptCompletedTime", pai_number(attempt, "ended_ms"));
}

static bool failed(const struct text_node *attempt)
{
    const char *state = pai_text(attempt, "state");
    return is(state, "failed") || is(state, "lost");
}

bool pai_failed_before(const struct text_node *task, uint64_t n, uint64_t *first_ms)
{
    const struct text_node *last = last_of(task, n);
    uint64_t at = last ? pai_number(last, "ended_ms") : 0;
    if (!last || !failed(last) || at >= *first_ms)
        return false;
    *first_ms = at;
    return true;
}

const struct text_node *pai_culprit(const struct text_node *job, uint64_t n)
{
    const struct text_node *list = text_get(job, "task_list"), *found = NULL;
    uint64_t first = UINT64_MAX;
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (pai_failed_before(one, n, &first))
            found = one;
    return found;
}

const char *pai_log_path(struct pai *p, const struct text_node *task, uint64_t n, uint64_t k)
{
    return arena_printf(
        p->a,
        "/rest-server/api/v2/jobs/%s/attempts/%llu/taskRoles/%s/taskIndex/%llu/attempts/%llu/logs",
        p->frame, (unsigned long long)n, pai_text(task, "role"),
        (unsigned long long)pai_number(task, "index"), (unsigned long long)k);
}

/* ---- tasks of one start ---- */

/* {label: "20001,20002"} */
static void put_ports(struct pai *p, struct text_node *out, const struct text_node *attempt)
{
    struct text_node *ports = text_map(p->a, out, "containerPorts");
    const struct text_node *all = attempt ? text_get(attempt, "ports") : NULL;
    for (const struct text_node *one = all ? all->first : NULL; one; one = one->next) {
        const char *text = NULL;
        for (const struct text_node *n = one->first; n; n = n->next)
            text = text ? arena_printf(p->a, "%s,%lld", text, (long long)n->integer)
                        : arena_printf(p->a, "%lld", (long long)n->integer);
        if (one->kind == TEXT_INT)
            text = arena_printf(p->a, "%lld", (long long)one->integer);
        text_str(p->a, ports, one->key, text ? text : "");
    }
}

/* Version 1: bit n of it is device n. */
static void put_devices(struct pai *p, struct text_node *out, const struct text_node *attempt)
{
    const struct text_node *all = attempt ? text_get(attempt, "gpus") : NULL;
    uint64_t bits = 0;
    for (const struct text_node *one = all ? all->first : NULL; one; one = one->next)
        if (one->kind == TEXT_INT && one->integer >= 0 && one->integer < 63)
            bits |= 1ull << one->integer;
    if (p->version == PAI_V1)
        text_int(p->a, out, "containerGpus", (int64_t)bits);
    else
        text_null(p->a, out, "containerGpus");
}

static void put_exit(struct pai *p, struct text_node *out, const struct text_node *attempt)
{
    int64_t code;
    if (pai_exit_code(p->version, attempt, &code))
        text_int(p->a, out, "containerExitCode", code);
    else
        text_null(p->a, out, "containerExitCode");
}

static void put_exit_more(struct pai *p, struct text_node *out, const struct text_node *attempt)
{
    const char *phrase = attempt ? pai_text(attempt, "phrase") : NULL;
    int64_t code;
    if (phrase && pai_exit_code(p->version, attempt, &code)) {
        struct text_node *spec = text_map(p->a, out, "containerExitSpec");
        text_int(p->a, spec, "code", code);
        text_str(p->a, spec, "phrase", phrase);
        pai_put_text(p->a, spec, "type", pai_text(attempt, "class"));
        pai_put_text(p->a, spec, "reason", pai_text(attempt, "text"));
    } else {
        text_null(p->a, out, "containerExitSpec");
    }
    pai_put_text(p->a, out, "containerExitDiagnostics",
                 attempt ? pai_text(attempt, "reason") : NULL);
}

/* The state of the task in that start: of an earlier one, its last attempt's. */
static const char *state_in(const struct text_node *job, const struct text_node *task, uint64_t n,
                            const struct text_node *attempt)
{
    return pai_task_word(n == pai_attempt_of(job) ? pai_text(task, "state")
                                                  : pai_text(attempt, "state"));
}

static void put_task_v2(struct pai *p, struct text_node *out, const struct text_node *task,
                        uint64_t n)
{
    size_t count = pai_attempts(task, n);
    const struct text_node *attempt = last_of(task, n), *first = pai_attempt(task, n, 0);
    struct arena *a = p->a;
    text_str(a, out, "taskUid",
             arena_printf(a, "%llu-%s-%llu", (unsigned long long)p->id, pai_text(task, "role"),
                          (unsigned long long)pai_number(task, "index")));
    pai_put_text(a, out, "containerNodeName", pai_text(attempt, "node"));
    put_exit_more(p, out, attempt);
    text_int(a, out, "retries", count ? (int64_t)count - 1 : 0);
    text_int(a, out, "accountableRetries", count ? (int64_t)count - 1 : 0);
    pai_put_ms(a, out, "createdTime", pai_number(first, "placed_ms"));
    pai_put_ms(a, out, "launchedTime", pai_number(first, "started_ms"));
    pai_put_ms(a, out, "completedTime", pai_number(attempt, "ended_ms"));
    text_int(a, out, "attemptId", count ? (int64_t)count - 1 : 0);
    text_str(a, out, "attemptState", pai_task_word(pai_text(attempt, "state")));
    pai_put_attempt_times(a, out, attempt);
    text_null(a, out, "hived");
}

void pai_put_task(struct pai *p, struct text_node *list, const struct text_node *job,
                  const struct text_node *task, uint64_t n)
{
    struct arena *a = p->a;
    size_t count = pai_attempts(task, n);
    const struct text_node *attempt = last_of(task, n);
    struct text_node *out = text_map(a, list, NULL);
    text_int(a, out, "taskIndex", (int64_t)pai_number(task, "index"));
    text_str(a, out, "taskState", state_in(job, task, n, attempt));
    pai_put_text(a, out, "containerId",
                 attempt ? arena_printf(a, "%llu-%s-%llu-%llu", (unsigned long long)p->id,
                                        pai_text(task, "role"),
                                        (unsigned long long)pai_number(task, "index"),
                                        (unsigned long long)pai_number(attempt, "attempt"))
                         : NULL);
    pai_put_text(a, out, "containerIp", pai_text(attempt, "address"));
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

void pai_put_roles(struct pai *p, struct text_node *out, const struct text_node *job, uint64_t n)
{
    struct text_node *roles = text_map(p->a, out, "taskRoles");
    const struct text_node *list = text_get(job, "task_list");
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next) {
        const char *name = pai_text(one, "role");
        struct text_node *role = text_get(roles, name);
        pai_put_task(p, role ? text_get(role, "taskStatuses") : pai_put_role(p->a, roles, name),
                     job, one, n);
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
    place->job = pai_job_tree(p, CTL_TASKS);
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
    const struct text_node *attempt = pai_attempt(place->task, place->n, k);
    struct text_node *out = text_map(a, list, NULL);
    text_int(a, out, "attemptId", (int64_t)k);
    text_str(a, out, "attemptState", pai_task_word(pai_text(attempt, "state")));
    pai_put_attempt_times(a, out, attempt);
    pai_put_text(a, out, "containerIp", pai_text(attempt, "address"));
    pai_put_text(a, out, "containerNodeName", pai_text(attempt, "node"));
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
    size_t count = pai_attempts(at.task, at.n);
    const struct text_node *first = pai_attempt(at.task, at.n, 0), *last = last_of(at.task, at.n);
    struct text_node *out = text_map(a, NULL, NULL);
    text_str(a, out, "username", pai_text(at.job, "owner"));
    text_str(a, out, "jobName", pai_text(at.job, "name"));
    text_int(a, out, "jobAttemptId", (int64_t)at.n);
    text_str(a, out, "taskRoleName", p->param[2]);
    text_int(a, out, "taskIndex", (int64_t)pai_number(at.task, "index"));
    text_str(a, out, "taskState", state_in(at.job, at.task, at.n, last));
    text_int(a, out, "retries", count ? (int64_t)count - 1 : 0);
    text_int(a, out, "accountableRetries", count ? (int64_t)count - 1 : 0);
    pai_put_ms(a, out, "createdTime", pai_number(first, "placed_ms"));
    pai_put_ms(a, out, "launchedTime", pai_number(first, "started_ms"));
    pai_put_ms(a, out, "completedTime", pai_number(last, "ended_ms"));
    struct text_node *list = text_list(a, out, "attempts");
    for (size_t k = count; k-- > 0;)
        put_attempt(p, list, &at, k);
    pai_answer(p, 200, out);
}
