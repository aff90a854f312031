/* A registry is asked once for a job, when it is submitted or at its first launch, by a child of
 * the server; launches wait for the answer. Where it cannot be asked from here the first node that
 * pulls says which image it was. Digests are notes of the job's row; what is asked and not answered
 * is known to this process alone and asked again by the next one. */
#include "image/jobs/images.h"

#include "base/mem.h"
#include "base/scan.h"
#include "image/jobs/handle.h"
#include "image/reference.h"
#include "job/image_progress.h"
#include "live/row_json.h"
#include "sched/cluster.h"
#include "source/registry_auth.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

#define SAY_MS 5000u /* between two events of how far they are */

struct images *images_create(const struct images_config *config)
{
    struct images *images = mem_new(sizeof *images);
    images->config = *config;
    return images;
}

void images_destroy(struct images *images)
{
    if (!images)
        return;
    vec_fini(&images->early.next);
    vec_fini(&images->early.open);
    free(images);
}

uint64_t images_now(const struct images *images)
{
    return images->config.server.now(images->config.server.arg);
}

const struct job_spec *images_spec(const struct images *images, struct live_job *job)
{
    return images->config.server.spec(images->config.server.arg, job);
}

int images_row(const struct images *images, const struct live_job *job, struct job_row *row)
{
    const struct images_config *c = &images->config;
    return c->server.row(c->server.arg, c->scratch, job->row.id, row);
}

void images_touch(const struct images *images, struct live_job *job)
{
    images->config.server.touch(images->config.server.arg, job);
}

bool images_replay(const struct images *images)
{
    return images->config.server.replays(images->config.server.arg);
}

struct image_progress *images_copy(struct arena *arena, const struct image_progress *news)
{
    struct image_progress *copy = news ? ARENA_NEW(arena, struct image_progress) : NULL;
    if (!news)
        return NULL;
    *copy = *news;
    copy->name = arena_strdup(arena, news->name);
    copy->digest = arena_strdup(arena, news->digest);
    copy->problem = arena_strdup(arena, news->problem);
    return copy;
}

static bool is_digest(const char *text)
{
    return strlen(text) == IMAGE_DIGEST_LEN && strspn(text, "0123456789abcdef") == IMAGE_DIGEST_LEN;
}

/* Jobs of before have it in their description. */
static bool are_used(const struct live_job *job)
{
    enum job_runtime noted = job->notes.runtime;
    return (noted == RUNTIME_SERVER ? job->spec->runtime : noted) > RUNTIME_HOST;
}

const char *images_of_launch(const struct live_job *job, struct arena *arena,
                             const struct role *role)
{
    const char *name = are_used(job) ? role->image : NULL;
    const char *digest = name ? pairs_get(&job->notes.images, name) : NULL;
    return digest ? arena_printf(arena, "%s@sha256:%s", name, digest) : name;
}

void images_add_to_launch(const struct images *images, const struct live_job *job,
                          struct arena *arena, struct launch *launch)
{
    if (!are_used(job))
        return;
    /* Said as servers said it that knew no runtime but bwrap: agents of their time take it. */
    launch->runtime = job->notes.runtime == RUNTIME_BWRAP ? RUNTIME_SERVER : job->notes.runtime;
    launch->registry_auth = registry_auth_find(images->config.store, arena, &job->row);
    launch->registry_auth_len = launch->registry_auth ? strlen(launch->registry_auth) : 0;
}

/* ---- asking ---- */

static bool has(const struct words *words, const char *name)
{
    for (size_t i = 0; i < words->n; i++)
        if (strcmp(words->at[i], name) == 0)
            return true;
    return false;
}

static struct words find_unknown(const struct images *images, const struct live_job *job)
{
    const struct job_spec *spec = job->spec;
    struct words names = { .at = ARENA_ARRAY(images->config.scratch, spec->n_roles, const char *) };
    for (size_t i = 0; i < spec->n_roles; i++) {
        const char *name = spec->roles[i].image;
        if (name && !strchr(name, '@') && !pairs_get(&job->notes.images, name) &&
            !has(&names, name))
            names.at[names.n++] = name;
    }
    return names;
}

static void send_question(struct images *images, struct live_job *job, struct words names,
                          bool pack)
{
    struct job_row row;
    struct site_record site = { .parent = 0 };
    if (images_row(images, job, &row) == 0)
        row_json_read_site(images->config.scratch, row.site, &site);
    const struct image_question question = {
        .job = job->row.id,
        .names = names,
        .pack = pack,
        .account = site.account,
        .auth = registry_auth_find(images->config.store, images->config.scratch, &job->row)
    };
    images->config.ask(images->config.ask_arg, &question);
}

void images_ask(struct images *images, struct live_job *job)
{
    if (job->images_asked || !job->spec || !are_used(job) ||
        !(images->config.ask || images_replay(images)))
        return;
    const struct words names = find_unknown(images, job);
    job->images_asked = true;
    job->images_open = (uint32_t)names.n;
    if (names.n > 0 && images->config.ask)
        send_question(images, job, names, false);
}

/* ---- machines: the server fetches an image for several ---- */

/* So many share no disk with the server and with each other; no more than two are counted. */
static unsigned count_machines(const struct images *images, const struct live_job *job)
{
    const char *first = NULL;
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        const char *node = live_due(&job->tasks[flat]) ? job->tasks[flat].place.node : NULL;
        uint32_t at = node ? cluster_find(images->config.cluster, node) : UINT32_MAX;
        if (at == UINT32_MAX || !cluster_node(images->config.cluster, at).spec->machine)
            continue;
        if (first && strcmp(first, node) != 0)
            return 2;
        first = node;
    }
    return first != NULL;
}

struct words images_pinned(const struct images *images, const struct live_job *job)
{
    const struct job_spec *spec = job->spec;
    struct words names = { .at = ARENA_ARRAY(images->config.scratch, spec->n_roles, const char *) };
    for (size_t i = 0; i < spec->n_roles; i++) {
        const char *name = images_of_launch(job, images->config.scratch, &spec->roles[i]);
        if (name && strchr(name, '@') && !has(&names, name))
            names.at[names.n++] = name;
    }
    return names;
}

/* What another account's credentials open is not kept as the server's own: each of its machines
 * asks the registry. */
static void ask_to_pack(struct images *images, struct live_job *job)
{
    if (job->images_packing || job->notes.alone || !are_used(job) ||
        !(images->config.ask || images_replay(images)) || count_machines(images, job) < 2)
        return;
    const struct words names = images_pinned(images, job);
    job->images_packing = true;
    job->images_open = (uint32_t)names.n;
    if (names.n > 0 && images->config.ask)
        send_question(images, job, names, true);
}

const char *images_packed(const struct images *images, struct arena *arena, uint64_t id,
                          const char *digest)
{
    const struct live_job *job = live_find(images->config.live, id);
    if (!job || !has(&job->images_packed, digest))
        return NULL;
    return arena_printf(arena, "%s/" IMAGES_PACKED "/%s", images->config.state_dir, digest);
}

static void note_packed(struct live_job *job, const char *digest)
{
    const size_t n = job->images_packed.n;
    const char **all = ARENA_ARRAY(job->arena, n + 1, const char *);
    if (n)
        memcpy(all, job->images_packed.at, n * sizeof *all);
    all[n] = arena_strdup(job->arena, digest);
    job->images_packed = (struct words){ .at = all, .n = n + 1 };
}

const char *images_wait(struct images *images, struct live_job *job)
{
    images_ask(images, job);
    if (job->images_open && !job->images_packing)
        return "waits until the registry has said which image it is";
    ask_to_pack(images, job);
    return job->images_open ? "waits until the server has its image for the machines" : NULL;
}

/* ---- answers ---- */

void images_event(struct images *images, const struct live_job *job, const struct engine_fact *fact,
                  const char *text)
{
    const struct image_progress *news = fact->image;
    struct text_node *body = text_map(images->config.scratch, NULL, NULL);
    text_str(images->config.scratch, body, "image", news->name);
    if (*news->digest)
        text_str(images->config.scratch, body, "digest", news->digest);
    if (*fact->node)
        text_str(images->config.scratch, body, "node", fact->node);
    bool counts = news->step == IMAGE_FETCHES || news->step == IMAGE_READY;
    if (counts || news->step == IMAGE_EARLY_FETCHES || news->step == IMAGE_EARLY_READY) {
        text_int(images->config.scratch, body, "bytes", (int64_t)news->bytes);
        if (news->total)
            text_int(images->config.scratch, body, "total", (int64_t)news->total);
        text_int(images->config.scratch, body, "ms", (int64_t)news->took_ms);
    }
    text_str(images->config.scratch, body, "text", text);
    images->config.server.event(images->config.server.arg, job, body);
}

const char *images_name(const struct live_job *job, const char *said)
{
    for (size_t i = 0; i < job->spec->n_roles; i++) {
        const char *name = job->spec->roles[i].image;
        size_t n = name ? strlen(name) : 0;
        if (name && strncmp(said, name, n) == 0 && (!said[n] || said[n] == '@'))
            return name;
    }
    return NULL;
}

static void pin(struct images *images, struct live_job *job, const struct engine_fact *fact,
                const char *name)
{
    const struct image_progress *news = fact->image;
    const char *known = pairs_get(&job->notes.images, name);
    const char *at = *fact->node ? fact->node : NULL;
    char text[512];
    if (known && strcmp(known, news->digest) == 0)
        return;
    if (known) {
        snprintf(text, sizeof text,
                 "image %.200s is sha256:%.12s%s%.100s, where this job has sha256:%.12s", name,
                 news->digest, at ? " for " : "", at ? at : "", known);
    } else {
        pairs_set(&job->notes.images, job->arena, name, news->digest);
        images->config.server.keep(images->config.server.arg, job);
        snprintf(text, sizeof text, "image %.200s is sha256:%.12s%s%.100s", name, news->digest,
                 at ? ", as fetched first by " : "", at ? at : "");
    }
    images_event(images, job, fact, text);
}

void images_answer(struct images *images, const struct engine_fact *fact)
{
    const struct image_progress *news = fact->image;
    struct live_job *job = live_find(images->config.live, fact->generation.job);
    if (!news || !job || !images_spec(images, job) || job_state_final(job->row.state))
        return;
    const char *name = images_name(job, news->name);
    if (job->images_open)
        job->images_open--;
    images_touch(images, job);
    if (!name)
        return;
    if (news->step == IMAGE_PINNED && is_digest(news->digest)) {
        pin(images, job, fact, name);
        return;
    }
    if (news->step == IMAGE_READY && is_digest(news->digest)) {
        if (!has(&job->images_packed, news->digest))
            note_packed(job, news->digest);
        return;
    }
    char text[640];
    snprintf(text, sizeof text, "%.500s; its nodes ask again", news->problem);
    images_event(images, job, fact, text);
}

/* ---- agents ---- */

static void say_fetching(struct images *images, struct live_job *job,
                         const struct engine_fact *fact, const char *name)
{
    const struct image_progress *news = fact->image;
    char text[512], have[FMT_MAX], all[FMT_MAX], rate[FMT_MAX];
    uint64_t now = images_now(images);
    if (job->images_said_ms && news->bytes && now - job->images_said_ms < SAY_MS)
        return; /* of another node, a moment ago */
    job->images_said_ms = now;
    fmt_bytes(rate, news->took_ms ? news->bytes * 1000 / news->took_ms : 0);
    fmt_bytes(all, news->total);
    if (!news->bytes)
        snprintf(text, sizeof text, "%.100s fetches image %.200s%s%s", fact->node, name,
                 news->total ? ", " : "", news->total ? all : "");
    else
        snprintf(text, sizeof text, "%.100s has %s%s%s of image %.200s, %s a second", fact->node,
                 fmt_bytes(have, news->bytes), news->total ? " of " : "", news->total ? all : "",
                 name, rate);
    images_event(images, job, fact, text);
}

static void say_ready(struct images *images, const struct live_job *job,
                      const struct engine_fact *fact, const char *name)
{
    const struct image_progress *news = fact->image;
    char text[512], bytes[FMT_MAX], took[FMT_MAX];
    if (!news->bytes)
        return;
    snprintf(text, sizeof text, "%.100s has image %.200s, %s fetched and unpacked in %s",
             fact->node, name, fmt_bytes(bytes, news->bytes), fmt_duration(took, news->took_ms));
    images_event(images, job, fact, text);
}

void images_hear(struct images *images, struct live_job *job, const struct engine_fact *fact)
{
    const struct image_progress *news = fact->image;
    const char *name = news ? images_name(job, news->name) : NULL;
    if (!name)
        return;
    if (is_digest(news->digest) && !strchr(name, '@'))
        pin(images, job, fact, name);
    if (news->step == IMAGE_FETCHES)
        say_fetching(images, job, fact, name);
    else if (news->step == IMAGE_READY)
        say_ready(images, job, fact, name);
}
