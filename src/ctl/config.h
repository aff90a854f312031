/* What the core is made with: the parts it drives, where things lie, and the settings that decide
 * about jobs. */
#ifndef CTL_CONFIG_H
#define CTL_CONFIG_H

#include "dialect/task_env.h"
#include "source/storage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct amounts;
struct ctl_tape;
struct dialects;
struct engine;
struct entry;
struct image_question;
struct image_wish;
struct node_spec;
struct store;
struct turn_meter;
struct words;

struct ctl_config {
    struct store *store;
    struct engine *engine;
    const struct dialects *dialects;
    const char *state_dir;     /* NULL: nothing outlives the process, with an engine of numbers */
    const char *program;       /* muster itself, for tasks that call it; NULL: unknown */
    const char *socket;        /* where tasks of this machine reach this server; NULL: nowhere */
    const char *public_socket; /* the same for tasks of other accounts */
    const char *runs_dir;      /* launch directories: runs_dir/<number>/g<generation>/<node> */
    const char *users_dir;   /* what belongs to other accounts: jobs/<number>/..., packages/<uid> */
    bool sandbox;            /* tasks have the rights of a container */
    bool own_accounts;       /* a job runs as its owner; else as the server's own user */
    uint32_t task_pids;      /* processes of a task; 0: no limit */
    const char *job_account; /* of those who have no account of their own; "" none */
    const char *fs_uri;      /* $PAI_DEFAULT_FS_URI */
    const struct uri_root *roots;
    size_t n_roots;
    const char *python; /* base interpreter of per-job environments; NULL: none */
    enum torchrun torchrun;
    enum job_runtime runtime; /* of jobs that name an image and no runtime; SERVER is as HOST */
    uint64_t images_size;     /* bytes of images that a node keeps for an account */
    const struct runtime_checks *runtimes; /* of this machine; NULL: all work */
    /* Asks the registries which images the names stand for; FACT_IMAGE, PINNED or FAILED, answers
     * for each of them, never at once. NULL: nobody asks, and nothing waits. */
    void (*ask_images)(void *arg, const struct image_question *);
    void *ask_images_arg;
    /* Fetches an image for a job that waits, into the store of this machine or of wish->node;
     * FACT_IMAGE, EARLY_..., of that node tells how it goes, never at once. drop_early: the job
     * wants none any more. NULL: not done. */
    void (*fetch_early)(void *arg, const struct image_wish *);
    void (*drop_early)(void *arg, uint64_t job);
    void *early_arg;
    const char *no_allocations; /* why no nodes can be asked for; NULL: as the engine's caps say */
    const char *no_users_allocations; /* the same for jobs of other accounts */
    const char *place_engine;         /* of jobs that name none; NULL: any */
    const char *gpu_mps; /* pipe directory of an MPS daemon, "{uid}" for the account's number; "" or
                            NULL: none */
    const struct words *queues;   /* quotas by settings ("default" always) */
    const struct entry *declared; /* those that the settings say more of than a name */
    size_t n_declared;
    const struct words *topology; /* labels of nodes, outermost first; "node" is implied */
    const struct amounts *prices; /* of a device for an hour, by model; "*": all others */
    uint64_t run_ms;              /* assumed of jobs without a limit; 0: a day */
    uint64_t half_life_ms;        /* of what users had; 0: a week, UINT64_MAX: never */
    const struct entry *shipped;  /* the catalogue of a fresh server, besides its defaults */
    size_t n_shipped;
    const struct node_spec *nodes;
    size_t n_nodes;
    uint32_t port_first, port_last;
    uint64_t log_head, log_tail; /* bytes */
    uint64_t keep_ms;            /* records of finished jobs */
    uint64_t (*now)(void *arg);  /* wall milliseconds */
    void *now_arg;
    uint64_t (*mono)(void *arg); /* microseconds that go on; NULL: now never jumps (tests) */
    int64_t base_ms; /* ctl_now() - mono (clock.h), when it has one; else made of both */
    bool has_base;
    const char *boot; /* of the kernel; NULL: none of its is noted */
    void (*wake)(void *arg,
                 uint64_t at_ms); /* asks for ctl_tick when ctl_now() is that (0: no timer) */
    void *wake_arg;
    void (*look)(void *arg); /* asks for a look at devices, in which ctl_device_left() tells which:
                                launches wait for it. Never calls back at once. NULL: nobody looks,
                                and nothing waits */
    void *look_arg;
    void (*allocate)(void *arg); /* asks for a look at who is to have one. Never calls back at once.
                                    NULL: nobody looks */
    void *allocate_arg;
    uint32_t slice;              /* tasks of a job that one turn handles; 0: SLICE_TASKS */
    struct turn_meter *meter;    /* of the loop's turns; NULL: nobody looks */
    const struct ctl_tape *tape; /* told of all that comes in (ctl/tape.h); NULL: nobody is */
    const char *admin;           /* the server's own user; NULL: whose state_dir is */
};

#endif
