/* A number for each image of a job on a machine, of this process; what is told of a number that is
 * not known any more is dropped. Credentials are passed on and not kept. */
#include "engine/machines/images.h"

#include "base/mem.h"
#include "base/vec.h"
#include "job/image_progress.h"

#include <stdlib.h>
#include <string.h>

struct image_request {
    uint64_t job;
    uint32_t number;
    bool lost;
    char *node, *name;
};
struct machine_images {
    struct hosts *hosts;
    const struct engine_sink *sink;
    uint32_t last;
    VEC(struct image_request) all;
};

struct machine_images *machine_images_create(struct hosts *hosts, const struct engine_sink *sink)
{
    struct machine_images *images = mem_new(sizeof *images);
    images->hosts = hosts;
    images->sink = sink;
    return images;
}

static void remove_at(struct machine_images *images, size_t i)
{
    free(images->all.at[i].node);
    free(images->all.at[i].name);
    vec_remove(&images->all, i);
}

void machine_images_destroy(struct machine_images *images)
{
    if (!images)
        return;
    while (images->all.n > 0)
        remove_at(images, images->all.n - 1);
    vec_fini(&images->all);
    free(images);
}

bool machine_images_fetch(struct machine_images *images, const struct machines_image *wanted)
{
    const struct wire_host_image said = { .number = ++images->last,
                                          .name = wanted->name,
                                          .limit = wanted->limit,
                                          .keep = wanted->keep,
                                          .auth = wanted->auth,
                                          .auth_len = wanted->auth ? strlen(wanted->auth) : 0 };
    bool sent = hosts_fetch_image(images->hosts, wanted->node, &said);
    *vec_add(&images->all) = (struct image_request){ .job = wanted->job,
                                                     .number = said.number,
                                                     .lost = !sent,
                                                     .node = mem_strdup(wanted->node),
                                                     .name = mem_strdup(wanted->name) };
    return sent;
}

void machine_images_drop(struct machine_images *images, uint64_t job)
{
    for (size_t i = images->all.n; i-- > 0;) {
        const struct image_request *one = &images->all.at[i];
        if (one->job != job)
            continue;
        hosts_drop_image(images->hosts, one->node, one->number);
        remove_at(images, i);
    }
}

/* ---- how they go ---- */

static void tell(const struct machine_images *images, const struct image_request *one,
                 const struct wire_host_image_report *news)
{
    const struct image_progress progress = { .step = news->step,
                                             .name = one->name,
                                             .digest = "",
                                             .bytes = news->bytes,
                                             .total = news->total,
                                             .took_ms = news->took_ms,
                                             .problem = news->problem };
    const struct engine_fact fact = {
        .kind = FACT_IMAGE, .generation = { .job = one->job }, .node = one->node, .image = &progress
    };
    images->sink->fact(images->sink->arg, &fact);
}

void machine_images_hear(struct machine_images *images, const char *node,
                         const struct wire_host_image_report *news)
{
    size_t i = 0;
    while (i < images->all.n &&
           (images->all.at[i].number != news->number || strcmp(images->all.at[i].node, node) != 0))
        i++;
    if (i == images->all.n)
        return;
    tell(images, &images->all.at[i], news);
    if (news->step != IMAGE_EARLY_FETCHES)
        remove_at(images, i);
}

void machine_images_lose(struct machine_images *images, const char *node)
{
    for (size_t i = 0; i < images->all.n; i++)
        images->all.at[i].lost |= strcmp(images->all.at[i].node, node) == 0;
}

void machine_images_tell_lost(struct machine_images *images)
{
    const struct wire_host_image_report news = { .step = IMAGE_EARLY_FAILED,
                                                 .problem = "its machine cannot be reached" };
    for (size_t i = images->all.n; i-- > 0;) {
        if (!images->all.at[i].lost)
            continue;
        tell(images, &images->all.at[i], &news);
        remove_at(images, i);
    }
}
