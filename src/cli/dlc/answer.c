/* The answer of GetJob, made of the server's view of a job. Pure.
 *
 * Inputs: a view with tasks, spec, origin and timeline. Effects: none.
 *
 * Source: API 2020-12-03, GetJob. Caveats: what the job was written with comes from its own text;
 * for a job of another origin from its canonical form. Passwords are left out. */
#include "cli/dlc/answer.h"

#include "base/mem.h"
#include "cli/answer.h"
#include "dialect/dlc/dlc.h"
#include "job/ids.h"
#include "job/uuid.h"
#include "text/json.h"
#include "text/keyvalue.h"

#include <string.h>

const char *dlc_answer_time(struct arena *arena, const char *time)
{
    const char *dot = time ? strchr(time, '.') : NULL;
    return dot ? arena_printf(arena, "%.*sZ", (int)(dot - time), time) : time;
}

static void put_text(struct arena *arena, struct text_node *map, const char *key, const char *text)
{
    if (text && *text)
        text_str(arena, map, key, text);
}

static void put_time(struct arena *arena, struct text_node *map, const char *key,
                     const struct text_node *from, const char *member)
{
    put_text(arena, map, key, dlc_answer_time(arena, answer_text(from, member, NULL)));
}

/* ---- what it was submitted with ---- */

static struct text_node *parse_origin(struct arena *arena, const struct text_node *view)
{
    const char *text = answer_text(view, "origin", NULL);
    struct report report;
    if (!text || strcmp(text_word(view, "dialect"), "dlc") != 0)
        return NULL;
    report_init(&report, arena);
    struct text_node *root = keyvalue_like(text, strlen(text))
                                 ? keyvalue_parse(arena, text, strlen(text), &report)
                                 : json_parse(arena, text, strlen(text), JSON_COMMENTS, &report);
    return root ? dlc_body(arena, root, &report) : NULL;
}

static void drop(struct text_node *map, const char *key)
{
    struct text_node *before = NULL;
    for (struct text_node *node = map ? map->first : NULL; node; before = node, node = node->next) {
        if (strcmp(node->key, key) != 0)
            continue;
        *(before ? &before->next : &map->first) = node->next;
        map->last = map->last == node ? before : map->last;
        map->count--;
        return;
    }
}

static void put_body(struct arena *arena, struct text_node *out, const struct text_node *body)
{
    static const char *const fields[] = {
        "JobType",          "JobSpecs",       "UserCommand",      "DataSources",
        "CodeSource",       "ThirdpartyLibs", "ThirdpartyLibDir", "Envs",
        "Settings",         "ElasticSpec",    "UserVpc",          "Accessibility",
        "CredentialConfig", "Description",    "SuccessPolicy",    "JobMaxRunningTimeMinutes",
    };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const struct text_node *node = text_get(body, fields[i]);
        if (node)
            text_copy(arena, out, fields[i], node);
    }
    struct text_node *specs = text_get(out, "JobSpecs");
    for (struct text_node *spec = specs ? specs->first : NULL; spec; spec = spec->next) {
        drop(text_get(spec, "ImageConfig"), "Password");
        drop(text_get(spec, "ImageConfig"), "Auth");
    }
}

/* A job of another origin: its roles as pods, the first command. */
static void put_spec(struct arena *arena, struct text_node *out, const struct text_node *spec)
{
    const struct text_node *roles = text_get(spec, "roles");
    struct text_node *specs = text_list(arena, out, "JobSpecs");
    for (const struct text_node *role = roles ? roles->first : NULL; role; role = role->next) {
        struct text_node *one = text_map(arena, specs, NULL);
        const struct text_node *replicas = text_get(role, "replicas");
        const char *run = answer_text(role, "run", NULL);
        text_str(arena, one, "Type", role->key);
        text_int(arena, one, "PodCount",
                 replicas && replicas->kind == TEXT_INT ? replicas->integer : 1);
        put_text(arena, one, "Image", answer_text(role, "image", NULL));
        if (run && !text_get(out, "UserCommand"))
            text_str(arena, out, "UserCommand", run);
    }
}

/* ---- states ---- */

const char *dlc_answer_status(const char *state)
{
    size_t n;
    const struct dlc_status *all = dlc_statuses(&n);
    enum job_state wanted = job_state_parse(state);
    for (size_t i = 0; i < n; i++)
        if (all[i].state == wanted && wanted != JOB_NONE)
            return all[i].word;
    return state;
}

static void put_history(struct arena *arena, struct text_node *out, const struct text_node *view)
{
    const struct text_node *timeline = text_get(view, "timeline");
    struct text_node *list = text_list(arena, out, "StatusHistory"), *last = NULL;
    for (const struct text_node *e = timeline ? timeline->first : NULL; e; e = e->next) {
        const char *type = text_word(e, "type"), *state = answer_text(e, "state", NULL);
        if (!state || strncmp(type, "task.", 5) == 0)
            continue;
        const char *word = dlc_answer_status(state);
        if (last && strcmp(text_word(last, "Status"), word) == 0)
            continue;
        if (last)
            put_time(arena, last, "EndTime", e, "at");
        last = text_map(arena, list, NULL);
        text_str(arena, last, "Status", word);
        put_time(arena, last, "StartTime", e, "at");
        put_text(arena, last, "ReasonMessage", answer_text(e, "text", NULL));
    }
}

static void put_times(struct arena *arena, struct text_node *out, const struct text_node *view)
{
    const char *state = text_word(view, "state");
    uint64_t from = answer_time(view, "started"), to = answer_time(view, "ended");
    put_time(arena, out, "GmtCreateTime", view, "submitted");
    put_time(arena, out, "GmtSubmittedTime", view, "submitted");
    put_time(arena, out, "GmtRunningTime", view, "started");
    put_time(arena, out, "GmtFinishTime", view, "ended");
    if (strcmp(state, "succeeded") == 0)
        put_time(arena, out, "GmtSuccessedTime", view, "ended");
    if (strcmp(state, "failed") == 0)
        put_time(arena, out, "GmtFailedTime", view, "ended");
    if (strcmp(state, "stopped") == 0)
        put_time(arena, out, "GmtStoppedTime", view, "ended");
    if (from && to >= from)
        text_int(arena, out, "Duration", (int64_t)((to - from) / 1000));
}

static const char *reason_code(const char *state)
{
    if (strcmp(state, "succeeded") == 0)
        return "JobSucceeded";
    if (strcmp(state, "failed") == 0)
        return "JobFailed";
    return strcmp(state, "stopped") == 0 ? "JobStoppedByUser" : "";
}

/* ---- pods ---- */

/* An incarnation of a pod: the same id and attempt, the same text. */
static const char *pod_uid(struct arena *arena, const struct text_node *view, const char *pod,
                           uint64_t attempt)
{
    char uuid[UUID_TEXT];
    uint64_t job = 0;
    (void)job_id_parse(text_word(view, "id"), &job);
    const char *name = arena_printf(arena, "%s/%llu", pod, (unsigned long long)attempt);
    return arena_strdup(arena, uuid_of(uuid, "pod", job, name));
}

static void put_attempt(struct arena *arena, struct text_node *pod, const struct text_node *attempt)
{
    put_text(arena, pod, "Ip", answer_text(attempt, "address", NULL));
    put_text(arena, pod, "NodeName", answer_text(attempt, "node", NULL));
    put_time(arena, pod, "GmtCreateTime", attempt, "placed");
    put_time(arena, pod, "GmtStartTime", attempt, "started");
    put_time(arena, pod, "GmtFinishTime", attempt, "ended");
}

static const char *attempt_word(const struct text_node *attempt)
{
    const char *state = text_word(attempt, "state");
    return strcmp(state, "succeeded") == 0 ? "Succeeded"
           : strcmp(state, "lost") == 0    ? "Unknown"
                                           : "Failed";
}

static struct text_node *make_pod(struct arena *arena, struct text_node *list,
                                  const struct text_node *view, const struct text_node *task,
                                  uint64_t attempt)
{
    struct text_node *pod = text_map(arena, list, NULL);
    const char *id =
        arena_printf(arena, "dlc%s-%s-%llu", text_word(view, "id"), text_word(task, "role"),
                     (unsigned long long)text_number(task, "index"));
    text_str(arena, pod, "PodId", id);
    text_str(arena, pod, "PodUid", pod_uid(arena, view, id, attempt));
    text_str(arena, pod, "Type", text_word(task, "role"));
    text_str(arena, pod, "SubStatus", "Normal");
    text_str(arena, pod, "ResourceType", "Normal");
    return pod;
}

static void put_pod(struct arena *arena, struct text_node *list, const struct text_node *view,
                    const struct text_node *task)
{
    const struct text_node *attempts = text_get(task, "attempts");
    const struct text_node *last = attempts ? attempts->last : NULL;
    struct text_node *pod = make_pod(arena, list, view, task, text_number(last, "attempt"));
    struct text_node *history = text_list(arena, NULL, NULL);
    text_str(arena, pod, "Status", answer_text(task, "word", text_word(task, "state")));
    put_attempt(arena, pod, last);
    for (const struct text_node *a = attempts ? attempts->first : NULL; a && a != last;
         a = a->next) {
        struct text_node *old = make_pod(arena, history, view, task, text_number(a, "attempt"));
        text_str(arena, old, "Status", attempt_word(a));
        put_attempt(arena, old, a);
    }
    if (history->count)
        text_copy(arena, pod, "HistoryPods", history);
}

const struct text_node *dlc_answer_pod(const struct text_node *job, const char *pod)
{
    const struct text_node *pods = text_get(job, "Pods");
    size_t head = strlen(text_word(job, "JobId")) + 1, len = strlen(pod);
    for (const struct text_node *one = pods ? pods->first : NULL; one; one = one->next) {
        const char *id = text_word(one, "PodId"), *own = id + head;
        if (strcmp(id, pod) == 0 || strcmp(own, pod) == 0)
            return one;
        size_t dash = strlen(own) - strlen(strrchr(own, '-') ? strrchr(own, '-') : "");
        if (len == strlen(own) && dash < len && pod[dash] == '/' && strncmp(own, pod, dash) == 0 &&
            strcmp(own + dash + 1, pod + dash + 1) == 0)
            return one;
    }
    return NULL;
}

/* ---- the whole ---- */

/* "used/max" of whole-job restarts for platform faults, 3 unless the job says otherwise. */
static const char *restart_times(struct arena *arena, const struct text_node *view)
{
    const struct text_node *retry = text_get(text_get(view, "spec"), "retry");
    return arena_printf(arena, "%llu/%llu", (unsigned long long)text_number(view, "restarts"),
                        (unsigned long long)answer_number(retry, "platform", 3));
}

static struct text_node *sorted(struct arena *arena, struct text_node *parent, const char *key,
                                const struct text_node *node)
{
    if (node->kind != TEXT_MAP && node->kind != TEXT_LIST)
        return text_copy(arena, parent, key, node);
    struct text_node *out =
        node->kind == TEXT_MAP ? text_map(arena, parent, key) : text_list(arena, parent, key);
    const char *done = NULL; /* keys are unique: each time the least that is above the last */
    for (size_t i = 0; node->kind == TEXT_MAP && i < node->count; i++) {
        const struct text_node *least = NULL;
        for (const struct text_node *c = node->first; c; c = c->next)
            if ((!done || strcmp(c->key, done) > 0) && (!least || strcmp(c->key, least->key) < 0))
                least = c;
        if (!least)
            break;
        sorted(arena, out, least->key, least);
        done = least->key;
    }
    for (const struct text_node *c = node->first; node->kind == TEXT_LIST && c; c = c->next)
        sorted(arena, out, NULL, c);
    return out;
}

struct text_node *dlc_answer_sorted(struct arena *arena, const struct text_node *node)
{
    return sorted(arena, NULL, NULL, node);
}

struct text_node *dlc_answer_job(struct arena *arena, const struct text_node *view)
{
    struct text_node *out = text_map(arena, NULL, NULL), *pods;
    const struct text_node *body = parse_origin(arena, view), *tasks = text_get(view, "task_list");
    const char *state = text_word(view, "state");
    text_str(arena, out, "JobId", arena_printf(arena, "dlc%s", text_word(view, "id")));
    text_str(arena, out, "DisplayName", text_word(view, "name"));
    text_str(arena, out, "Status", answer_text(view, "word", dlc_answer_status(state)));
    text_str(arena, out, "ReasonCode", reason_code(state));
    text_str(arena, out, "ReasonMessage", text_word(view, "reason"));
    text_str(arena, out, "UserId", text_word(view, "owner"));
    text_str(arena, out, "WorkspaceId", answer_text(view, "project", "default"));
    text_str(arena, out, "WorkspaceName", answer_text(view, "project", "default"));
    const char *queue = answer_text(view, "queue", "default");
    text_str(arena, out, "ResourceId", strcmp(queue, DLC_PUBLIC_QUEUE) == 0 ? "" : queue);
    text_int(arena, out, "Priority", (int64_t)answer_number(view, "priority", 1));
    text_str(arena, out, "RestartTimes", restart_times(arena, view));
    text_bool(arena, out, "EnabledDebugger", false);
    if (body)
        put_body(arena, out, body);
    else
        put_spec(arena, out, text_get(view, "spec"));
    put_times(arena, out, view);
    put_history(arena, out, view);
    pods = text_list(arena, out, "Pods");
    for (const struct text_node *task = tasks ? tasks->first : NULL; task; task = task->next)
        put_pod(arena, pods, view, task);
    return out;
}
