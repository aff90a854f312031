/* The driver of granted devices, processor, memory, disk, loopback, partners, and torch. Amounts
 * are fixed, so that times compare between nodes; each part has a bound in time or size. A node
 * whose own part fails still meets its partners, and tells them: they must not be suspected for its
 * fault, nor wait for it. */
#include "launch/check_work.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "launch/check_group.h"
#include "launch/check_pair.h"
#include "launch/check_torch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MATRIX       192u
#define REPETITIONS  5u
#define MEMORY_BYTES (32u << 20)
#define DISK_BYTES   (64u << 20)
#define DISK_CHUNK   (1u << 20)
#define DISK_MS      2000u
#define SLOW_MS      150 /* more for each repetition, with the fault "slow" */

static void add_figure(struct check_answer *answer, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void add_figure(struct check_answer *answer, const char *fmt, ...)
{
    size_t len = strlen(answer->figures), left = sizeof answer->figures - len;
    va_list ap;
    if (len > 0 && left > 2) {
        memcpy(answer->figures + len, ", ", 3);
        len += 2;
        left -= 2;
    }
    va_start(ap, fmt);
    vsnprintf(answer->figures + len, left, fmt, ap);
    va_end(ap);
}

static void blame(struct check_answer *answer, enum rdzv_check_result result, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void blame(struct check_answer *answer, enum rdzv_check_result result, const char *fmt, ...)
{
    va_list ap;
    if (answer->result != RDZV_CHECK_OK && answer->result <= (int32_t)result)
        return; /* its own fault is told before one with a partner */
    answer->result = (int32_t)result;
    va_start(ap, fmt);
    check_why_v(answer->why, fmt, ap);
    va_end(ap);
}

/* ---- processor and memory ---- */

static uint64_t median(uint64_t *times, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && times[k] < times[k - 1]; k--) {
            uint64_t swap = times[k];
            times[k] = times[k - 1];
            times[k - 1] = swap;
        }
    return times[n / 2];
}

static void multiply(const float *a, const float *b, float *c)
{
    memset(c, 0, MATRIX * MATRIX * sizeof *c);
    for (size_t i = 0; i < MATRIX; i++)
        for (size_t k = 0; k < MATRIX; k++) {
            float factor = a[i * MATRIX + k];
            for (size_t j = 0; j < MATRIX; j++)
                c[i * MATRIX + j] += factor * b[k * MATRIX + j];
        }
}

static void check_processor(int slow_ms, struct check_answer *answer)
{
    uint64_t times[REPETITIONS];
    AUTO_FREE float *a = mem_new(MATRIX * MATRIX * sizeof *a);
    AUTO_FREE float *b = mem_new(MATRIX * MATRIX * sizeof *b);
    AUTO_FREE float *c = mem_new(MATRIX * MATRIX * sizeof *c);
    for (size_t i = 0; i < MATRIX * MATRIX; i++) {
        a[i] = (float)(i % 7);
        b[i] = 0.5f;
    }
    for (size_t i = 0; i < REPETITIONS; i++) {
        uint64_t from = clock_mono_us();
        multiply(a, b, c);
        (void)poll(NULL, 0, slow_ms);
        times[i] = clock_mono_us() - from;
    }
    /* Small integers and halves: the sum is exact in any order. */
    float expect = 0;
    for (size_t k = 0; k < MATRIX; k++)
        expect += a[k] * 0.5f;
    for (size_t j = 0; j < MATRIX; j++)
        if (c[j] < expect || c[j] > expect)
            blame(answer, RDZV_CHECK_SELF_BAD, "processor: matmul gave %g instead of %g",
                  (double)c[j], (double)expect);
    uint64_t took = median(times, REPETITIONS);
    answer->took_us += took * REPETITIONS;
    add_figure(answer, "matmul %.1f ms", (double)took / 1000.0);
}

static void check_memory(int slow_ms, struct check_answer *answer)
{
    uint64_t times[REPETITIONS];
    AUTO_FREE unsigned char *from = mem_new(MEMORY_BYTES), *to = mem_new(MEMORY_BYTES);
    memset(from, 0x5a, MEMORY_BYTES);
    memset(to, 0, MEMORY_BYTES);
    for (size_t i = 0; i < REPETITIONS; i++) {
        uint64_t start = clock_mono_us();
        memcpy(to, from, MEMORY_BYTES);
        (void)poll(NULL, 0, slow_ms);
        times[i] = clock_mono_us() - start;
    }
    if (memcmp(to, from, MEMORY_BYTES) != 0)
        blame(answer, RDZV_CHECK_SELF_BAD, "memory: a copy differs from what was copied");
    uint64_t took = median(times, REPETITIONS);
    answer->took_us += took * REPETITIONS;
    add_figure(answer, "memory %.1f GB/s",
               (double)MEMORY_BYTES / 1000.0 / (double)(took > 0 ? took : 1));
}

/* ---- disk ---- */

static int open_scratch(const char *dir)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    AUTO_FREE char *path = mem_printf("%s/muster-check-XXXXXX", dir);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

static void check_disk(struct check_answer *answer)
{
    const char *dir = getenv("TMPDIR");
    if (!dir || !*dir)
        dir = "/tmp";
    AUTO_FREE char *chunk = mem_new(DISK_CHUNK);
    AUTO_CLOSE int fd = open_scratch(dir);
    uint64_t from = clock_mono_us(), bytes = 0;
    bool failed = fd < 0;
    memset(chunk, 0x3c, DISK_CHUNK);
    /* In parts, so that a slow disk ends this by time and not by size. */
    while (!failed && bytes < DISK_BYTES && clock_mono_us() - from < DISK_MS * 1000u) {
        for (int i = 0; !failed && i < 8; i++)
            failed = file_write_all(fd, chunk, DISK_CHUNK) < 0;
        failed = failed || fdatasync(fd) < 0;
        bytes += 8 * (uint64_t)DISK_CHUNK;
    }
    uint64_t took = clock_mono_us() - from;
    if (failed)
        blame(answer, RDZV_CHECK_SELF_BAD, "disk: writing to %s: %s", dir, strerror(errno));
    else
        add_figure(answer, "disk %.0f MB/s", (double)bytes / (double)(took > 0 ? took : 1));
}

/* ---- network ---- */

static void add_link(struct check_answer *answer, const char *name, const struct check_link *link)
{
    answer->took_us += link->work_us;
    add_figure(answer, "%s %llu us", name, (unsigned long long)link->latency_us);
    if (link->bytes_us > 0)
        add_figure(answer, "%.2f GB/s", (double)link->bytes / 1000.0 / (double)link->bytes_us);
}

/* true: the group is connected. */
static bool check_network(struct check_group *group, uint16_t *port, struct check_answer *answer)
{
    struct check_link link;
    char why[CHECK_WHY_MAX];
    if (check_loopback(&link, why) < 0)
        blame(answer, RDZV_CHECK_SELF_BAD, "%s", why);
    else
        add_link(answer, "loopback", &link);
    *port = 0;
    if (group->task->order->n < 2)
        return false;
    if (check_partners(group, &link, port, why) < 0) {
        blame(answer, RDZV_CHECK_PAIR_BAD, "%s", why);
        return false;
    }
    add_link(answer, "partner", &link);
    return true;
}

/* ---- torch ---- */

struct with_torch {
    const struct check_task *task;
    struct check_group *group;
    struct check_answer *answer;
    struct check_torch torch;
    bool met;      /* the group is connected */
    bool failed;   /* its own part, for the reason in the answer */
    uint16_t port; /* of what index 0 may open */
};

/* "torch: GPU 0,1: the driver did not answer within 20 s". */
static void blame_late(struct with_torch *w, enum rdzv_check_result result, const char *what,
                       uint64_t ms)
{
    const struct check_grant *grant = w->task->grant;
    bool devices = grant->n > 0 && result == RDZV_CHECK_SELF_BAD;
    blame(w->answer, result, "torch: %s%s%s%s did not answer within %llu s", devices ? "GPU " : "",
          devices ? grant->names : "", devices ? ": " : "", what,
          (unsigned long long)(ms + 999) / 1000u);
}

/* The next line of the own part: true if it is the one that is due. */
static bool hear_own(struct with_torch *w, enum check_torch_answer due, const char *what,
                     uint64_t ms, const char **rest)
{
    uint32_t who;
    enum check_torch_answer said = check_torch_hear(&w->torch, ms, NULL, rest, &who);
    if (said == due)
        return true;
    w->failed = true;
    if (said == CHECK_TORCH_SELF)
        blame(w->answer, RDZV_CHECK_SELF_BAD, "torch: %s", *rest);
    else if (said == CHECK_TORCH_LATE)
        blame_late(w, RDZV_CHECK_SELF_BAD, what, ms);
    else
        blame(w->answer, RDZV_CHECK_SELF_BAD, "torch: the check program ended without an answer");
    return false;
}

static void say_what_is_checked(const struct check_grant *grant, struct check_answer *answer)
{
    if (grant->given == CHECK_GIVEN_DECLARED)
        add_figure(answer, "GPU %s declared only", grant->names);
    else if (grant->given == CHECK_GIVEN_NONE)
        add_figure(answer, "no GPU granted");
}

/* Its devices, by their driver: in a moment, and before anything else takes time. */
static void probe(struct with_torch *w)
{
    const struct check_task *task = w->task;
    const char *rest;
    if ((task->grant->n == 0 && !task->torch) ||
        (task->grant->given != CHECK_GIVEN_LIST && !task->python))
        return;
    w->failed = true;
    if (!task->python)
        blame(w->answer, RDZV_CHECK_SELF_BAD,
              "torch: GPU %s was granted, but there is no Python to use it with",
              task->grant->names);
    else if (check_torch_start(&w->torch, task) < 0)
        blame(w->answer, RDZV_CHECK_SELF_BAD, "torch: %s: %s", task->python, strerror(errno));
    else
        w->failed = !hear_own(w, CHECK_TORCH_PROBED, "the driver", task->probe_ms, &rest);
}

/* What follows the next word, which is put into out; NULL: there is none, or it has no room. */
static const char *take_word(const char *text, char *out, size_t size)
{
    text += strspn(text, " ");
    size_t len = strcspn(text, " ");
    if (len == 0 || len >= size)
        return NULL;
    snprintf(out, size, "%.*s", (int)len, text);
    return text + len;
}

/* "MICROSECONDS KIND NCCL DEVICE FIGURES" */
static bool read_ready(const char *text, struct check_ability *out, struct check_answer *answer)
{
    static const char *const kinds[CHECK_CAN_N] = {
        [CHECK_CAN_CPU] = "cpu", [CHECK_CAN_CUDA] = "cuda", [CHECK_CAN_HIP] = "hip"
    };
    char kind[8] = "", nccl[2] = "";
    char *end;
    *out = (struct check_ability){ .can = CHECK_CAN_UNKNOWN };
    uint64_t us = strtoull(text, &end, 10);
    const char *rest = take_word(end, kind, sizeof kind);
    rest = rest ? take_word(rest, nccl, sizeof nccl) : NULL;
    rest = rest ? take_word(rest, out->device, sizeof out->device) : NULL;
    if (!rest)
        return false;
    for (size_t i = 0; i < CHECK_CAN_N; i++)
        if (kinds[i] && strcmp(kinds[i], kind) == 0)
            out->can = (enum check_can)i;
    if (out->can == CHECK_CAN_UNKNOWN)
        return false;
    out->nccl = nccl[0] == '1';
    if (strcmp(out->device, "-") == 0)
        out->device[0] = '\0';
    answer->took_us += us;
    add_figure(answer, "%s", rest + strspn(rest, " "));
    return true;
}

static void do_own(struct with_torch *w, struct check_ability *own)
{
    const char *rest;
    *own = (struct check_ability){ .can = CHECK_CAN_NOTHING };
    if (!w->failed && w->torch.pid > 0) {
        check_torch_tell(&w->torch, "work\n");
        if (hear_own(w, CHECK_TORCH_READY, "torch", w->task->own_ms, &rest) &&
            !read_ready(rest, own, w->answer)) {
            w->failed = true;
            blame(w->answer, RDZV_CHECK_SELF_BAD, "torch: an answer of another version: %s", rest);
        }
    }
    if (w->failed)
        own->can = CHECK_CAN_FAILED;
}

/* Why it is not NCCL, or nothing at all. */
static void add_because(struct with_torch *w, const struct check_plan *plan)
{
    static const struct {
        const char *self, *other;
    } of[CHECK_BECAUSE_N] = {
        [CHECK_BECAUSE_NO_TORCH] = { "no all-reduce: it is checked without torch",
                                     "no all-reduce: %s is checked without torch" },
        [CHECK_BECAUSE_NO_GPU] = { "over gloo: it has no GPU", "over gloo: %s has no GPU" },
        [CHECK_BECAUSE_NO_NCCL] = { "over gloo: its torch has no NCCL",
                                    "over gloo: the torch of %s has no NCCL" },
        [CHECK_BECAUSE_KIND] = { "over gloo: %s has another kind of accelerator",
                                 "over gloo: not all have the accelerator of %s" },
        [CHECK_BECAUSE_ONE_GPU] = { "over gloo: on the same GPU as %s",
                                    "over gloo: %s shares a GPU with another node" },
    };
    char name[CHECK_NAME_MAX], text[CHECK_NAME_MAX + 64];
    uint32_t own = w->task->order->index;
    bool is_self = own == plan->who || own == plan->other;
    const char *fmt = is_self ? of[plan->because].self : of[plan->because].other;
    if (!fmt)
        return;
    (void)check_group_name(w->task, own == plan->who ? plan->other : plan->who, name);
    const char *gap = strstr(fmt, "%s");
    snprintf(text, sizeof text, "%.*s%s%s", (int)(gap ? gap - fmt : (long)strlen(fmt)), fmt,
             gap ? name : "", gap ? gap + 2 : "");
    add_figure(w->answer, "%s", text);
}

/* What the program says of the part with the others; what a partner says of a failure goes first.
 * NULL: it has passed. */
static const char *hear_joint(struct with_torch *w, const struct check_plan *plan, char *why)
{
    const char *rest;
    char *end;
    uint32_t who = 0;
    enum check_torch_answer said;
    while ((said = check_torch_hear(&w->torch, w->task->joint_ms, w->group, &rest, &who)) ==
           CHECK_TORCH_PARTNER)
        if (check_group_hear(w->group, who, why) < 0) {
            blame(w->answer, RDZV_CHECK_PAIR_BAD, "%s", why);
            return why;
        }
    if (said == CHECK_TORCH_OK) {
        unsigned long long us = strtoull(rest, &end, 10);
        w->answer->took_us += check_plan_counts(plan) ? us : 0;
        add_figure(w->answer, "%s", *end == ' ' ? end + 1 : end);
        add_because(w, plan);
        return NULL;
    }
    if (said == CHECK_TORCH_LATE)
        blame_late(w, RDZV_CHECK_PAIR_BAD, "all-reduce with the others", w->task->joint_ms);
    else
        blame(w->answer, RDZV_CHECK_PAIR_BAD, "torch: %s",
              said == CHECK_TORCH_PAIR || said == CHECK_TORCH_SELF
                  ? rest
                  : "the check program ended during all-reduce with the others");
    snprintf(why, CHECK_WHY_MAX, "%s", w->answer->why);
    check_group_end(w->group, why, 0, why);
    return why;
}

static void do_joint(struct with_torch *w, const struct check_plan *plan)
{
    static const char *const backends[CHECK_BACKEND_N] = {
        [CHECK_BACKEND_GLOO] = "gloo", [CHECK_BACKEND_NCCL] = "nccl"
    };
    const struct rdzv_check *order = w->task->order;
    char why[CHECK_WHY_MAX];
    AUTO_FREE char *line = mem_printf("%s %u %zu %s %u %llu\n", backends[plan->backend],
                                      order->index, order->n, order->peers[0].addr, w->port,
                                      (unsigned long long)(w->task->joint_ms + 999) / 1000u);
    check_torch_tell(&w->torch, line);
    if (!hear_joint(w, plan, why) && check_group_end(w->group, NULL, w->task->joint_ms, why) < 0)
        blame(w->answer, RDZV_CHECK_PAIR_BAD, "%s", why);
}

/* The others learn what this node can, also of a failure, before any of them waits for it. */
static void do_torch(struct with_torch *w)
{
    struct check_ability own;
    struct check_plan plan;
    char why[CHECK_WHY_MAX];
    do_own(w, &own);
    if (!w->met)
        return;
    if (check_group_agree(w->group, &own, w->answer->why, &plan, why) < 0)
        blame(w->answer, RDZV_CHECK_PAIR_BAD, "%s", why);
    else if (own.can == CHECK_CAN_FAILED)
        return;
    else if (plan.backend == CHECK_BACKEND_NONE)
        add_because(w, &plan);
    else
        do_joint(w, &plan);
}

void check_work(const struct check_task *task, struct check_answer *answer)
{
    int slow_ms = task->fault == CHECK_FAULT_SLOW ? SLOW_MS : 0;
    struct check_group group;
    struct with_torch w = { .task = task, .group = &group, .answer = answer };
    *answer = (struct check_answer){ .result = RDZV_CHECK_OK };
    while (task->fault == CHECK_FAULT_HANG)
        (void)pause();
    if (task->fault == CHECK_FAULT_SELF)
        blame(answer, RDZV_CHECK_SELF_BAD, "fault injected");
    check_group_init(&group, task);
    say_what_is_checked(task->grant, answer);
    probe(&w);
    if (!w.failed) {
        check_processor(slow_ms, answer);
        check_memory(slow_ms, answer);
        check_disk(answer);
    }
    w.met = check_network(&group, &w.port, answer);
    do_torch(&w);
    check_torch_end(&w.torch);
    check_group_close(&group);
}
