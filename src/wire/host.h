/* Bodies of the frames between the server and the host of a machine: the process there that starts
 * keepers, and knows which of them live. They go over a connection of their own. */
#ifndef WIRE_HOST_H
#define WIRE_HOST_H

#include "base/pairs.h"
#include "job/ids.h"
#include "job/image_progress.h"
#include "job/words.h"
#include "wire/codec.h"

#include <stdint.h>

#define HOST_TOKEN  32u /* bytes of an agent's token */
#define HOST_CODE   64u /* digits of a SHA-256 */
#define HOST_MARKER 1150u
#define HOST_IMAGES 1u /* in HOST_HELLO.does: it reads HOST_IMAGE and HOST_IMAGE_DROP */

struct wire_host_device {
    uint32_t minor;                 /* of /dev/nvidiaN */
    const char *model, *uuid, *pci; /* "" where the driver does not say */
    uint64_t memory;                /* bytes */
    const char *error;              /* why it cannot be used; "" when it can */
};
struct wire_host_hello { /* host -> server: the first, and again when something of it changed */
    uint32_t version;
    const char *node;
    const char *machine; /* id of the machine, the same after each boot */
    const char *boot;    /* id of this boot: nothing of another one lives */
    uint32_t pid;
    uint64_t cpu_milli, memory, disk;
    struct wire_host_device *devices;
    uint32_t n_devices;
    const char *device_error; /* why they are not, or not all, known; "" when all is well */
    struct pairs labels;
    uint32_t does; /* HOST_...: what it can besides; 0: of a version that does not say */
};

enum wire_host_run_state {
    HOST_RUN_LIVES = 1,
    HOST_RUN_ENDED, /* nothing of it lives; its directory is there */
    HOST_RUN_N
};
struct wire_host_run {
    struct generation generation;
    enum wire_host_run_state state;
};
struct wire_host_runs { /* host -> server: after HOST_HELLO, all that have a directory */
    struct wire_host_run *runs;
    uint32_t n_runs;
    uint32_t *marks; /* as their HOST_START said, in the same order; NULL: none had one */
    uint32_t n_marks;
};

struct wire_host_start { /* server -> host */
    struct generation generation;
    const void *token; /* HOST_TOKEN bytes; the agent's */
    uint32_t token_len;
    bool sandbox;      /* tasks have the rights of a container */
    uint64_t leave_ms; /* how long the agent waits for the last acknowledgements; 0: as they take */
    const char *code;  /* SHA-256 of the code of its job, 64 digits; NULL: there is none */
    const char *marker; /* "TEXT PATH": a file that says TEXT where the machine sees that
                         * directory of code itself; NULL: it does not ask */
    uint32_t mark; /* tells it from others of the same generation on this machine; 0: has none */
};
struct wire_host_end { /* server -> host */
    struct generation generation;
};
struct wire_host_ended_report { /* host -> server */
    struct generation generation;
    const char *reason;
};
struct wire_host_clean { /* server -> host */
    struct generation generation;
};

/* An image for a job that waits in the queue: it comes into the store of the host, one after the
 * other, with the least right to time and room. Numbers are of the server's process; the same twice
 * is one. */
struct wire_host_image { /* server -> host */
    uint32_t number;
    const char *name;  /* with its digest */
    uint64_t limit;    /* bytes of the store */
    struct words keep; /* digests of images that jobs ahead want: in use meanwhile */
    const char *auth;  /* credentials as docker login writes them; NULL: none */
    size_t auth_len;
};
struct wire_host_image_drop { /* server -> host: nobody wants it any more */
    uint32_t number;
};
struct wire_host_image_report { /* host -> server; READY or FAILED is the last of a number */
    uint32_t number;
    enum image_step step; /* IMAGE_EARLY_... */
    uint64_t bytes, total, took_ms;
    const char *problem; /* FAILED; else "" */
};

/* Of the store of images that agents of the machine share: once after HOST_RUNS where there is one,
 * and when it has become another. */
struct wire_host_store_report { /* host -> server */
    const char *dir;
    uint64_t images, bytes; /* as they count for the limit */
    uint64_t free;          /* bytes on its disk */
};

/* A node of an allocation, which came with a token that all of them share and others can read: it
 * has made one of its own. */
struct wire_host_join { /* host -> server: the only one of its connection */
    uint32_t version;
    const char *node;       /* as the engine of the allocation calls it; "": the allocation itself,
                             * which asks which of its nodes is to be started again */
    const char *allocation; /* the same of the allocation */
    const void *own;        /* HOST_TOKEN bytes: the token that it comes by from then on */
    uint32_t own_len;
};
struct wire_host_joined_answer { /* server -> host: the answer */
    const char *node;            /* what it is called from here on; "": it may not join. The one
                                  * to be started again, as the allocation's engine calls it */
    const char *reason;          /* why not; of one to be started again: SHA-256 of its token */
};

#define WIRE_HOST_TYPES(X)                                                                         \
    X(struct wire_host_hello, HOST_HELLO)                                                          \
    X(struct wire_host_runs, HOST_RUNS)                                                            \
    X(struct wire_host_start, HOST_START)                                                          \
    X(struct wire_host_end, HOST_END)                                                              \
    X(struct wire_host_ended_report, HOST_ENDED)                                                   \
    X(struct wire_host_clean, HOST_CLEAN)                                                          \
    X(struct wire_host_join, HOST_JOIN)                                                            \
    X(struct wire_host_joined_answer, HOST_JOINED)                                                 \
    X(struct wire_host_image, HOST_IMAGE)                                                          \
    X(struct wire_host_image_drop, HOST_IMAGE_DROP)                                                \
    X(struct wire_host_image_report, HOST_IMAGE_NEWS)                                              \
    X(struct wire_host_store_report, HOST_STORE)

extern const struct codec_row wire_host_hello_rows[], wire_host_runs_rows[], wire_host_start_rows[],
    wire_host_end_rows[], wire_host_ended_rows[], wire_host_clean_rows[], wire_host_join_rows[],
    wire_host_joined_rows[], wire_host_image_rows[], wire_host_image_drop_rows[],
    wire_host_image_news_rows[], wire_host_store_rows[];
bool wire_host_start_good(const void *); /* its token has the length */
bool wire_host_join_good(const void *);  /* the same */
bool wire_host_runs_good(const void *);  /* a mark for each, or none */

#endif
