/* Documents that clients of other systems keep with a job, and things of theirs that are no jobs:
 * rows of the store, each change an event whose number is the version. The texts are theirs;
 * nothing here reads them. */
#include "ctl/faces.h"

#include "ctl/core.h"
#include "ctl/rights.h"

#include <stdio.h>
#include <string.h>

#define FACE     "face"
#define FACE_KEY "document"

void ctl_job_events(struct ctl *ctl, uint64_t job, uint64_t *first, uint64_t *last)
{
    *first = *last = 0;
    store_job_events(ctl->config.store, job, first, last);
}

uint64_t ctl_last_event(struct ctl *ctl)
{
    return store_last_event(ctl->config.store);
}

const char *ctl_own_user(const struct ctl *ctl)
{
    return ctl->admin;
}

const struct dialects *ctl_dialects(const struct ctl *ctl)
{
    return ctl->config.dialects;
}

/* ---- of a job ---- */

static struct object_row face_row(char id[JOB_ID_TEXT], uint64_t job)
{
    return (struct object_row){ .kind = FACE, .project = job_id_format(id, job), .name = FACE_KEY };
}

const char *ctl_face(struct ctl *ctl, struct arena *arena, uint64_t job)
{
    char id[JOB_ID_TEXT];
    struct object_row row = face_row(id, job);
    return store_get_object(ctl->config.store, arena, &row, NULL) == 1 ? row.spec : NULL;
}

void faces_drop(struct ctl *ctl, uint64_t job)
{
    char id[JOB_ID_TEXT];
    struct object_row row = face_row(id, job);
    store_delete_object(ctl->config.store, &row, NULL);
}

static int too_large(const char *text, struct err *err)
{
    if (strlen(text) <= FACE_MAX)
        return 0;
    return err_set(err, ERR_TOO_LARGE, "the document has %zu bytes, the most is %u", strlen(text),
                   FACE_MAX);
}

static int hold(struct ctl *ctl, const struct ctl_face *ask, struct err *err)
{
    struct live_job *job = live_find(ctl->live, ask->job);
    if (ask->hold == FACE_AS_IT_IS)
        return 0;
    if (!job || job_state_final(job->row.state))
        return err_set(err, ERR_CONFLICT, "the job has ended");
    return command_suspend(ctl, job, ask->owner, ask->hold == FACE_HOLD, err);
}

static int face_put(struct ctl *ctl, const struct ctl_face *ask, struct answer *answer)
{
    char id[JOB_ID_TEXT];
    struct job_row row;
    struct err *err = &answer->err;
    if (core_row(ctl, answer->arena, ask->job, &row))
        return err_set(err, ERR_NOT_FOUND, "no such job");
    if (!core_may(ctl, ask->owner, &row))
        return err_set(err, ERR_DENIED, "job %llu belongs to %s", (unsigned long long)row.number,
                       row.owner);
    if ((ask->text && too_large(ask->text, err)) || hold(ctl, ask, err))
        return -1;
    if (!ask->text)
        return 0;
    struct object_row face = face_row(id, ask->job);
    face.spec = ask->text;
    face.version = event_plain(ctl, ask->job, "noted", NULL);
    return store_put_object(ctl->config.store, &face, err);
}

void ctl_face_put(struct ctl *ctl, const struct ctl_face *ask, ctl_done *done, void *arg)
{
    struct answer *answer = turn_answer(ctl, done, arg);
    answer->writes = true;
    answer->job = ask->job;
    if (face_put(ctl, ask, answer) == 0)
        answer->tree = text_map(answer->arena, NULL, NULL);
}

/* ---- of none ---- */

static struct object_row thing_row(struct arena *arena, const struct ctl_thing *ask)
{
    return (struct object_row){ .kind = arena_printf(arena, "thing.%s", ask->kind),
                                .project = ask->project,
                                .name = ask->name };
}

static int thing_put(struct ctl *ctl, const struct ctl_thing *ask, struct answer *answer)
{
    struct arena *arena = answer->arena;
    struct err *err = &answer->err;
    struct object_row row = thing_row(arena, ask);
    bool there = store_get_object(ctl->config.store, arena, &row, NULL) == 1;
    if (there && ask->create)
        return err_set(err, ERR_CONFLICT, "%s \"%.100s\" already exists", ask->kind, ask->name);
    if (!there && !ask->create)
        return err_set(err, ERR_NOT_FOUND, "%s \"%.100s\" not found", ask->kind, ask->name);
    if (ask->text && too_large(ask->text, err))
        return -1;
    struct text_node *body = text_map(ctl->scratch, NULL, NULL);
    text_str(ctl->scratch, body, "kind", ask->kind);
    text_str(ctl->scratch, body, "project", ask->project);
    text_str(ctl->scratch, body, "name", ask->name);
    row.version = event_plain(ctl, 0, ask->text ? "thing.put" : "thing.removed", body);
    row.spec = ask->text;
    answer->tree = text_map(arena, NULL, NULL);
    text_int(arena, answer->tree, "version", (int64_t)row.version);
    return ask->text ? store_put_object(ctl->config.store, &row, err)
                     : store_delete_object(ctl->config.store, &row, err);
}

void ctl_thing_put(struct ctl *ctl, const struct ctl_thing *ask, ctl_done *done, void *arg)
{
    struct answer *answer = turn_answer(ctl, done, arg);
    answer->writes = true;
    thing_put(ctl, ask, answer);
}

int ctl_things(struct ctl *ctl, struct arena *arena, const struct ctl_thing *ask,
               struct object_row **rows, size_t *n, struct err *err)
{
    struct object_row row = thing_row(arena, ask);
    *n = 0;
    if (!ask->name || !ask->project)
        return store_objects(ctl->config.store, arena, &row, rows, n, err);
    int found = store_get_object(ctl->config.store, arena, &row, err);
    if (found < 0)
        return -1;
    *rows = ARENA_NEW(arena, struct object_row);
    **rows = row;
    *n = found == 1;
    return 0;
}
