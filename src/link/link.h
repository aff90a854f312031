/* The server's end of agent connections: who is expected, which frames go down, which facts come
 * up, each applied once. Shared by every engine whose nodes run muster's agent. */
#ifndef LINK_LINK_H
#define LINK_LINK_H

#include "base/err.h"
#include "engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

struct conn;
struct uv_loop_s;
struct link_hub;

struct link_hub *link_create(struct uv_loop_s *loop, struct engine_sink sink);
void link_destroy(
    struct link_hub *); /* closes connections; agents go on and reconnect to the next server */

/* An agent that may connect: its token (32 random bytes, hashed by SHA-256 in token_hash) and the
 * facts already committed. */
void link_expect(struct link_hub *, struct generation, const char *node,
                 const unsigned char token_hash[32], uint64_t last_seq);
/* Its logs are not on this disk: they come over the connection and are copied below dir, the launch
 * directory of that node as the readers know it. After link_expect. What has not come when the
 * agent is forgotten, or says that nothing is left, becomes a hole of its size. */
void link_keep_logs(struct link_hub *, struct generation, const char *node, const char *dir);
/* Forgets the agent and closes its connection. An agent whose RELEASED fact was acknowledged has
 * been told to leave already. */
void link_forget(struct link_hub *, struct generation, const char *node);
/* An agent of no job that is known here: it is not let in, and not told to leave either. */
void link_hold(struct link_hub *, const char *token);
bool link_holds(const struct link_hub *, const char *token);
/* One that is expected is not let in, and told to come again later, until that is undone. */
void link_bar(struct link_hub *, struct generation, const char *node, bool barred);
/* Has it reported, as its last word, that nothing of its tasks is left? */
bool link_released(const struct link_hub *, struct generation, const char *node);
bool link_connected(const struct link_hub *, struct generation, const char *node);
/* Has it ever been, since it was expected? */
bool link_came(const struct link_hub *, struct generation, const char *node);
/* How long ago anything came from a connected agent; one of another machine speaks every second.
 * false: it is not connected. */
bool link_quiet_ms(const struct link_hub *, struct generation, const char *node, uint64_t *ms);

/* Kept (encoded) until the agent has it: sent now, or when it says HELLO with an older launch_seq.
 */
int link_launch(struct link_hub *, const struct launch *, struct err *);
/* Kept in the same way: an agent that is not connected gets it after its HELLO. task NULL:
 * everything. */
void link_stop(struct link_hub *, struct generation, const char *node, const struct task_ref *task,
               enum stop_how, enum end_origin why);
void link_ack(struct link_hub *, struct generation, const char *node, uint64_t seq);
int link_exec(struct link_hub *, const struct engine_exec *,
              struct err *); /* ERR_UNAVAILABLE when not connected */
int link_join(struct link_hub *, const struct engine_attach *, struct err *); /* the same */

/* As engine_ops.signal; ERR_UNAVAILABLE when not connected. What is open when the hub ends hears
 * HEARD_NEVER. */
int link_signal(struct link_hub *, const struct engine_signal *, struct err *);

void link_secrets(struct link_hub *, const struct engine_secrets *); /* as engine_ops.secrets */

/* As engine_ops.tell_launcher. */
struct launcher_end { /* which launcher */
    struct generation generation;
    const char *node;
    uint32_t channel;
};
void link_tell_launcher(struct link_hub *, const struct launcher_end *, const void *bytes,
                        size_t len);

/* Others than agents who come by the same way and are known by the hash of a token (hex), as hosts
 * of machines are. knows NULL: none. */
struct link_peers {
    bool (*knows)(void *arg, const char *hash_hex);
    void (*adopt)(void *arg, const char *hash_hex, struct conn *); /* one that it knows */
    void *arg;
};
enum link_peer { LINK_HOSTS, LINK_JOINERS, LINK_PEERS };
void link_set_peers(struct link_hub *, enum link_peer, struct link_peers);
/* Where the code of jobs is found that agents ask for by its SHA-256, when it does not lie on a
 * disk of theirs. open: a descriptor, or -1 when that job has no such code. */
struct link_code {
    int (*open)(void *arg, struct generation, const char *hash);
    void *arg;
};
void link_serve_code(struct link_hub *, struct link_code);
/* The same for one agent: the file at path, whose name is its SHA-256. After link_expect. */
void link_stage_code(struct link_hub *, struct generation, const char *node, const char *path);

/* The upgrade route's two steps: does the bearer token (hex) belong to an expected agent; then the
 * socket (owned by the hub from here on) with the bytes that came after the request's head. A
 * second connection of the same agent replaces the first. */
bool link_knows(const struct link_hub *, const char *token);
int link_attach(struct link_hub *, const char *token, int fd, const void *extra, size_t len,
                struct err *);

/* The same with a connection that was made already (LINK_OUT_MAX, LINK_OUT_ROOM), of somebody whom
 * link_knows. */
#define LINK_OUT_MAX  (64u << 20)
#define LINK_OUT_ROOM (1u << 20) /* clients of exec are held up beyond it */
void link_adopt(struct link_hub *, const char *token, struct conn *);
struct uv_loop_s *link_loop(const struct link_hub *);

#endif
