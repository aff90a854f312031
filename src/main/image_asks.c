/* Jobs that ask the same share one child as long as it has not begun: what a registry said before a
 * job was submitted is no answer for it. The question goes by a file in memory, because it may have
 * credentials. */
#include "main/image_asks.h"

#include "api/child.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "ctl/config.h"
#include "engine/machines/images.h"
#include "engine/machines/machines.h"
#include "job/image_progress.h"
#include "main/early_pulls.h"
#include "main/runtime_asks.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LIMIT_MS    10000u /* launches wait for it */
#define PACK_MS     3600000u
#define PACKED_MOST "68719476736" /* bytes of all packed images */
#define AT_ONCE     4u
#define ANSWER_MAX  512u

struct ask {
    struct image_asks *all;
    bool pack;
    char *name, *question;
    size_t len;
    VEC(uint64_t) jobs;
    struct child *child; /* NULL: it has not begun, or could not */
    struct ask *next;
};
struct image_asks {
    uv_loop_t *loop;
    char *program, *folder; /* folder: of packed images */
    struct engine_sink sink;
    struct early_pulls *early;
    struct engine *machines;
    struct ask *first; /* oldest first; those that run stand in front */
    size_t running;
    uv_idle_t later; /* what cannot begin is answered from the loop, too */
};

static void go_on(struct image_asks *all);

static void on_later(uv_idle_t *idle)
{
    uv_idle_stop(idle);
    go_on(idle->data);
}

struct image_asks *image_asks_create(uv_loop_t *loop, const char *program, const char *dir,
                                     struct arena *arena, struct runtime_checks *checks)
{
    runtime_asks_first(arena, program, dir, checks);
    if (runtime_choose(checks, RUNTIME_AUTO) == RUNTIME_SERVER)
        return NULL;
    struct image_asks *all = mem_new(sizeof *all);
    all->loop = loop;
    all->program = mem_strdup(program);
    all->folder = mem_printf("%s/" IMAGES_PACKED, dir);
    all->early = early_pulls_create(loop, program);
    uv_idle_init(loop, &all->later);
    all->later.data = all;
    return all;
}

static void free_ask(struct ask *ask)
{
    explicit_bzero(ask->question, ask->len);
    free(ask->question);
    free(ask->name);
    vec_fini(&ask->jobs);
    free(ask);
}

static void on_closed(uv_handle_t *handle)
{
    struct image_asks *all = handle->data;
    free(all->program);
    free(all->folder);
    free(all);
}

void image_asks_destroy(struct image_asks *all)
{
    if (!all)
        return;
    while (all->first) {
        struct ask *ask = all->first;
        all->first = ask->next;
        child_drop(ask->child);
        free_ask(ask);
    }
    early_pulls_destroy(all->early);
    uv_close((uv_handle_t *)&all->later, on_closed);
}

void image_asks_begin(struct image_asks *all, struct engine_sink sink, struct engine *machines)
{
    all->sink = sink;
    all->machines = machines;
    early_pulls_begin(all->early, sink);
}

static void on_question(void *arg, const struct image_question *question)
{
    image_asks_ask(arg, question);
}

static void on_wish(void *arg, const struct image_wish *wish)
{
    struct image_asks *all = arg;
    if (!*wish->node)
        early_pulls_add(all->early, wish);
    else
        machines_fetch_image(all->machines, &(struct machines_image){ .job = wish->job,
                                                                      .node = wish->node,
                                                                      .name = wish->name,
                                                                      .limit = wish->limit,
                                                                      .keep = wish->keep,
                                                                      .auth = wish->auth });
}

static void on_drop(void *arg, uint64_t job)
{
    struct image_asks *all = arg;
    early_pulls_drop(all->early, job);
    machines_drop_images(all->machines, job);
}

void image_asks_join(struct image_asks *all, struct ctl_config *config)
{
    config->ask_images = on_question;
    config->fetch_early = on_wish;
    config->drop_early = on_drop;
    config->ask_images_arg = config->early_arg = all;
}

/* ---- answers ---- */

static void tell(const struct ask *ask, const char *digest, const char *problem)
{
    enum image_step good = ask->pack ? IMAGE_READY : IMAGE_PINNED;
    const struct image_progress news = { .step = *digest ? good : IMAGE_FAILED,
                                         .name = ask->name,
                                         .digest = digest,
                                         .problem = problem };
    for (size_t i = 0; i < ask->jobs.n; i++) {
        const struct engine_fact fact = {
            .kind = FACT_IMAGE, .generation = { .job = ask->jobs.at[i] }, .node = "", .image = &news
        };
        ask->all->sink.fact(ask->all->sink.arg, &fact);
    }
}

static void take_off(struct ask *ask)
{
    struct ask **at = &ask->all->first;
    while (*at != ask)
        at = &(*at)->next;
    *at = ask->next;
}

static void on_end(void *arg, const struct child_end *end)
{
    static const char front[] = "sha256:";
    struct ask *ask = arg;
    struct image_asks *all = ask->all;
    char late[ANSWER_MAX];
    ask->child = NULL;
    all->running--;
    take_off(ask);
    end->text[end->len] = '\0';
    end->text[strcspn(end->text, "\n")] = '\0';
    bool good = end->good && strncmp(end->text, front, sizeof front - 1) == 0;
    if (!good && (end->killed || !*end->text)) {
        snprintf(late, sizeof late, "image %.*s %s", (int)strcspn(ask->name, "@"), ask->name,
                 end->killed ? "cannot be had: its registry did not answer in time"
                             : "cannot be asked for: muster-node failed");
        tell(ask, "", late);
    } else {
        tell(ask, good ? end->text + sizeof front - 1 : "", good ? "" : end->text);
    }
    free_ask(ask);
    go_on(all);
}

/* ---- questions ---- */

static int start(struct ask *ask, struct err *err)
{
    struct image_asks *all = ask->all;
    char *digest[] = { (char[]){ "muster-node" }, (char[]){ "image-digest" }, NULL };
    char *pack[] = { (char[]){ "muster-node" }, (char[]){ "image-pack" }, all->folder,
                     (char[]){ PACKED_MOST }, NULL };
    AUTO_CLOSE int in = memfd_create("question", MFD_CLOEXEC);
    if (in < 0 || file_write_all(in, ask->question, ask->len) != 0 || lseek(in, 0, SEEK_SET) != 0)
        return err_sys(err, "a copy in memory");
    const struct child_line line = { .program = all->program,
                                     .args = ask->pack ? pack : digest,
                                     .input = in,
                                     .text_max = ANSWER_MAX - 1,
                                     .limit_ms = ask->pack ? PACK_MS : LIMIT_MS };
    ask->child = child_start(all->loop, &line, on_end, ask, err);
    return ask->child ? 0 : -1;
}

static void go_on(struct image_asks *all)
{
    for (struct ask *ask = all->first, *next; ask && all->running < AT_ONCE; ask = next) {
        struct err err;
        next = ask->next;
        if (ask->child)
            continue;
        if (start(ask, &err) == 0) {
            all->running++;
            continue;
        }
        log_warn("image.ask", "image=%s: %s", ask->name, err.what);
        take_off(ask);
        tell(ask, "", err.what);
        free_ask(ask);
    }
}

static struct ask *find_same(const struct image_asks *all, bool pack, const char *question,
                             size_t len)
{
    struct ask *ask = all->first;
    while (ask && (ask->child || ask->pack != pack || ask->len != len ||
                   memcmp(ask->question, question, len) != 0))
        ask = ask->next;
    return ask;
}

static struct ask *add(struct image_asks *all, const char *name, char *question, size_t len)
{
    struct ask *ask = mem_new(sizeof *ask), **end = &all->first;
    *ask = (struct ask){ .all = all, .name = mem_strdup(name), .question = question, .len = len };
    while (*end)
        end = &(*end)->next;
    *end = ask;
    return ask;
}

void image_asks_ask(struct image_asks *all, const struct image_question *q)
{
    for (size_t i = 0; i < q->names.n; i++) {
        size_t len;
        char *question = early_pulls_print(q->names.at[i], q->account, q->auth, &len);
        struct ask *ask = find_same(all, q->pack, question, len);
        if (ask) {
            explicit_bzero(question, len);
            free(question);
        } else {
            ask = add(all, q->names.at[i], question, len);
            ask->pack = q->pack;
        }
        vec_push(&ask->jobs, q->job);
    }
    uv_idle_start(&all->later, on_later);
}
