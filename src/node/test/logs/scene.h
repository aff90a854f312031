/* A real keeper with a real agent that sends its logs, and a server that is killed: link/ in a
 * process of its own, behind a wire that is cut. They share one directory, but not the logs. */
#ifndef NODE_TEST_LOGS_SCENE_H
#define NODE_TEST_LOGS_SCENE_H

#include "base/arena.h"
#include "base/dice.h"
#include "job/launch.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SCENE_TASKS 64u

/* What outlives the server, as its records would; shared with its process. */
struct scene_records {
    uint64_t acked; /* facts */
    uint32_t ended; /* tasks */
    /* Of each task: where its log ends; when readers were told that all of it is there. */
    uint64_t log_end[SCENE_TASKS], copied_us[SCENE_TASKS], copied[SCENE_TASKS];
};

struct scene_faults {
    uint32_t cut_after;  /* bytes of a connection, at most, then both ends are cut; 0: never */
    uint32_t cuts;       /* so many times */
    uint32_t file_limit; /* bytes of a file that the server can write, RLIMIT_FSIZE; 0: all */
    uint32_t refusal_ms; /* for so long; 0: for ever */
    bool acks_no_facts;
    bool no_wire; /* the agent calls the server itself */
};

struct scene {
    struct arena *arena;
    char dir[64];
    pid_t keeper, server, wire;
    struct launch launch; /* to be filled, before scene_serve */
    struct scene_faults faults;
    struct scene_records *records;
    uint64_t seed;
};

struct scene *scene_create(uint64_t seed);
struct launch_task *scene_task(struct scene *, const char *run);
void scene_start(struct scene *, uint64_t leave_ms); /* wire and keeper */
void scene_serve(struct scene *);                    /* a server, after scene_kill another one */
void scene_kill(struct scene *);
int scene_wait(struct scene *); /* until the keeper is gone; its status */
/* The copies are the logs, file by file and byte by byte; how many bytes. */
uint64_t scene_compare(const struct scene *);
/* Bytes that a reader of the copy is told are missing. */
uint64_t scene_gap(const struct scene *, uint32_t index);
void scene_destroy(struct scene *);

#endif
