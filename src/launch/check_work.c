/* Processor, memory, disk, loopback, partners, and with an accelerator a torch program. Amounts are
 * fixed, so that times compare between nodes; each part has a bound in time or size. A node whose
 * own part fails still meets its partners: they must not be suspected for its fault. */
#include "launch/check_work.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "launch/check_pair.h"
#include "launch/check_py.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define MATRIX       192u
#define REPETITIONS  5u
#define MEMORY_BYTES (32u << 20)
#define DISK_BYTES   (64u << 20)
#define DISK_CHUNK   (1u << 20)
#define DISK_MS      2000u
#define SLOW_MS      150 /* more for each repetition, with the fault "slow" */
#define LINE_MAX_    1024u

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
    vsnprintf(answer->why, sizeof answer->why, fmt, ap);
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

static void check_network(const struct check_task *task, uint16_t *port,
                          struct check_answer *answer)
{
    struct check_link link;
    char why[CHECK_WHY_MAX];
    if (check_loopback(&link, why) < 0)
        blame(answer, RDZV_CHECK_SELF_BAD, "%s", why);
    else
        add_link(answer, "loopback", &link);
    *port = 0;
    if (task->order->n < 2)
        return;
    if (check_partners(task, &link, port, why) < 0)
        blame(answer, RDZV_CHECK_PAIR_BAD, "%s", why);
    else
        add_link(answer, "partner", &link);
}

/* ---- torch ---- */

static _Noreturn void become_torch(const struct check_task *task, uint16_t port, int out)
{
    char index[16], nodes[16], port_text[16], text[sizeof "1"];
    AUTO_FREE char *program = mem_strndup((const char *)launch_check_py, launch_check_py_len);
    AUTO_FREE char *address = mem_strdup(task->order->addrs[0]);
    AUTO_FREE char *python = mem_strdup(task->python);
    char command[] = "-c";
    snprintf(index, sizeof index, "%u", task->order->index);
    snprintf(nodes, sizeof nodes, "%u", (unsigned)task->order->n);
    snprintf(port_text, sizeof port_text, "%u", port);
    snprintf(text, sizeof text, "%d", task->order->bandwidth);
    char *argv[] = { python, command, program, index, nodes, address, port_text, text, NULL };
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(out, 1) == 1)
        (void)execvp(python, argv);
    printf("self %s: %s\n", task->python, strerror(errno));
    (void)fflush(stdout);
    _exit(0);
}

static void read_torch(struct check_answer *answer, char *line)
{
    line[strcspn(line, "\n")] = '\0';
    char *end, *text = strchr(line, ' ');
    if (strncmp(line, "ok ", 3) == 0) {
        answer->took_us += strtoull(line + 3, &end, 10);
        add_figure(answer, "%s", *end == ' ' ? end + 1 : end);
    } else if (text && strncmp(line, "pair ", 5) == 0) {
        blame(answer, RDZV_CHECK_PAIR_BAD, "torch: %s", text + 1);
    } else if (text && strncmp(line, "self ", 5) == 0) {
        blame(answer, RDZV_CHECK_SELF_BAD, "torch: %s", text + 1);
    } else {
        blame(answer, RDZV_CHECK_SELF_BAD, "torch: the check program ended without an answer");
    }
}

static void check_torch(const struct check_task *task, uint16_t port, struct check_answer *answer)
{
    int ends[2];
    char line[LINE_MAX_] = "";
    size_t len = 0;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        blame(answer, RDZV_CHECK_SELF_BAD, "torch: %s", strerror(errno));
        return;
    }
    pid_t pid = fork();
    if (pid == 0)
        become_torch(task, port, ends[1]);
    close(ends[1]);
    for (ssize_t n; len < sizeof line - 1; len += (size_t)n) {
        n = read(ends[0], line + len, sizeof line - 1 - len);
        if (n < 0 && errno == EINTR)
            n = 0;
        else if (n <= 0)
            break;
    }
    line[len] = '\0';
    close(ends[0]);
    if (pid > 0)
        (void)waitpid(pid, NULL, 0);
    read_torch(answer, line);
}

void check_work(const struct check_task *task, struct check_answer *answer)
{
    int slow_ms = task->fault == CHECK_FAULT_SLOW ? SLOW_MS : 0;
    uint16_t port;
    *answer = (struct check_answer){ .result = RDZV_CHECK_OK };
    while (task->fault == CHECK_FAULT_HANG)
        (void)pause();
    if (task->fault == CHECK_FAULT_SELF)
        blame(answer, RDZV_CHECK_SELF_BAD, "fault injected");
    check_processor(slow_ms, answer);
    check_memory(slow_ms, answer);
    check_disk(answer);
    check_network(task, &port, answer);
    /* The others of the group start theirs only when they heard from all of it. */
    bool together = answer->result != RDZV_CHECK_PAIR_BAD;
    if (task->python)
        check_torch(task, together ? port : 0, answer);
}
