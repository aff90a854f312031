/* The processors of each rank, from /sys. What this process may use itself is the outer bound of
 * every set. Where torch refuses (fewer cores than ranks on a node, no device), ranks share:
 * binding is a matter of speed and no reason to fail. */
#include "launch/rank_bind.h"

#include "base/scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NODES_MAX   64
#define DEVICES_MAX 64
#define CACHES_MAX  8

struct machine {
    const char *root;
    cpu_set_t allowed, node[NODES_MAX]; /* a node's processors, allowed ones only */
    int nodes[NODES_MAX];               /* those that have any */
    int n_nodes, n_devices;
    int device_node[DEVICES_MAX];
};

/* ---- reading /sys ---- */

static bool read_text(char *out, size_t size, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, out, size - 1);
    (void)close(fd);
    if (n <= 0)
        return false;
    out[n] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return true;
}

static bool read_number(const char *path, int64_t *out)
{
    char text[32];
    return read_text(text, sizeof text, path) && scan_i64(text, -1, INT32_MAX, out);
}

/* "0-3,8,10-11" */
static bool read_cpus(const char *path, cpu_set_t *out)
{
    char text[4096];
    CPU_ZERO(out);
    if (!read_text(text, sizeof text, path))
        return false;
    for (const char *at = text; *at; at += *at == ',') {
        char *end;
        if (*at < '0' || *at > '9')
            return false;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        at = end;
        for (unsigned long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
            CPU_SET(cpu, out);
    }
    return true;
}

static int lowest(const cpu_set_t *set)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, set))
            return cpu;
    return -1;
}

static void find_nodes(struct machine *machine)
{
    char path[512];
    for (int node = 0; node < NODES_MAX; node++) {
        snprintf(path, sizeof path, "%s/sys/devices/system/node/node%d/cpulist", machine->root,
                 node);
        cpu_set_t *cpus = &machine->node[node];
        if (!read_cpus(path, cpus))
            continue;
        CPU_AND(cpus, cpus, &machine->allowed);
        if (CPU_COUNT(cpus) > 0)
            machine->nodes[machine->n_nodes++] = node;
    }
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The n-th device that CUDA_VISIBLE_DEVICES lets a program see; -1: it names them otherwise. */
static int visible_device(int n)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    if (!list)
        return n;
    for (; n > 0 && (list = strchr(list, ',')); n--)
        list++;
    if (!list || *list < '0' || *list > '9')
        return -1;
    unsigned long index = strtoul(list, NULL, 10);
    return index < DEVICES_MAX ? (int)index : -1;
}

/* The driver names its devices by PCI address, which is their order too. */
static void find_devices(struct machine *machine)
{
    char path[512];
    struct dirent **names = NULL;
    int nodes[DEVICES_MAX], n = 0;
    snprintf(path, sizeof path, "%s/proc/driver/nvidia/gpus", machine->root);
    int found = scandir(path, &names, not_hidden, by_name);
    for (int i = 0; i < found; i++) {
        int64_t node = -1;
        snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%.64s/numa_node", machine->root,
                 names[i]->d_name);
        if (n < DEVICES_MAX) /* machines with one node often say -1 */
            nodes[n++] = read_number(path, &node) && node > 0 && node < NODES_MAX ? (int)node : 0;
        free(names[i]);
    }
    free(names);
    for (int i = 0; i < n; i++) {
        int device = visible_device(i);
        if (device < 0 || device >= n || CPU_COUNT(&machine->node[nodes[device]]) == 0)
            break;
        machine->device_node[machine->n_devices++] = nodes[device];
    }
}

/* ---- sets ---- */

static int node_of_rank(const struct machine *machine, uint32_t rank, uint32_t ranks)
{
    if (machine->n_devices > 0)
        return machine->device_node[rank % (uint32_t)machine->n_devices];
    return machine->nodes[(uint64_t)rank * (uint32_t)machine->n_nodes / ranks];
}

/* Processors that share something with cpu: its core, its largest cache. */
static bool read_siblings(const struct machine *machine, int cpu, cpu_set_t *out)
{
    char path[512];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             machine->root, cpu);
    return read_cpus(path, out);
}

static bool read_complex(const struct machine *machine, int cpu, cpu_set_t *out)
{
    char path[512], type[32];
    int64_t level, highest = -1;
    for (int index = 0; index < CACHES_MAX; index++) {
        int n = snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d/cache/index%d/",
                         machine->root, cpu, index);
        char *end = path + n;
        size_t room = sizeof path - (size_t)n;
        snprintf(end, room, "type");
        if (!read_text(type, sizeof type, path) || strcmp(type, "Instruction") == 0)
            continue;
        snprintf(end, room, "level");
        if (!read_number(path, &level) || level <= highest)
            continue;
        snprintf(end, room, "shared_cpu_list");
        if (read_cpus(path, out))
            highest = level;
    }
    return highest >= 0;
}

struct groups {
    cpu_set_t *at;
    int n;
};
/* The processors of a node in groups, by lowest number. */
static struct groups group_cpus(struct arena *arena, const struct machine *machine, int node,
                                bool (*read)(const struct machine *, int, cpu_set_t *))
{
    cpu_set_t rest = machine->node[node];
    struct groups groups = { .at = ARENA_ARRAY(arena, (size_t)CPU_COUNT(&rest), cpu_set_t) };
    for (int cpu; (cpu = lowest(&rest)) >= 0;) {
        cpu_set_t group;
        if (!read(machine, cpu, &group))
            CPU_ZERO(&group);
        CPU_SET((size_t)cpu, &group);
        CPU_AND(&group, &group, &rest);
        groups.at[groups.n++] = group;
        CPU_XOR(&rest, &rest, &group);
    }
    return groups;
}

/* How many ranks share the node of this one, and which of them it is. */
static void place_on_node(const struct machine *machine, uint32_t rank, uint32_t ranks, int *own,
                          int *of)
{
    int node = node_of_rank(machine, rank, ranks);
    *own = *of = 0;
    for (uint32_t other = 0; other < ranks; other++) {
        if (node_of_rank(machine, other, ranks) != node)
            continue;
        *own += other < rank;
        *of += 1;
    }
}

static void take_share(const struct groups *cores, int own, int of, cpu_set_t *out)
{
    int each = cores->n / of, more = cores->n % of;
    int first = own * each + (own < more ? own : more), count = each + (own < more);
    if (each == 0) {
        first = own % cores->n;
        count = 1;
    }
    CPU_ZERO(out);
    for (int i = first; i < first + count; i++)
        CPU_OR(out, out, &cores->at[i]);
}

/* The n-th complex, those with more processors first. */
static void take_complex(const struct groups *groups, int n, cpu_set_t *out)
{
    n %= groups->n;
    for (int size = CPU_SETSIZE; size > 0; size--)
        for (int i = 0; i < groups->n; i++)
            if (CPU_COUNT(&groups->at[i]) == size && n-- == 0) {
                *out = groups->at[i];
                return;
            }
}

static int64_t socket_of(const struct machine *machine, int node)
{
    char path[512];
    int64_t socket = -1;
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d/topology/physical_package_id",
             machine->root, lowest(&machine->node[node]));
    (void)read_number(path, &socket);
    return socket;
}

static void take_socket(const struct machine *machine, int node, cpu_set_t *out)
{
    int64_t socket = socket_of(machine, node);
    *out = machine->node[node];
    for (int i = 0; i < machine->n_nodes; i++)
        if (socket_of(machine, machine->nodes[i]) == socket)
            CPU_OR(out, out, &machine->node[machine->nodes[i]]);
}

const cpu_set_t *rank_bind_make(struct arena *arena, enum binding binding, uint32_t ranks,
                                const char *root)
{
    struct machine *machine = ARENA_NEW(arena, struct machine);
    machine->root = root;
    if (binding == BIND_NONE || sched_getaffinity(0, sizeof machine->allowed, &machine->allowed))
        return NULL;
    if (*root)
        memset(&machine->allowed, 0xff, sizeof machine->allowed);
    find_nodes(machine);
    if (machine->n_nodes == 0)
        return NULL;
    find_devices(machine);
    cpu_set_t *sets = ARENA_ARRAY(arena, ranks, cpu_set_t);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        int node = node_of_rank(machine, rank, ranks), own, of;
        place_on_node(machine, rank, ranks, &own, &of);
        sets[rank] = machine->node[node];
        if (binding == BIND_SOCKET)
            take_socket(machine, node, &sets[rank]);
        if (binding != BIND_EXCLUSIVE && binding != BIND_CORE_COMPLEX)
            continue;
        bool cores = binding == BIND_EXCLUSIVE;
        struct groups groups =
            group_cpus(arena, machine, node, cores ? read_siblings : read_complex);
        if (cores)
            take_share(&groups, own, of, &sets[rank]);
        else
            take_complex(&groups, own, &sets[rank]);
    }
    return sets;
}
