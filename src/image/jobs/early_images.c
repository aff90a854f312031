/* The order of turns is that of a pass, which says of every job that waits why. The digest of an
 * image is asked for when its job comes in, so most are known by then; what is not known yet is
 * looked at again after each commit, and those behind it wait for that. What is asked for once is
 * not asked for again: a job whose image failed, or was removed meanwhile, fetches it when it
 * starts. */
#include "image/jobs/early_images.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "image/jobs/handle.h"
#include "image/jobs/user_dirs.h"
#include "job/image_progress.h"
#include "live/lines.h"
#include "live/row_json.h"
#include "sched/tally.h"
#include "source/registry_auth.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

#define SAY_MS      5000u
#define IMAGES_MOST 8u /* of a job */

/* ---- which jobs ---- */

void early_images_begin(struct images *images)
{
    vec_clear(&images->early.next);
}

/* Of those that room, or its turn, is all they wait for. */
static bool is_near(enum wait_why why)
{
    switch (why) {
    case WAIT_RESOURCE:
    case WAIT_PORTS:
    case WAIT_AHEAD:
    case WAIT_QUOTA:
    case WAIT_USER:
    case WAIT_RESERVED:
    case WAIT_EVICTING:
    case WAIT_TOPOLOGY: return true;
    default: return false;
    }
}

static bool names_image(const struct job_spec *spec)
{
    for (size_t i = 0; i < spec->n_roles; i++)
        if (spec->roles[i].image)
            return true;
    return false;
}

static bool is_next(const struct images *images, const struct live_job *job, enum wait_why why)
{
    return is_near(why) && images->early.next.n < EARLY_JOBS && job->spec &&
           names_image(job->spec) && live_wait_position(images->config.live, job) < EARLY_LOOK;
}

/* The first of a line speaks for those behind it, whose images may be others. */
void early_images_note(struct images *images, const struct live_job *job,
                       const struct wait_reason *reason)
{
    const struct line *line = job->line;
    size_t n = line && line_first_id(line) == job->row.id ? line_jobs(line) : 1;
    if (!is_next(images, job, reason->why))
        return;
    vec_push(&images->early.next, job->row.id);
    for (size_t i = 1; i < n && i < EARLY_JOBS; i++) {
        struct live_job *one = live_find(images->config.live, line->ids.at[line->head + i]);
        if (one && images_spec(images, one) && is_next(images, one, reason->why))
            vec_push(&images->early.next, one->row.id);
    }
}

void early_images_join(struct images *images, const struct live_job *job)
{
    if (job->line && is_next(images, job, job->line->why.why))
        vec_push(&images->early.next, job->row.id);
}

/* ---- asking ---- */

static bool are_done(const struct live_job *job)
{
    for (uint32_t i = 0; i < job->n_early; i++)
        if (job->early[i].step == IMAGE_STEP_NONE || job->early[i].step == IMAGE_EARLY_FETCHES)
            return false;
    return true;
}

/* Tasks that have started wait for it now, and what has come already is of use. */
static bool are_wanted(const struct live_job *job)
{
    return job && !live_closing(job) && !job_state_final(job->row.state) &&
           job->row.state != JOB_SUSPENDED;
}

static void drop_unwanted(struct images *images)
{
    size_t kept = 0;
    for (size_t i = 0; i < images->early.open.n; i++) {
        const uint64_t id = images->early.open.at[i];
        struct live_job *job = live_find(images->config.live, id);
        bool wanted = are_wanted(job);
        if (wanted && !are_done(job))
            images->early.open.at[kept++] = id;
        if (wanted)
            continue;
        if (job)
            job->n_early = 0; /* anew when it is resumed */
        if (images->config.drop_early)
            images->config.drop_early(images->config.early_arg, id);
    }
    images->early.open.n = kept;
}

struct targets { /* machines that images of a job come to */
    bool here;
    uint32_t at[EARLY_MACHINES]; /* others, the idlest first */
    size_t n;
};

static void add_target(const struct images *images, struct targets *targets, uint32_t node)
{
    const struct cluster *cluster = images->config.cluster;
    uint32_t tasks = cluster_node(cluster, node).tasks;
    size_t i = targets->n;
    while (i > 0 && cluster_node(cluster, targets->at[i - 1]).tasks > tasks)
        i--;
    if (i == EARLY_MACHINES)
        return;
    targets->n += targets->n < EARLY_MACHINES;
    memmove(&targets->at[i + 1], &targets->at[i], (targets->n - i - 1) * sizeof *targets->at);
    targets->at[i] = node;
}

/* Where may its tasks be, when others have ended? Those of an account only here. */
static void find_targets(const struct images *images, const struct live_job *job, bool account,
                         struct targets *out)
{
    struct arena *arena = arena_create();
    struct cluster *empty = cluster_clone(images->config.cluster);
    struct tally tally;
    *out = (struct targets){ .n = 0 };
    tally_init(&tally, arena, empty, job->spec);
    for (uint32_t i = 0; i < tally.n_nodes; i++) {
        const struct node_spec *spec = cluster_node(images->config.cluster, i).spec;
        if (!tally.of_use[i] || spec->gone)
            continue;
        out->here = out->here || (!spec->machine && !spec->engine);
        if (spec->machine && spec->early_images && !account &&
            cluster_node(images->config.cluster, i).up)
            add_target(images, out, i);
    }
    cluster_destroy(empty);
    arena_destroy(arena);
}

static struct words digests_ahead(struct images *images, const struct live_job *job)
{
    struct words all = { .at = ARENA_ARRAY(images->config.scratch, EARLY_JOBS * IMAGES_MOST,
                                           const char *) };
    for (size_t i = 0; i < images->early.next.n && images->early.next.at[i] != job->row.id; i++) {
        struct live_job *one = live_find(images->config.live, images->early.next.at[i]);
        if (!one || !images_spec(images, one))
            continue;
        const struct words names = images_pinned(images, one);
        for (size_t k = 0; k < names.n && k < IMAGES_MOST; k++)
            all.at[all.n++] = strrchr(names.at[k], ':') + 1;
    }
    return all;
}

static void send_wishes(struct images *images, struct live_job *job, const struct words *names,
                        const struct account *account)
{
    struct err err = { .code = ERR_NONE };
    const struct user_dirs dirs = { images->config.state_dir, images->config.users_dir };
    const char *auth = registry_auth_find(images->config.store, images->config.scratch, &job->row);
    if (user_dirs_make_images(&dirs, account, &err) < 0)
        log_warn("image.early", "job=%llu: %s", (unsigned long long)job->row.number, err.what);
    for (uint32_t i = 0; i < job->n_early; i++) {
        const struct image_wish wish = {
            .job = job->row.id,
            .name = names->at[i % names->n],
            .node = job->early[i].node,
            .store = user_dirs_images(&dirs, images->config.scratch, account),
            .limit = images->config.size,
            .keep = digests_ahead(images, job),
            .account = account,
            .auth = auth,
        };
        images->config.fetch_early(images->config.early_arg, &wish);
    }
}

/* All of one machine, then all of the next. */
static void note_wishes(const struct images *images, struct live_job *job,
                        const struct words *names, const struct targets *targets)
{
    size_t machines = targets->here + targets->n;
    job->early = ARENA_ARRAY(job->arena, names->n * machines, struct early_image);
    job->n_early = (uint32_t)(names->n * machines);
    job->early_of = job->row.generation;
    for (size_t i = 0; i < job->n_early; i++) {
        size_t at = i / names->n;
        bool here = targets->here && at == 0;
        const char *node =
            here ? ""
                 : cluster_node(images->config.cluster, targets->at[at - targets->here]).spec->name;
        job->early[i] = (struct early_image){ .name = images_name(job, names->at[i % names->n]),
                                              .node = arena_strdup(job->arena, node),
                                              .problem = "" };
    }
}

static void ask(struct images *images, struct live_job *job)
{
    struct words names = images_pinned(images, job);
    struct job_row row;
    struct site_record site = { .parent = 0 };
    struct targets targets;
    names.n = names.n < IMAGES_MOST ? names.n : IMAGES_MOST;
    if (names.n == 0)
        return;
    if (images_row(images, job, &row) == 0)
        row_json_read_site(images->config.scratch, row.site, &site);
    find_targets(images, job, site.account, &targets);
    if (!targets.here && targets.n == 0)
        return;
    note_wishes(images, job, &names, &targets);
    vec_push(&images->early.open, job->row.id);
    if (images->config.fetch_early)
        send_wishes(images, job, &names, site.account);
}

/* Once before each of its generations. */
static bool is_to_ask(const struct live_job *job)
{
    return job->n_early == 0 || (job->early_of != job->row.generation && are_done(job));
}

void early_images_go_on(struct images *images)
{
    drop_unwanted(images);
    if (!images->config.fetch_early && !images_replay(images))
        return;
    for (size_t i = 0; i < images->early.next.n; i++) {
        struct live_job *job = live_find(images->config.live, images->early.next.at[i]);
        if (!job || !job->waits || !are_wanted(job))
            continue;
        if (job->images_open)
            return; /* those behind it would take its room */
        if (is_to_ask(job) && images_spec(images, job))
            ask(images, job);
    }
}

/* ---- how it goes ---- */

static const char *place_of(const struct engine_fact *fact)
{
    return *fact->node ? fact->node : "this machine";
}

static void say_fetching(struct images *images, struct live_job *job,
                         const struct engine_fact *fact, const char *name)
{
    const struct image_progress *news = fact->image;
    char text[640], have[FMT_MAX], all[FMT_MAX];
    uint64_t now = images_now(images);
    if (job->images_said_ms && now - job->images_said_ms < SAY_MS)
        return;
    job->images_said_ms = now;
    fmt_bytes(all, news->total);
    snprintf(text, sizeof text, "%.100s has %s%s%s of image %.200s, while the job waits",
             place_of(fact), fmt_bytes(have, news->bytes), news->total ? " of " : "",
             news->total ? all : "", name);
    images_event(images, job, fact, text);
}

static void say_ready(struct images *images, const struct live_job *job,
                      const struct engine_fact *fact, const char *name)
{
    const struct image_progress *news = fact->image;
    char text[640], bytes[FMT_MAX], took[FMT_MAX];
    if (!news->bytes)
        return;
    snprintf(text, sizeof text,
             "%.100s has image %.200s, %s fetched and unpacked in %s while the job waited",
             place_of(fact), name, fmt_bytes(bytes, news->bytes),
             fmt_duration(took, news->took_ms));
    images_event(images, job, fact, text);
}

static void say_failed(struct images *images, const struct live_job *job,
                       const struct engine_fact *fact, const char *name)
{
    char text[768];
    snprintf(text, sizeof text,
             "image %.200s did not come%s%.100s while the job waits: %.300s; it is fetched when it "
             "starts",
             name, *fact->node ? " to " : "", fact->node, fact->image->problem);
    images_event(images, job, fact, text);
}

static struct early_image *find(const struct live_job *job, const char *name, const char *node)
{
    for (uint32_t i = 0; name && i < job->n_early; i++)
        if (strcmp(job->early[i].name, name) == 0 && strcmp(job->early[i].node, node) == 0)
            return &job->early[i];
    return NULL;
}

void early_images_hear(struct images *images, const struct engine_fact *fact)
{
    const struct image_progress *news = fact->image;
    struct live_job *job = live_find(images->config.live, fact->generation.job);
    if (!job || !images_spec(images, job) || job_state_final(job->row.state))
        return;
    struct early_image *image = find(job, images_name(job, news->name), fact->node);
    if (!image)
        return;
    images_touch(images, job);
    image->step = news->step;
    image->bytes = news->bytes;
    image->total = news->total ? news->total : image->total;
    if (news->step == IMAGE_EARLY_FETCHES) {
        say_fetching(images, job, fact, image->name);
    } else if (news->step == IMAGE_EARLY_READY) {
        say_ready(images, job, fact, image->name);
    } else {
        image->problem = arena_strdup(job->arena, news->problem);
        say_failed(images, job, fact, image->name);
    }
}
