/* An engine for tests: agents that outlive the server, number their facts and send them until
 * acknowledged, and do what a script says. It refuses to do what must never happen (starting an
 * attempt twice, two agents for one share). */
#ifndef CTL_TEST_FAKE_H
#define CTL_TEST_FAKE_H

#include "engine/engine.h"

#include "base/buf.h"
#include "base/vec.h"

#include <stdbool.h>

enum fake_phase { FAKE_STARTING, FAKE_RUNNING, FAKE_ENDED };
struct fake_task {
    struct task_ref ref;
    uint32_t attempt;
    enum fake_phase phase;
    bool ending; /* asked to end */
    enum end_origin why;
    char role[64];
};
struct fake_fact {
    struct engine_fact fact;
    bool sent; /* to the server that lives now */
};
struct fake_agent {
    struct generation generation;
    char node[64];
    uint32_t launch_seq;
    uint64_t seq;
    bool joined, releasing, released, dead;
    bool comes_again; /* it says that it joined, to the server that lives now */
    unsigned char token_hash[32];
    VEC(struct fake_task) tasks;
    VEC(struct fake_fact) facts;
};

/* What the program of an attempt does: an exit code, FAKE_RUNS until it is stopped, FAKE_CONFLICT
 * (port taken, never starts), FAKE_DIES (takes its agent along). */
enum { FAKE_RUNS = -1, FAKE_CONFLICT = -2, FAKE_DIES = -3 };
typedef int fake_script(void *arg, uint64_t job, const char *role, uint32_t index,
                        uint32_t attempt);

struct fake_line { /* what was said to a launcher */
    char node[64];
    uint32_t channel;
    struct buf bytes;
    bool closed;
};

struct fake {
    struct engine base; /* first */
    VEC(struct fake_agent *) agents;
    VEC(struct fake_line) lines;
    fake_script *script;
    void *arg;
    uint64_t now;
    int refuse; /* so many starts fail */
    unsigned more_caps;
    unsigned starts, stops, stops_one, acks;
    size_t hosts;         /* names of the last launch that had any */
    size_t host_launches; /* launches that had some */
    size_t host_texts;    /* how often what they are sent was made anew */
    const void *hosts_text;
    bool twice;            /* every fact is sent twice */
    VEC(uint64_t) started; /* keys of attempts that began: each once */
    unsigned doubled;      /* attempts that were started twice: must stay 0 */
    struct engine_ops ops;
};

void fake_init(struct fake *, fake_script *, void *arg);
void fake_fini(struct fake *);
void fake_cut(struct fake *); /* the server died: nothing counts as sent */
/* Lets every agent do one thing and send what it has to say. false: nothing happened. */
bool fake_step(struct fake *);
struct fake_line *fake_line(struct fake *, const char *node, uint32_t channel); /* NULL: none */
void fake_lines_clear(struct fake *);
void fake_kill_agent(struct fake *, size_t i);
size_t fake_alive(const struct fake *);   /* agents with something running or not released */
size_t fake_running(const struct fake *); /* tasks in starting or running */

#endif
