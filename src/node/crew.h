/* All tasks of an agent: what a launch asks for is prepared once and started, what happens to each
 * comes up as facts. */
#ifndef NODE_CREW_H
#define NODE_CREW_H

#include "node/site.h"
#include "node/stage.h"
#include "node/task.h"
#include "wire/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct crew_sink {
    void (*expect)(void *arg, size_t facts); /* so many are to come: take the memory now */
    void (*fact)(void *arg, const struct wire_fact *);
    void (*all_over)(void *arg); /* all were told to stop and have ended; RELEASED follows when
                                    nothing is left here */
    void (*log)(void *arg, const struct wire_log *); /* at most one per task and CREW_LOG_MS */
    void (*want)(void *arg, const struct wire_code_request *); /* when there is a connection */
    void *arg;
};
#define CREW_LOG_MS 20u

struct crew;
struct crew *crew_create(struct site *, struct crew_sink);
void crew_destroy(struct crew *); /* NULL-safe; kills nothing */

/* Starts the tasks of batch->launch, unless its seq was applied before. The crew holds batch as
 * long as it needs it. */
void crew_launch(struct crew *, struct batch *);
void crew_renew_secrets(struct crew *);     /* task_renew_secrets() of each */
uint32_t crew_applied(const struct crew *); /* seq of the last launch; 0: none */
void crew_stop(struct crew *, const struct wire_stop *);
/* The allocation of the node ends, and its tasks have been told: what ends from here on does so
 * for that. */
void crew_lose(struct crew *);
void crew_tell_logs(struct crew *); /* every log's end again (after a reconnect) */
/* Code that is fetched: a piece has come; the connection is a new one. */
void crew_piece(struct crew *, const struct wire_piece *);
void crew_want_again(struct crew *);
/* The attempt that runs here with this MUSTER_ATTEMPT_COOKIE; false: none does. Takes the same time
 * wherever texts of that length differ. */
bool crew_whose(const struct crew *, const char *cookie, size_t len, struct task_ref *,
                uint32_t *attempt);
/* Sends it to the processes of that attempt; how many got it. */
uint32_t crew_signal(const struct crew *, const struct wire_signal *);
/* The attempt, also when it is over; NULL when it is not, or no longer, here. */
struct task *crew_task(const struct crew *, struct task_ref, uint32_t attempt);
/* How to enter a task's view; NULL when there is no such task (attempt 0: the latest). */
const struct stage *crew_stage(const struct crew *, struct task_ref, uint32_t attempt);

#endif
