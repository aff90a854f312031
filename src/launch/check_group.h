/* Connections of the node check to the other nodes of its group: index 0 has one to each, the
 * others have one to index 0. They are measured (check_pair.h), then what each node can is told,
 * and a failure is told at once. */
#ifndef LAUNCH_CHECK_GROUP_H
#define LAUNCH_CHECK_GROUP_H

#include "launch/check_plan.h"
#include "launch/check_task.h"

#define CHECK_PARTNERS_MAX 64u

struct check_group {
    const struct check_task *task;
    int fds[CHECK_PARTNERS_MAX]; /* by index; -1: none */
    uint64_t met_ms;             /* when they had met, of the monotonic clock */
};

void check_group_init(struct check_group *, const struct check_task *);
void check_group_close(struct check_group *);

/* Tells the others what this node can (why: of one that failed), and fills plan with what index 0
 * decided for all. Waits at most agree_ms of the task. 0; -1: why says who failed, or what. */
int check_group_agree(struct check_group *, const struct check_ability *own, const char *own_why,
                      struct check_plan *plan, char why[CHECK_WHY_MAX]);

enum check_source { CHECK_SOURCE_NONE, CHECK_SOURCE_FD, CHECK_SOURCE_PARTNER };
/* Until fd or a partner (index *who; group NULL: none) can be read. */
enum check_source check_group_wait(struct check_group *, int fd, uint64_t ms, uint32_t *who);
/* What that partner says. 0: it has passed; -1: why says who failed, and how. */
int check_group_hear(struct check_group *, uint32_t who, char why[CHECK_WHY_MAX]);
/* Tells the others that this node has passed (own_why NULL), or how it failed. Index 0, when it has
 * passed, hears of the others until all have, within ms. 0; -1: why says who failed. */
int check_group_end(struct check_group *, const char *own_why, uint64_t ms,
                    char why[CHECK_WHY_MAX]);
/* "ADDRESS port NUMBER" of a node of the group, in out; returns it. */
#define CHECK_NAME_MAX 320
const char *check_group_name(const struct check_task *, uint32_t index, char out[CHECK_NAME_MAX]);

#endif
