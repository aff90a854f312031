/* Processors of this machine for a task, from the smallest package that has enough free ones, next
 * to each other. Each is held by a lock of its own, so that tasks of other servers keep off it. */
#include "node/pin.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "node/locks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define TRIES 100 /* each one lost is a processor that somebody else got */

struct cpu {
    uint32_t number, package, core;
};

static uint32_t topology(uint32_t cpu, const char *what)
{
    char path[128];
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    uint64_t number = 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/%s", cpu, what);
    if (file_read(path, 32, &text, &len, NULL) == 0 && len > 0) {
        text[strcspn(text, "\n")] = '\0';
        (void)scan_u64(text, 0, INT32_MAX, &number);
    }
    return (uint32_t)number;
}

/* The lock's descriptor; -1: somebody has it. */
static int hold(int locks, uint32_t cpu)
{
    char name[16];
    snprintf(name, sizeof name, "%u", cpu);
    AUTO_CLOSE int fd = openat(locks, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 ? mem_give_fd(&fd) : -1;
}

static bool is_held(int locks, uint32_t cpu)
{
    AUTO_CLOSE int fd = hold(locks, cpu);
    return fd < 0;
}

static int nearest(const void *a, const void *b)
{
    const struct cpu *x = a, *y = b;
    if (x->package != y->package)
        return x->package < y->package ? -1 : 1;
    if (x->core != y->core)
        return x->core < y->core ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* The run of one package in the sorted list that begins at i. */
static size_t run_of(const struct cpu *at, size_t n, size_t i)
{
    size_t end = i;
    while (end < n && at[end].package == at[i].package)
        end++;
    return end - i;
}

/* Where the wanted ones begin. */
static size_t choose(const struct cpu *at, size_t n, size_t wanted)
{
    size_t best = 0, best_size = SIZE_MAX;
    for (size_t i = 0; i < n; i += run_of(at, n, i)) {
        size_t size = run_of(at, n, i);
        if (size >= wanted && size < best_size) {
            best = i;
            best_size = size;
        }
    }
    return best;
}

static size_t list_free(int locks, const cpu_set_t *may, struct cpu *at)
{
    size_t n = 0;
    for (uint32_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, may) && !is_held(locks, i))
            at[n++] = (struct cpu){ .number = i,
                                    .package = topology(i, "physical_package_id"),
                                    .core = topology(i, "core_id") };
    qsort(at, n, sizeof *at, nearest);
    return n;
}

static bool hold_all(int locks, struct pin *pin, const struct cpu *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int fd = hold(locks, at[i].number);
        if (fd < 0) {
            pin_give(pin);
            return false;
        }
        CPU_SET(at[i].number, &pin->set);
        pin->held[pin->n++] = fd;
    }
    return true;
}

int pin_take(struct pin *pin, uint32_t wanted, struct err *err)
{
    AUTO_FREE struct cpu *at = mem_new(CPU_SETSIZE * sizeof *at);
    AUTO_CLOSE int locks = locks_open("cores");
    cpu_set_t may;
    size_t n = 0;
    *pin = (struct pin){ .held = NULL };
    if (locks < 0)
        return err_sys(err, "there is no place for locks of cores");
    CPU_ZERO(&may);
    (void)sched_getaffinity(0, sizeof may, &may);
    for (int i = 0; i < TRIES; i++) {
        *pin = (struct pin){ .held = NULL };
        n = list_free(locks, &may, at);
        if (n < wanted)
            break;
        pin->held = mem_new((wanted + 1) * sizeof *pin->held);
        if (hold_all(locks, pin, at + choose(at, n, wanted), wanted))
            return 0;
    }
    return err_set(err, ERR_CANNOT, "%u cores of its own are wanted, %zu of %d are free", wanted, n,
                   CPU_COUNT(&may));
}

void pin_give(struct pin *pin)
{
    for (size_t i = 0; i < pin->n; i++)
        close(pin->held[i]);
    free(TAKE(pin->held));
    pin->n = 0;
}
