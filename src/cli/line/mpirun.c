/* mpirun, mpiexec and horovodrun. On one machine the line runs as it is. An mpirun line over
 * several hosts becomes a job whose first task runs it and whose tasks are its hosts: which they
 * are, and how a rank is started there, mpirun is told by the job.
 *
 * Source of the options: OpenMPI 4.1 and 5.0, MPICH's and Intel's Hydra, Horovod 0.28. */
#include "cli/line/mpirun.h"

#include "base/mem.h"
#include "cli/line/hosts.h"
#include "cli/line/number.h"
#include "cli/line/options.h"

#include <string.h>

enum { RANKS = 1, HOSTS, HOSTFILE, PER_NODE, ONE_PER_NODE, SSH, ELASTIC };

static const struct line_option mpi_rows[] = {
    { "np n c", 1, RANKS },
    { "H host hosts", 1, HOSTS },
    { "hostfile machinefile default-hostfile f", 1, HOSTFILE },
    { "N npernode ppn perhost", 1, PER_NODE },
    { "pernode", 0, ONE_PER_NODE },
    { "launcher bootstrap launcher-exec bootstrap-exec rsh", 1, SSH },
    { "x wd wdir path prefix rf rankfile output-filename bind-to map-by rank-by report-events", 1,
      0 },
    { "am tune app timeout stdin cpu-set cpus-per-proc cpus-per-rank npersocket iface envlist", 1,
      0 },
    { "binding bind order-nodes ordering configfile", 1, 0 },
    { "mca gmca prtemca pmixmca env genv", 2, 0 },
};
static const struct line_options mpi_options = {
    .launcher = "mpirun", .rows = mpi_rows, .n = ARRAY_LEN(mpi_rows), .unknown = LINE_UNKNOWN_FLAG
};

static const struct line_option horovod_rows[] = {
    { "np num-proc", 1, RANKS },
    { "H hosts", 1, HOSTS },
    { "hostfile", 1, HOSTFILE },
    { "min-np min-num-proc max-np max-num-proc host-discovery-script slots-per-host slots", 1,
      ELASTIC },
    { "reset-limit cooldown-range elastic-timeout", 1, ELASTIC },
    { "p ssh-port ssh-identity-file network-interfaces network-interface start-timeout", 1, 0 },
    { "output-filename config-file fusion-threshold-mb cycle-time-ms cache-capacity", 1, 0 },
    { "autotune-log-file autotune-warmup-samples autotune-steps-per-sample", 1, 0 },
    { "timeline-filename stall-check-warning-time-seconds stall-check-shutdown-time-seconds", 1,
      0 },
    { "mpi-args binding-args log-level thread-affinity gloo-timeout-seconds num-nccl-streams", 1,
      0 },
};
static const struct line_options horovod_options = { .launcher = "horovodrun",
                                                     .rows = horovod_rows,
                                                     .n = ARRAY_LEN(horovod_rows),
                                                     .unknown = LINE_UNKNOWN_FLAG };

struct mpirun_options {
    uint32_t ranks, per_node; /* 0: not said */
    struct line_hosts hosts;
    struct words kept; /* options that say nothing of hosts */
    bool elastic;
};

static int take_option(struct line_reader *r, const struct line_walk *w, const struct line_match *f,
                       struct mpirun_options *asked, struct err *err)
{
    switch (f->means) {
    case RANKS:
        return line_number(f->name, f->value, 1, LINE_RANKS_MOST * LINE_NODES_MOST, &asked->ranks,
                           err);
    case HOSTS: return line_hosts_list(r->arena, f->name, f->value, &asked->hosts, err);
    case HOSTFILE: return line_hosts_file(r->arena, f->name, f->value, &asked->hosts, err);
    case PER_NODE: return line_number(f->name, f->value, 1, LINE_RANKS_MOST, &asked->per_node, err);
    case ONE_PER_NODE: asked->per_node = 1; return 0;
    case ELASTIC: asked->elastic = true; return 0;
    case SSH: return 0;
    default:
        for (int i = 0; i < f->n; i++)
            asked->kept.at[asked->kept.n++] = w->argv[f->first + i];
        return 0;
    }
}

static int read_options(struct line_reader *r, struct line_walk *w, struct mpirun_options *asked,
                        struct err *err)
{
    struct line_match found;
    int rc;
    asked->kept.at = ARENA_ARRAY(r->arena, (size_t)r->argc, const char *);
    while ((rc = line_next(w, &found, err)) > 0)
        if (take_option(r, w, &found, asked, err) < 0)
            return -1;
    return rc;
}

/* Ranks fill the hosts in their order; how many hosts are used, and the ranks of the fullest. */
static void fill_hosts(const struct mpirun_options *asked, uint32_t *nodes, uint32_t *slots)
{
    uint32_t left = asked->ranks;
    *nodes = *slots = 0;
    if (asked->per_node) {
        uint32_t all = asked->ranks / asked->per_node + (asked->ranks % asked->per_node > 0);
        *nodes = all ? all : (uint32_t)asked->hosts.n;
        *slots = asked->per_node;
        return;
    }
    for (size_t i = 0; i < asked->hosts.n && (left || !asked->ranks); i++) {
        uint32_t n = asked->hosts.at[i].slots ? asked->hosts.at[i].slots : 1;
        (*nodes)++;
        *slots = n > *slots ? n : *slots;
        left -= n < left ? n : left;
    }
    if (left && *nodes) { /* more ranks than slots: oversubscribed, all hosts alike */
        uint32_t each = asked->ranks / *nodes + (asked->ranks % *nodes > 0);
        *slots = each > *slots ? each : *slots;
    }
}

/* Hydra and OpenMPI start several programs as one world, each with numbers of its own. */
static bool has_several(const struct line_walk *w)
{
    for (int i = w->at; i < w->argc; i++)
        if (strcmp(w->argv[i], ":") == 0)
            return true;
    return false;
}

static int run_as_it_is(struct line_reader *r, uint32_t ranks, struct err *err)
{
    if (line_shape(r, 1, ranks, err) < 0)
        return -1;
    line_keep(r, (const char *const *)r->argv, (size_t)r->argc);
    return 1;
}

static int run_over_tasks(struct line_reader *r, const struct mpirun_options *asked, uint32_t nodes,
                          uint32_t slots, const struct line_walk *w, struct err *err)
{
    uint32_t ranks = asked->ranks ? asked->ranks : nodes * slots;
    struct words line = { .at = ARENA_ARRAY(r->arena, (size_t)r->argc + 2, const char *) };
    if (slots > LINE_RANKS_MOST) {
        err_set(err, ERR_INPUT, "mpirun: %u ranks on one host", slots);
        return err_hint(err, "at most %d", LINE_RANKS_MOST);
    }
    if (line_shape(r, nodes, slots, err) < 0)
        return -1;
    line.at[line.n++] = r->argv[0];
    line.at[line.n++] = "-np";
    line.at[line.n++] = arena_printf(r->arena, "%u", ranks);
    for (size_t i = 0; i < asked->kept.n; i++)
        line.at[line.n++] = asked->kept.at[i];
    for (int i = w->at; i < w->argc; i++)
        line.at[line.n++] = w->argv[i];
    line_keep(r, line.at, line.n);
    r->out->kind = LINE_MPI;
    line_say(r, "hosts are left out: the tasks of the job are the hosts, mpirun is told of them");
    return 1;
}

static bool names_mpirun(const char *word)
{
    static const char *const names[] = { "mpirun",        "mpiexec",       "mpirun.openmpi",
                                         "mpirun.mpich",  "mpiexec.hydra", "mpiexec.openmpi",
                                         "mpiexec.mpich", "prterun",       "orterun" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(names[i], line_base_name(word)) == 0)
            return true;
    return false;
}

int line_mpirun(struct line_reader *r, struct err *err)
{
    struct line_walk w = { .of = &mpi_options, .argc = r->argc, .at = 1, .argv = r->argv };
    struct mpirun_options asked = { .ranks = 0 };
    uint32_t nodes, slots;
    if (!names_mpirun(r->argv[0]))
        return 0;
    if (read_options(r, &w, &asked, err) < 0)
        return -1;
    fill_hosts(&asked, &nodes, &slots);
    line_starts(r, w.at);
    if (nodes > 1 && has_several(&w)) {
        err_set(err, ERR_INPUT, "mpirun: several programs (\":\") over several hosts");
        return err_hint(err, "one program that looks at its rank, or a job file with a role each");
    }
    if (nodes > 1)
        return run_over_tasks(r, &asked, nodes, slots, &w, err);
    if (asked.ranks > LINE_RANKS_MOST)
        return line_number("-np", arena_printf(r->arena, "%u", asked.ranks), 1, LINE_RANKS_MOST,
                           &nodes, err);
    return run_as_it_is(r, asked.ranks ? asked.ranks : slots, err);
}

int line_horovodrun(struct line_reader *r, struct err *err)
{
    const char *python;
    int words = line_program(r, "horovodrun", "horovod.runner.launch", &python);
    struct line_walk w = { .of = &horovod_options, .argc = r->argc, .at = words, .argv = r->argv };
    struct mpirun_options asked = { .ranks = 0 };
    uint32_t nodes, slots;
    if (!words)
        return 0;
    if (read_options(r, &w, &asked, err) < 0)
        return -1;
    fill_hosts(&asked, &nodes, &slots);
    line_starts(r, w.at);
    if (nodes > 1 || asked.elastic) {
        err_set(err, ERR_INPUT, "horovodrun %s: it would start its ranks by ssh",
                asked.elastic ? "with hosts that come and go" : "over several hosts");
        return err_hint(err, "mpirun -np %u -N %u -bind-to none %s", asked.ranks, slots ? slots : 1,
                        r->out->program.n ? r->out->program.at[0] : "PROGRAM");
    }
    if (asked.ranks > LINE_RANKS_MOST)
        return line_number("-np", arena_printf(r->arena, "%u", asked.ranks), 1, LINE_RANKS_MOST,
                           &nodes, err);
    return run_as_it_is(r, asked.ranks ? asked.ranks : slots, err);
}
