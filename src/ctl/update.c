/* A text applied again: what it says beside the job that lives. A job is what it was submitted as;
 * only whether it is held can be changed, everything else that differs is named and refused. */
#include "ctl/update.h"

#include "base/buf.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

#define VALUE_MAX 60
#define NAMED_MAX 3 /* differences that are said one by one */

struct comparing {
    struct arena *arena;
    char text[200];
    size_t n;
};

static const char *printed(struct arena *arena, const struct text_node *node)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    if (!node)
        return "left out";
    json_print(node, 0, &out);
    const char *text = arena_strndup(arena, buf_str(&out), out.len);
    return out.len > VALUE_MAX ? arena_printf(arena, "%.*s...", VALUE_MAX, text) : text;
}

static void differs(struct comparing *c, const char *path, const struct text_node *is,
                    const struct text_node *wanted)
{
    size_t used = strlen(c->text);
    if (c->n++ < NAMED_MAX)
        snprintf(c->text + used, sizeof c->text - used, "%s%s is %s, not %s", used ? "; " : "",
                 path, printed(c->arena, is), printed(c->arena, wanted));
}

static void compare(struct comparing *c, const char *path, const struct text_node *is,
                    const struct text_node *wanted)
{
    if (!is || !wanted || is->kind != TEXT_MAP || wanted->kind != TEXT_MAP) {
        bool same = is && wanted && strcmp(printed(c->arena, is), printed(c->arena, wanted)) == 0;
        if (!same)
            differs(c, path, is, wanted);
        return;
    }
    const char *dot = *path ? "." : "";
    for (const struct text_node *one = is->first; one; one = one->next)
        compare(c, arena_printf(c->arena, "%s%s%s", path, dot, one->key), one,
                text_get(wanted, one->key));
    for (const struct text_node *one = wanted->first; one; one = one->next)
        if (!text_get(is, one->key))
            differs(c, arena_printf(c->arena, "%s%s%s", path, dot, one->key), NULL, one);
}

/* The job as a tree, without whether it is held. */
static struct text_node *lasting(struct arena *arena, const struct job_spec *job)
{
    struct job_spec copy = *job;
    copy.suspend = false;
    return job_encode(arena, &copy);
}

static int compared(struct ctl *ctl, const struct job_row *row, const struct job_spec *spec,
                    const struct job_spec *wanted, struct err *err)
{
    struct comparing c = { .arena = ctl->scratch };
    compare(&c, "", lasting(ctl->scratch, spec), lasting(ctl->scratch, wanted));
    if (c.n == 0)
        return 0;
    err_set(err, ERR_CONFLICT, "job %llu lives and differs in more than suspend: %s%s",
            (unsigned long long)row->number, c.text, c.n > NAMED_MAX ? "; and more" : "");
    return err_remedy_of(err, REMEDY_STOP_JOB, "%llu", (unsigned long long)row->number);
}

struct live_array *update_array_target(struct ctl *ctl, const char *owner,
                                       const struct job_spec *spec)
{
    struct live_array *array = array_named(ctl->arrays, spec->name);
    bool same = array && strcmp(array->row.project, spec->project ? spec->project : "") == 0 &&
                strcmp(array->row.owner, owner) == 0;
    return same ? array : NULL;
}

int update_array(struct ctl *ctl, struct live_array *array, const struct update *to,
                 struct err *err)
{
    if (compared(ctl, &array->row, array->spec, to->wanted, err))
        return -1;
    bool suspended = array->notes.commanded ? array->notes.command == ARRAY_SUSPEND
                                            : array->row.state == JOB_SUSPENDED;
    if (suspended == to->wanted->suspend)
        return 0;
    if (!to->dry_run)
        array_work_command(ctl, array, to->owner, to->wanted->suspend ? CTL_SUSPEND : CTL_RESUME);
    return 1;
}

struct live_job *update_target(struct ctl *ctl, const char *owner, const struct job_spec *spec)
{
    size_t cursor = 0;
    struct live_job *job, *newest = NULL;
    const char *project = spec->project ? spec->project : "";
    while (live_next(ctl->live, &cursor, &job))
        if (!job_state_final(job->row.state) && !job->row.array &&
            strcmp(job->row.name, spec->name) == 0 && strcmp(job->row.project, project) == 0 &&
            strcmp(job->row.owner, owner) == 0 && (!newest || job->row.id > newest->row.id))
            newest = job;
    return newest;
}

int update_job(struct ctl *ctl, struct live_job *job, const struct update *to, struct err *err)
{
    const struct job_spec *spec = core_spec(ctl, job);
    if (!spec)
        return err_set(err, ERR_SYSTEM, "the record of job %llu cannot be read",
                       (unsigned long long)job->row.number);
    if (compared(ctl, &job->row, spec, to->wanted, err))
        return -1;
    bool held = job->row.state == JOB_SUSPENDED || job->row.outcome == OUTCOME_SUSPENDED;
    if (held == to->wanted->suspend)
        return 0;
    if (to->dry_run)
        return 1;
    return command_suspend(ctl, job, to->owner, to->wanted->suspend, err) ? -1 : 1;
}
