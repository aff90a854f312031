/* Plays the server for a real keeper and agent: a Unix socket, the upgrade, frames both ways. */
#ifndef NODE_TEST_PLAYER_H
#define NODE_TEST_PLAYER_H

#include "base/arena.h"
#include "wire/message.h"

#include <stdbool.h>
#include <sys/types.h>

#define PLAYER_JOB 1234567890123456789u

struct player {
    struct arena *arena;
    char dir[64]; /* of the test */
    const char *cookie;
    char agent[80]; /* of the agent, below it */
    int listener, conn;
    pid_t keeper;
    struct buf in;
    size_t used; /* bytes of the frame that was given last */
    struct wire_hello hello;
    struct launch launch;
};

struct player *player_start(void);                  /* keeper runs, nobody has connected yet */
struct player *player_start_with(const char *conf); /* the same with these lines more in its conf */
void player_finish(struct player *); /* the keeper must be gone; removes the directory */
void player_accept(struct player *, uint64_t committed); /* upgrade, HELLO, WELCOME(committed) */
void player_answer(struct player *,
                   const char *head); /* accept, and answer the request with this */
void player_hang_up(struct player *);

/* Adds a task to the next launch; it may be changed until player_launch. */
struct launch_task *player_task(struct player *, const char *role, uint32_t index, const char *run);
void player_launch(struct player *);
void player_send(struct player *, const struct buf *);
void player_plain(struct player *, enum wire_kind, uint64_t seq);
void player_stop(struct player *, const struct wire_stop *);

struct wire_frame player_next(struct player *);
struct wire_frame player_frame(struct player *, enum wire_kind); /* the next of that kind */
/* The next fact; it must be of that kind. seq may be NULL. */
struct wire_fact player_fact(struct player *, enum wire_fact_kind, uint64_t *seq);
/* The next fact that is about role index of that kind, others are passed over. */
struct wire_fact player_fact_of(struct player *, enum wire_fact_kind, uint32_t index);

int player_keeper_status(struct player *); /* waits for its end */
char *player_log(struct player *, const char *role, uint32_t index, uint32_t attempt,
                 unsigned streams);
bool player_gone(pid_t); /* waits up to a few seconds for a process to disappear */
pid_t player_read_pid(struct player *,
                      const char *name); /* waits for a file with a pid below dir */

#endif
