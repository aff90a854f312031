/* Secrets on a node: the values that the server sent for the job's tasks, and the files of a task
 * that have them. Values are in this process's memory and in the tasks' memory, on no disk. */
#ifndef NODE_SECRETS_H
#define NODE_SECRETS_H

#include "base/err.h"
#include "job/launch.h"
#include "node/masks.h"
#include "node/runtime/memory.h"

#include <stdbool.h>

struct secrets; /* of an agent */
struct secrets *secrets_create(void);
void secrets_destroy(struct secrets *); /* NULL-safe; values are overwritten */
/* false: each of them was known as it is. */
bool secrets_take(struct secrets *, const struct launch_secret *, size_t n);
const struct masks *secrets_masks(const struct secrets *);

/* The variables of a task, added to env; texts in arena, which is to be wiped. */
void secrets_put_env(const struct secrets *, const struct launch_task *, struct arena *,
                     struct pairs *env);

/* ---- files of one task ---- */
#define SECRET_DIRS_MAX 16
struct secret_files {
    const char *at[SECRET_DIRS_MAX]; /* the directories */
    int fd[SECRET_DIRS_MAX];         /* -1: not there yet */
    size_t n;
    struct memory_dirs dirs; /* for who makes the task's view */
    const char *own_dir;
};
/* Which directories it needs, none when it has no files. own_dir: that of files without a path of
 * their own; texts in arena. */
int secret_files_plan(struct secret_files *, struct arena *, const struct launch_task *,
                      const char *own_dir, const struct account *, struct err *);
/* They are there, below root: writes the files. */
int secret_files_open(struct secret_files *, int root, struct err *);
/* Writes each anew whose value is another; a reader finds the old one or the new one. */
int secret_files_write(const struct secret_files *, const struct secrets *,
                       const struct launch_task *, struct err *);
void secret_files_close(struct secret_files *);

#endif
