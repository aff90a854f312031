/* Who wants the same joins a pull that is under way, and hears how it goes from then on. The child
 * tells lines as node/image_early.h has them. */
#include "main/early_pulls.h"

#include "api/child.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "job/account.h"
#include "job/image_progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PULL_MS      3600000u
#define SAID_MAX     512u
#define QUESTION_MAX (1u << 20)

struct pulling {
    struct early_pulls *all;
    char *name, *store, *question;
    size_t len;
    uint64_t limit;
    VEC(char *) keep;
    VEC(uint64_t) jobs;
    struct child *child; /* NULL: its turn has not come */
    uint64_t began_ms, bytes, total;
    char said[SAID_MAX]; /* its last line that says no bytes */
    struct pulling *next;
};
struct early_pulls {
    uv_loop_t *loop;
    char *program;
    struct engine_sink sink;
    struct pulling *first; /* oldest first; the one that comes is in front */
    uv_idle_t later;
};

static void go_on(struct early_pulls *all);

static void on_later(uv_idle_t *idle)
{
    uv_idle_stop(idle);
    go_on(idle->data);
}

struct early_pulls *early_pulls_create(uv_loop_t *loop, const char *program)
{
    struct early_pulls *all = mem_new(sizeof *all);
    *all = (struct early_pulls){ .loop = loop, .program = mem_strdup(program) };
    uv_idle_init(loop, &all->later);
    all->later.data = all;
    return all;
}

static void free_pulling(struct pulling *one)
{
    explicit_bzero(one->question, one->len);
    free(one->question);
    free(one->name);
    free(one->store);
    for (size_t i = 0; i < one->keep.n; i++)
        free(one->keep.at[i]);
    vec_fini(&one->keep);
    vec_fini(&one->jobs);
    free(one);
}

static void on_closed(uv_handle_t *handle)
{
    struct early_pulls *all = handle->data;
    free(all->program);
    free(all);
}

void early_pulls_destroy(struct early_pulls *all)
{
    if (!all)
        return;
    while (all->first) {
        struct pulling *one = all->first;
        all->first = one->next;
        child_drop(one->child);
        free_pulling(one);
    }
    uv_close((uv_handle_t *)&all->later, on_closed);
}

void early_pulls_begin(struct early_pulls *all, struct engine_sink sink)
{
    all->sink = sink;
}

static void take_off(struct pulling *one)
{
    struct pulling **at = &one->all->first;
    while (*at != one)
        at = &(*at)->next;
    *at = one->next;
}

/* ---- how it goes ---- */

static void tell(const struct pulling *one, enum image_step step, const char *digest,
                 const char *problem)
{
    const struct image_progress news = { .step = step,
                                         .name = one->name,
                                         .digest = digest,
                                         .bytes = one->bytes,
                                         .total = step == IMAGE_EARLY_FETCHES ? one->total : 0,
                                         .took_ms = clock_mono_ms() - one->began_ms,
                                         .problem = problem };
    for (size_t i = 0; i < one->jobs.n; i++) {
        const struct engine_fact fact = {
            .kind = FACT_IMAGE, .generation = { .job = one->jobs.at[i] }, .node = "", .image = &news
        };
        one->all->sink.fact(one->all->sink.arg, &fact);
    }
}

static void on_line(void *arg, char *line)
{
    static const char front[] = "bytes ";
    struct pulling *one = arg;
    char *total = strncmp(line, front, sizeof front - 1) == 0 ? line + sizeof front - 1 : NULL;
    char *bytes = total ? strsep(&total, " ") : NULL;
    if (!bytes) {
        snprintf(one->said, sizeof one->said, "%s", line);
        return;
    }
    if (total && scan_u64(bytes, 0, UINT64_MAX / 2, &one->bytes) &&
        scan_u64(total, 0, UINT64_MAX / 2, &one->total))
        tell(one, IMAGE_EARLY_FETCHES, "", "");
}

static void on_end(void *arg, const struct child_end *end)
{
    static const char front[] = "sha256:";
    struct pulling *one = arg;
    struct early_pulls *all = one->all;
    one->child = NULL;
    take_off(one);
    if (end->good && strncmp(one->said, front, sizeof front - 1) == 0)
        tell(one, IMAGE_EARLY_READY, one->said + sizeof front - 1, "");
    else
        tell(one, IMAGE_EARLY_FAILED, "",
             end->killed || !*one->said ? "its pull was ended" : one->said);
    free_pulling(one);
    go_on(all);
}

/* ---- pulls ---- */

static char **make_args(const struct pulling *one, char limit[24])
{
    size_t n = 0;
    char **args = mem_new((one->keep.n + 5) * sizeof *args);
    snprintf(limit, 24, "%llu", (unsigned long long)one->limit);
    args[n++] = (char *)(uintptr_t) "muster-node";
    args[n++] = (char *)(uintptr_t) "image-early";
    args[n++] = one->store;
    args[n++] = limit;
    for (size_t i = 0; i < one->keep.n; i++)
        args[n++] = one->keep.at[i];
    args[n] = NULL;
    return args;
}

static int start(struct pulling *one, struct err *err)
{
    char limit[24];
    AUTO_CLOSE int in = memfd_create("question", MFD_CLOEXEC);
    if (in < 0 || file_write_all(in, one->question, one->len) != 0 || lseek(in, 0, SEEK_SET) != 0)
        return err_sys(err, "a copy in memory");
    char **args = make_args(one, limit);
    const struct child_line line = { .program = one->all->program,
                                     .args = args,
                                     .input = in,
                                     .text_max = SAID_MAX - 1,
                                     .heard = on_line,
                                     .limit_ms = PULL_MS };
    one->began_ms = clock_mono_ms();
    one->child = child_start(one->all->loop, &line, on_end, one, err);
    free(args);
    return one->child ? 0 : -1;
}

static void go_on(struct early_pulls *all)
{
    struct err err;
    while (all->first && !all->first->child) {
        struct pulling *one = all->first;
        if (start(one, &err) == 0)
            return;
        log_warn("image.early", "image=%s: %s", one->name, err.what);
        take_off(one);
        tell(one, IMAGE_EARLY_FAILED, "", err.what);
        free_pulling(one);
    }
}

char *early_pulls_print(const char *name, const struct account *account, const char *auth,
                        size_t *len)
{
    AUTO_BUF struct buf text = BUF_INIT(QUESTION_MAX);
    buf_addf(&text, "%s\n%s\n", name, account ? account->home : "");
    if (account)
        fs_user_print(&account->ids, &text);
    buf_puts(&text, "\n");
    if (auth)
        buf_puts(&text, auth);
    *len = text.len;
    return buf_take(&text);
}

static struct pulling *find_same(const struct early_pulls *all, const char *store,
                                 const char *question, size_t len)
{
    struct pulling *one = all->first;
    while (one && (one->len != len || memcmp(one->question, question, len) != 0 ||
                   strcmp(one->store, store) != 0))
        one = one->next;
    return one;
}

static struct pulling *add(struct early_pulls *all, const struct image_wish *wish, char *question,
                           size_t len)
{
    struct pulling *one = mem_new(sizeof *one), **end = &all->first;
    *one = (struct pulling){ .all = all,
                             .name = mem_strdup(wish->name),
                             .store = mem_strdup(wish->store),
                             .question = question,
                             .len = len,
                             .limit = wish->limit };
    for (size_t i = 0; i < wish->keep.n; i++)
        vec_push(&one->keep, mem_strdup(wish->keep.at[i]));
    while (*end)
        end = &(*end)->next;
    *end = one;
    return one;
}

void early_pulls_add(struct early_pulls *all, const struct image_wish *wish)
{
    size_t len;
    char *question = early_pulls_print(wish->name, wish->account, wish->auth, &len);
    struct pulling *one = find_same(all, wish->store, question, len);
    if (one) {
        explicit_bzero(question, len);
        free(question);
    } else {
        one = add(all, wish, question, len);
    }
    vec_push(&one->jobs, wish->job);
    uv_idle_start(&all->later, on_later);
}

static void leave(struct pulling *one, uint64_t job)
{
    for (size_t i = one->jobs.n; i-- > 0;)
        if (one->jobs.at[i] == job)
            vec_remove(&one->jobs, i);
}

void early_pulls_drop(struct early_pulls *all, uint64_t job)
{
    for (struct pulling *one = all->first, *next; one; one = next) {
        next = one->next;
        leave(one, job);
        if (one->jobs.n)
            continue;
        take_off(one);
        child_drop(one->child);
        free_pulling(one);
    }
    uv_idle_start(&all->later, on_later);
}
