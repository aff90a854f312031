/* All tasks of an agent: what a launch asks for is prepared once and started, what happens to each
 * comes up as facts. */
#ifndef NODE_TASK_SET_H
#define NODE_TASK_SET_H

#include "node/site.h"
#include "node/stage.h"
#include "node/task.h"
#include "wire/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct task_set_sink {
    void (*expect)(void *arg, size_t facts); /* so many are to come: take the memory now */
    void (*fact)(void *arg, const struct wire_fact *);
    void (*all_over)(void *arg); /* all were told to stop and have ended; RELEASED follows when
                                    nothing is left here */
    void (*log)(void *arg, const struct wire_log *); /* at most one per task and TASK_SET_LOG_MS */
    void (*want)(void *arg, const struct wire_code_request *); /* when there is a connection */
    void *arg;
};
#define TASK_SET_LOG_MS 20u

struct task_set;
struct task_set *task_set_create(struct site *, struct task_set_sink);
void task_set_destroy(struct task_set *); /* NULL-safe; kills nothing */

/* Starts the tasks of batch->launch, unless its seq was applied before. The set holds batch as
 * long as it needs it. */
void task_set_launch(struct task_set *, struct batch *);
void task_set_renew_secrets(struct task_set *);     /* task_renew_secrets() of each */
uint32_t task_set_applied(const struct task_set *); /* seq of the last launch; 0: none */
void task_set_stop(struct task_set *, const struct wire_stop *);
/* The allocation of the node ends, and its tasks have been told: what ends from here on does so
 * for that. */
void task_set_lose(struct task_set *);
void task_set_tell_logs(struct task_set *); /* every log's end again (after a reconnect) */
/* Code that is fetched: a piece has come; the connection is a new one. */
void task_set_piece(struct task_set *, const struct wire_piece *);
void task_set_want_again(struct task_set *);
/* The attempt that runs here with this MUSTER_ATTEMPT_COOKIE; false: none does. Takes the same time
 * wherever texts of that length differ. */
bool task_set_whose(const struct task_set *, const char *cookie, size_t len, struct task_ref *,
                    uint32_t *attempt);
/* Sends it to the processes of that attempt; how many got it. */
uint32_t task_set_signal(const struct task_set *, const struct wire_signal *);
/* The attempt, also when it is over; NULL when it is not, or no longer, here. */
struct task *task_set_task(const struct task_set *, struct task_ref, uint32_t attempt);
/* How to enter a task's view; NULL when there is no such task (attempt 0: the latest). */
const struct stage *task_set_stage(const struct task_set *, struct task_ref, uint32_t attempt);

#endif
