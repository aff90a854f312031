/* The pull of an agent, in its early way (node/fetch/make.h): the same store, locks and marks of
 * credentials, so that an agent finds what came with its own credentials, and nobody else's. Pulls
 * that tasks wait for go first by the locks of the store. Credentials are in memory alone, and
 * overwritten behind the pull. What a killed host had not finished is removed by whoever has the
 * lock next. */
#include "node/host_images.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "node/fetch/grants.h"
#include "node/fetch/pull.h"
#include "node/fetch/store.h"
#include "node/runtime/root.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SAY_MS      1000u
#define IMAGES_MOST 32u /* that wait for their turn */
#define LEAST_NICE  19
#define IDLE_CLASS  (3 << 13) /* of ioprio_set(2) */

struct coming {
    struct host_images *all;
    uint32_t number;
    char *name, *auth;
    size_t auth_len;
    uint64_t limit;
    VEC(char *) keep;
    VEC(int) held;     /* locks of those, while it comes */
    struct pull *pull; /* NULL: its turn has not come */
    uint64_t began_ms, said_ms, bytes, total;
    struct coming *next;
};
struct host_images {
    struct host_images_config config;
    char *store;
    struct coming *first; /* oldest first; the one that comes is in front */
};

static void go_on(struct host_images *all);

struct host_images *host_images_create(const struct host_images_config *config)
{
    struct host_images *all = mem_new(sizeof *all);
    all->config = *config;
    all->store = mem_printf("%s/images", config->dir);
    return all;
}

static void release(struct coming *one)
{
    for (size_t i = 0; i < one->held.n; i++)
        close(one->held.at[i]);
    vec_clear(&one->held);
}

static void free_coming(struct coming *one)
{
    pull_destroy(one->pull);
    release(one);
    if (one->auth)
        explicit_bzero(one->auth, one->auth_len);
    free(one->auth);
    free(one->name);
    for (size_t i = 0; i < one->keep.n; i++)
        free(one->keep.at[i]);
    vec_fini(&one->keep);
    vec_fini(&one->held);
    free(one);
}

static void take_off(struct coming *one)
{
    struct coming **at = &one->all->first;
    while (*at != one)
        at = &(*at)->next;
    *at = one->next;
}

static struct coming *find(const struct host_images *all, uint32_t number)
{
    struct coming *one = all->first;
    while (one && one->number != number)
        one = one->next;
    return one;
}

void host_images_drop_all(struct host_images *all)
{
    while (all->first) {
        struct coming *one = all->first;
        all->first = one->next;
        free_coming(one);
    }
}

void host_images_destroy(struct host_images *all)
{
    if (!all)
        return;
    host_images_drop_all(all);
    free(all->store);
    free(all);
}

bool host_images_store(const struct host_images *all, struct wire_host_store_report *out)
{
    struct store_sum sum;
    if (!store_add_up(all->store, &sum))
        return false;
    *out = (struct wire_host_store_report){
        .dir = all->store, .images = sum.images, .bytes = sum.bytes, .free = sum.free
    };
    return true;
}

/* ---- how it goes ---- */

static void tell(const struct coming *one, enum image_step step, const char *problem)
{
    const struct wire_host_image_report news = { .number = one->number,
                                                 .step = step,
                                                 .bytes = one->bytes,
                                                 .total = one->total,
                                                 .took_ms = clock_mono_ms() - one->began_ms,
                                                 .problem = problem };
    one->all->config.news(one->all->config.arg, &news);
}

static void end(struct coming *one, enum image_step step, const char *problem)
{
    struct host_images *all = one->all;
    take_off(one);
    tell(one, step, problem);
    free_coming(one);
    go_on(all);
}

static void tell_bytes(struct coming *one, const struct pull_progress *news)
{
    uint64_t now = clock_mono_ms();
    one->bytes = news->bytes;
    one->total = news->total;
    if (one->said_ms && now - one->said_ms < SAY_MS)
        return;
    one->said_ms = now;
    tell(one, IMAGE_EARLY_FETCHES, "");
}

static void on_news(void *arg, const struct pull_progress *news)
{
    struct coming *one = arg;
    if (news->step == PULL_FETCHES)
        tell_bytes(one, news);
    else if (news->step == PULL_DONE)
        end(one, IMAGE_EARLY_READY, "");
    else if (news->step == PULL_FAILED)
        end(one, IMAGE_EARLY_FAILED, *news->what ? news->what : "its pull was ended");
}

/* ---- pulls ---- */

/* In the child: tasks of the machine have the processors and the disk first. */
static int be_modest(void *arg)
{
    (void)arg;
    (void)setpriority(PRIO_PROCESS, 0, LEAST_NICE);
    (void)syscall(SYS_ioprio_set, 1, 0, IDLE_CLASS);
    return 0;
}

static void hold(struct coming *one)
{
    char tree[IMAGE_DIGEST_LEN + 1];
    for (size_t i = 0; i < one->keep.n; i++) {
        const char *digest = one->keep.at[i];
        bool there =
            strlen(digest) == IMAGE_DIGEST_LEN && grant_find_any(one->all->store, digest, tree);
        int fd = there ? store_use(one->all->store, tree, NULL) : -1;
        if (fd >= 0)
            vec_push(&one->held, fd);
    }
}

static int start(struct coming *one, struct err *err)
{
    struct pull_ask ask = { .store = one->all->store,
                            .auth = one->auth,
                            .auth_len = one->auth_len,
                            .limit = one->limit,
                            .early = true,
                            .drop_rights = be_modest };
    const char *unfit = root_unfit_disk(one->all->config.dir);
    one->began_ms = clock_mono_ms();
    if (unfit)
        return err_set(err, ERR_CANNOT, ROOT_UNFIT_DISK, unfit);
    if (image_ref_parse(one->name, &ask.ref, err) != 0)
        return -1;
    if (!*ask.ref.digest)
        return err_set(err, ERR_INPUT, "its name has no digest");
    hold(one);
    one->pull = pull_start(one->all->config.loop, &ask,
                           (struct pull_sink){ .news = on_news, .arg = one }, err);
    return one->pull ? 0 : -1;
}

static void go_on(struct host_images *all)
{
    struct err err;
    struct coming *one = all->first;
    if (one && !one->pull && start(one, &err) != 0)
        end(one, IMAGE_EARLY_FAILED, err.what);
}

/* ---- what the server says ---- */

static struct coming *add(struct host_images *all, const struct wire_host_image *wanted)
{
    struct coming *one = mem_new(sizeof *one), **at = &all->first;
    *one = (struct coming){ .all = all,
                            .number = wanted->number,
                            .name = mem_strdup(wanted->name),
                            .limit = wanted->limit };
    if (wanted->auth) {
        one->auth_len = wanted->auth_len;
        one->auth = mem_new(wanted->auth_len + 1);
        memcpy(one->auth, wanted->auth, wanted->auth_len);
    }
    for (size_t i = 0; i < wanted->keep.n; i++)
        vec_push(&one->keep, mem_strdup(wanted->keep.at[i]));
    while (*at)
        at = &(*at)->next;
    *at = one;
    return one;
}

void host_images_fetch(struct host_images *all, const struct wire_host_image *wanted)
{
    size_t n = 0;
    if (find(all, wanted->number))
        return;
    for (const struct coming *one = all->first; one; one = one->next)
        n++;
    struct coming *one = add(all, wanted);
    if (n >= IMAGES_MOST)
        end(one, IMAGE_EARLY_FAILED, "too many images are asked for on its machine");
    else
        go_on(all);
}

void host_images_drop(struct host_images *all, uint32_t number)
{
    struct coming *one = find(all, number);
    if (!one)
        return;
    take_off(one);
    free_coming(one);
    go_on(all);
}
