#include "node/pin.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
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

static socklen_t name_of(uint32_t cpu, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){ .sun_family = AF_UNIX };
    int n = snprintf(out->sun_path + 1, sizeof out->sun_path - 1, "muster/cpu/%u", cpu);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static bool is_held(int probe, uint32_t cpu)
{
    struct sockaddr_un name;
    socklen_t len = name_of(cpu, &name);
    return connect(probe, (const struct sockaddr *)&name, len) == 0;
}

/* -1: somebody was faster. */
static int hold(uint32_t cpu)
{
    struct sockaddr_un name;
    socklen_t len = name_of(cpu, &name);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&name, len) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
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

static size_t list_free(const cpu_set_t *may, struct cpu *at)
{
    size_t n = 0;
    int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (uint32_t i = 0; i < CPU_SETSIZE && probe >= 0; i++)
        if (CPU_ISSET(i, may) && !is_held(probe, i))
            at[n++] = (struct cpu){ .number = i,
                                    .package = topology(i, "physical_package_id"),
                                    .core = topology(i, "core_id") };
    if (probe >= 0)
        close(probe);
    qsort(at, n, sizeof *at, nearest);
    return n;
}

static bool hold_all(struct pin *pin, const struct cpu *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int fd = hold(at[i].number);
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
    cpu_set_t may;
    size_t n = 0;
    CPU_ZERO(&may);
    (void)sched_getaffinity(0, sizeof may, &may);
    for (int i = 0; i < TRIES; i++) {
        *pin = (struct pin){ .held = NULL };
        n = list_free(&may, at);
        if (n < wanted)
            break;
        pin->held = mem_new((wanted + 1) * sizeof *pin->held);
        if (hold_all(pin, at + choose(at, n, wanted), wanted))
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
