/* What parts of the core that have no turn of their own ask of it, and what it does for them: time,
 * specs and rows of jobs, events. Each is made here with the functions that it calls. */
#include "ctl/parts.h"

#include "backup/records_copy.h"
#include "ctl/core.h"
#include "documents/documents.h"
#include "image/jobs/images.h"
#include "rdzv/jobs/rdzv_table.h"
#include "secret/secrets.h"

#include <string.h>

static uint64_t tell_now(const void *ctl)
{
    return core_now(ctl);
}

static uint64_t tell_mono_us(const void *ctl)
{
    return core_mono_us(ctl);
}

static void be_woken(void *ctl, uint64_t at_ms)
{
    core_wake(ctl, at_ms);
}

static const struct job_spec *tell_spec(void *ctl, struct live_job *job)
{
    return core_spec(ctl, job);
}

static void write_event(void *arg, const struct launcher_event *event, const char *type)
{
    struct ctl *ctl = arg;
    if (live_find(ctl->live, event->job))
        event_note(ctl, event, type);
}

struct rdzv_table *core_rdzv_table(struct ctl *ctl)
{
    return rdzv_table_create(&(struct rdzv_table_config){ .engine = ctl->config.engine,
                                                          .dialects = ctl->config.dialects,
                                                          .live = ctl->live,
                                                          .server = { .arg = ctl,
                                                                      .now = tell_now,
                                                                      .mono_us = tell_mono_us,
                                                                      .wake = be_woken,
                                                                      .spec = tell_spec,
                                                                      .write = write_event } });
}

static const struct text_node *tell_kube_data(void *ctl, struct arena *arena, const char *owner,
                                              const char *project, const char *name)
{
    const struct document of = { .kind = DOCUMENT_SECRET, .project = project, .name = name };
    const struct document_view *view = document_find(ctl_documents(ctl), arena, &of);
    if (!view || !view->owner || strcmp(view->owner, owner) != 0)
        return NULL;
    const struct text_node *data = text_get(view->spec, "data");
    return data && data->kind == TEXT_MAP ? data : NULL;
}

struct secrets *core_secrets(struct ctl *ctl)
{
    return secrets_create(&(struct secrets_config){
        .accounts = ctl->accounts,
        .dialects = ctl->config.dialects,
        .engine = ctl->config.engine,
        .live = ctl->live,
        .server = { .arg = ctl, .spec = tell_spec, .kube_data = tell_kube_data } });
}

static bool tell_replays(const void *ctl)
{
    return taped_replays(ctl);
}

static int tell_row(void *ctl, struct arena *arena, uint64_t id, struct job_row *row)
{
    return core_row(ctl, arena, id, row);
}

static void look_at(void *ctl, struct live_job *job)
{
    core_touch(ctl, job);
}

static void keep_notes(void *ctl, struct live_job *job)
{
    event_job_row(ctl, job);
}

static void write_image_event(void *ctl, const struct live_job *job, struct text_node *body)
{
    event_plain(ctl, job->row.id, "image", body);
}

struct images *core_images(struct ctl *ctl)
{
    const struct ctl_config *c = &ctl->config;
    return images_create(&(struct images_config){ .store = c->store,
                                                  .live = ctl->live,
                                                  .cluster = ctl->cluster,
                                                  .scratch = ctl->scratch,
                                                  .state_dir = c->state_dir,
                                                  .users_dir = c->users_dir,
                                                  .size = c->images_size,
                                                  .ask = c->ask_images,
                                                  .ask_arg = c->ask_images_arg,
                                                  .fetch_early = c->fetch_early,
                                                  .drop_early = c->drop_early,
                                                  .early_arg = c->early_arg,
                                                  .server = { .arg = ctl,
                                                              .now = tell_now,
                                                              .replays = tell_replays,
                                                              .spec = tell_spec,
                                                              .row = tell_row,
                                                              .touch = look_at,
                                                              .keep = keep_notes,
                                                              .event = write_image_event } });
}

struct job_access core_job_access(struct ctl *ctl)
{
    return (struct job_access){ .engine = ctl->config.engine,
                                .live = ctl->live,
                                .arrays = ctl->arrays,
                                .accounts = ctl->accounts,
                                .key = ctl->key,
                                .arg = ctl,
                                .spec = tell_spec };
}

const struct job_access *ctl_access(const struct ctl *ctl)
{
    return &ctl->access;
}

struct records_copy *ctl_copy_records(struct ctl *ctl, bool own, struct err *err)
{
    const struct ctl_config *c = &ctl->config;
    return records_copy_begin(&(struct records_copy_config){ .store = c->store,
                                                             .accounts = ctl->accounts,
                                                             .live = ctl->live,
                                                             .state_dir = c->state_dir,
                                                             .meter = c->meter },
                              own, err);
}

void parts_end(struct ctl *ctl)
{
    images_destroy(ctl->images);
    rdzv_table_destroy(ctl->rdzv_table);
    secrets_destroy(ctl->secrets);
}
