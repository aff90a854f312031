/* What mpirun looks for in an MPIJob: the list of its hosts, and the program that starts a command
 * on one of them (the place of ssh). Hosts are pods; the program goes through muster, so that what
 * it starts belongs to the pod: its view, its limits, its end.
 *
 * Source: the vendor's open-source operator (/etc/mpi/hostfile, /etc/mpi/kubexec.sh). There each
 * pod has one slot whatever it holds; here as many as it has GPUs, or as
 * the job says (Slots).
 *
 * There each pod has a /tmp of its own, and a daemon of OpenMPI removes at its start what it finds
 * in its place of the job: several on one machine took each other's away. So what is started in a
 * pod has a TMPDIR of its own, and that of the launcher is no other job's. Ranks of one pod share
 * memory by files that are named by the machine and the rank's place in its pod: these have a
 * folder of their own too. */
#include "dialect/dlc/mpi.h"

#include "base/buf.h"
#include "dialect/dlc/dlc.h"
#include "dialect/dlc/extra.h"
#include "dialect/place_cache.h"

#include <string.h>

#define FILE_MAX (32u << 20) /* 65,536 pods with names of 63 characters take 17 MiB */

/* Ranks that a pod takes. */
static uint64_t slots_of(const struct job_spec *job, const struct role *role)
{
    uint64_t slots = text_number(text_get(job->extra, DLC_EXTRA), DLC_SLOTS);
    uint64_t gpus = role->resources.gpu_milli / 1000;
    return slots ? slots : gpus ? gpus : 1;
}

/* Of every task, in flat order: there may be 65,536 of them, and both files name them all. */
static const char *const *pod_names(struct arena *arena, const struct job_spec *job,
                                    const struct job_place *place)
{
    const char **names = ARENA_ARRAY(arena, place->n, const char *);
    for (uint32_t flat = 0; flat < place->n; flat++)
        names[flat] = dlc_pod_name(arena, job, place, flat);
    return names;
}

static const char *hostfile(struct arena *arena, const struct job_spec *job,
                            const struct job_place *place, const char *const *names)
{
    AUTO_BUF struct buf text = BUF_INIT(FILE_MAX);
    const char *slots = "";
    for (uint32_t flat = 0, role = UINT32_MAX; flat < place->n; flat++) {
        if (place->tasks[flat].role != role) {
            role = place->tasks[flat].role;
            slots = arena_printf(arena, " slots=%llu\n",
                                 (unsigned long long)slots_of(job, &job->roles[role]));
        }
        if (flat == 0 && !dlc_launcher_works(job))
            continue;
        buf_puts(&text, names[flat]);
        buf_puts(&text, slots);
    }
    return arena_strdup(arena, buf_str(&text));
}

/* mpirun calls it as HOST COMMAND...; the words of the command are joined by blanks, as ssh does.
 * A pod that has not started yet is waited for, up to a minute. */
static const char *agent(struct arena *arena, const struct job_spec *job,
                         const struct job_place *place, const struct site *site,
                         const char *const *names)
{
    AUTO_BUF struct buf text = BUF_INIT(FILE_MAX);
    buf_puts(&text, "#!/bin/sh\n# HOST COMMAND...: runs the command in the pod HOST of this job\n"
                    "while [ \"${1#-}\" != \"$1\" ]; do shift; done\n"
                    "host=$1; shift\ncase \"$host\" in\n");
    for (uint32_t flat = 0; flat < place->n; flat++) {
        const struct task_place *task = &place->tasks[flat];
        buf_puts(&text, names[flat]);
        buf_puts(&text, ") pod=");
        buf_puts(&text, job->roles[task->role].name);
        buf_addf(&text, "/%u ;;\n", task->index);
    }
    buf_addf(&text,
             "*) echo \"$host is no pod of this job\" >&2; exit 255 ;;\nesac\n"
             "muster() { MUSTER_STATE_DIR='%s' '%s' exec -T %llu \"$pod\" -- \"$@\"; }\n"
             "n=0\n"
             "until muster true </dev/null >/dev/null 2>&1; do\n"
             "    n=$((n + 1))\n"
             "    [ $n -lt 300 ] || { echo \"$host did not start\" >&2; exit 255; }\n"
             "    sleep 0.2\n"
             "done\n"
             "muster /bin/sh -c \"TMPDIR=\\$(mktemp -d) && export TMPDIR || exit 255\n"
             "if shm=\\$(mktemp -d -p /dev/shm 2>/dev/null); then\n"
             "    export OMPI_MCA_btl_vader_backing_directory=\\$shm\n"
             "    export OMPI_MCA_btl_sm_backing_directory=\\$shm\n"
             "fi\n"
             "( $*\n)\n"
             "status=\\$?; rm -rf \\\"\\$TMPDIR\\\" \\$shm; exit \\$status\"\n",
             site->state_dir, site->program, (unsigned long long)place->number);
    return arena_strdup(arena, buf_str(&text));
}

struct mpi_job {
    const struct job_spec *job;
    const struct job_place *place;
    const struct site *site;
};

static const void *make_files(struct arena *arena, const void *arg)
{
    const struct mpi_job *p = arg;
    struct dialect_file *files = ARENA_ARRAY(arena, 3, struct dialect_file);
    const char *const *names = pod_names(arena, p->job, p->place);
    files[0] = (struct dialect_file){ .path = DLC_MPI_HOSTS,
                                      .text = hostfile(arena, p->job, p->place, names) };
    files[1] = (struct dialect_file){ .path = DLC_MPI_AGENT,
                                      .text = agent(arena, p->job, p->place, p->site, names),
                                      .program = true };
    files[2] = (struct dialect_file){ .path = DLC_MPI_TMP };
    return files;
}

const struct dialect_file *dlc_files(struct arena *arena, const struct job_spec *job,
                                     const struct job_place *place, const struct site *site,
                                     size_t *n)
{
    const struct mpi_job placed = { .job = job, .place = place, .site = site };
    bool mpi = job->framework && strcmp(job->framework, "mpi") == 0;
    if (!mpi || place->n < 2 || !site->program || !site->state_dir)
        return NULL;
    *n = 3;
    return place_cache_get(place, arena, "dlc.files", make_files, &placed);
}
