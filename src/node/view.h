/* What the tasks of an agent see that its machine does not show: a mount namespace with their
 * /etc/hosts and mounts. The agent itself stays outside; tasks enter (view_enter) before their
 * program starts. */
#ifndef NODE_VIEW_H
#define NODE_VIEW_H

#include "base/err.h"
#include "base/vec.h"
#include "job/launch.h"
#include "node/ids.h"
#include "node/runtime/memory.h"
#include "node/runtime/root.h"

#include <stdbool.h>
#include <sys/types.h>

struct view {
    int pid_ns;            /* -1: none. Of a task alone: its end is that of its first process */
    int user_ns, mount_ns; /* -1: none. An agent of root's enters the mounts alone: its tasks enter
                            * the other as the account whose it is (node/confine.h) */
    int root;              /* the agent's root directory as it is in there */
    bool hosts;            /* the names of the launch resolve */
    char why_not[160];     /* why there is no namespace, or no hosts; "" otherwise */
    VEC(int) holds;        /* on the mount points: they stay as long as the view does */
};

#define VIEW_INIT ((struct view){ .pid_ns = -1, .user_ns = -1, .mount_ns = -1, .root = -1 })
void view_fini(struct view *);

/* Builds the view at the first launch, and refreshes the hosts at later ones. -1 only when
 * something that the job needs (a mount) cannot be had; hosts that cannot be shown are told by
 * view->hosts and why_not. */
int view_prepare(struct view *, const struct launch *, struct err *);
/* A view for one task: base, which may be none, with places of its own. -1 where there can be none,
 * or where one would cover what the job needs. *out is VIEW_INIT before, and then too. */
struct task_mounts {
    uint64_t shm;                     /* bytes of a /dev/shm; 0: as it is */
    const struct memory_dirs *memory; /* NULL: none */
};
int view_own(const struct view *base, const struct launch *, const struct task_mounts *,
             struct view *out, struct err *err);
/* The launch's names alone, for tasks that have a root of their own (LAUNCH.dir/hosts). */
int view_write_hosts(const struct launch *, struct err *err);
/* Whose rights a mount of the launch takes: files that were written for the launch are the server's
 * own. NULL: the agent's. */
const struct account *view_account_of(const struct launch *, const struct bind_mount *);
/* In a child about to exec: 0 or -1 and errno. Without a namespace nothing happens. */
int view_enter(const struct view *);

/* In a child about to exec, instead: new namespaces, for whoever is not root in a user namespace
 * where it is root; with own_pids its next child begins one of processes (node/runtime/pids.h).
 * Then that becomes "/"; user_ns: it was not root before. 0, or -1 and why. */
int view_leave(const struct ids *, bool own_pids, char why[ROOT_WHY]);
int view_enter_root(const struct root *, bool user_ns, char why[ROOT_WHY]);
/* Instead of view_leave, where a process of that number holds them in a container. */
int view_join(pid_t holder, const struct ids *, bool own_pids, char why[ROOT_WHY]);
/* Instead of both, where it holds such a root, which a container has made; container_fill() is due
 * then. */
int view_enter_container(pid_t holder, char why[ROOT_WHY]);
/* In a child that entered the view of a task: goes on inside its process namespace; ended: in a new
 * one instead, because that one has ended. 0, or -1 and errno. */
int view_enter_pids(const struct view *, bool ended);
/* From there to the agent, over a socket of packets: the namespaces that the child is in. 0, or -1
 * and errno. */
int view_send(int sock, bool own_pids, bool user_ns);
#define VIEW_RECEIVED (-2)
/* The next packet: VIEW_RECEIVED, and *view is that (VIEW_INIT before), or as from recv() with
 * something else in `other`. */
ssize_t view_receive(int sock, struct view *, void *other, size_t size);

/* The code directory in a task's working directory. */
struct view_code {
    const char *from, *at;         /* NULL: nothing has to be done */
    const struct account *account; /* who has to be able to reach `from`; NULL: the agent */
};
/* Where the launch's code has to show for a task that works in work_dir; makes the mount point, or,
 * where there is no namespace, the read-only copy (then there is nothing left to do). code->at is
 * malloc'ed. */
int view_stage_code(struct view *, const struct launch *, const char *work_dir,
                    struct view_code *code, struct err *);
/* Where code of that directory shows in a working directory: under its own name; malloc'ed. */
char *view_code_at(const char *code_dir, const char *work_dir);
/* In a child that has entered: mounts the code read-only. 0 or -1 and errno. */
int view_show_code(const struct view_code *);

#endif
