/* What the façades share: other systems' HTTP interfaces over the same core. A façade translates:
 * its routes, its fields, its errors; it decides nothing and keeps no state. Each is a folder above
 * this one and exports one `const struct facade`, listed in main/wire.c.
 *
 * A façade's request has passed no check: `handle` says who it is from (facade_bearer, or its own
 * signatures with identify_by_key) by facade_admit before it asks the core anything. */
#ifndef API_FACADE_H
#define API_FACADE_H

#include "answer/job_rights.h"
#include "api/call.h"
#include "ctl/account.h"
#include "wire/record.h"

struct facade {
    const char *name; /* "dlc" */
    /* By path and headers; cheap, asked of every request. The first that takes it gets it. */
    bool (*takes)(const struct call *);
    void (*handle)(struct call *); /* answers in the end, like a route's handler */
    /* Answers a request of its kind that the server takes no further, in its own shape; NULL: a
     * problem document does. */
    void (*refuse)(struct call *, const struct err *);
    /* What must outlive a request and is no record of the core (signatures seen lately):
     * call->facade_state. NULL: nothing does. */
    void *(*begin)(const struct api_config *);
    void (*end)(void *state);
};
void facades_begin(struct api *);
void facades_end(struct api *);

/* Gives the call to the façade that takes it; false: none does. */
bool facade_handle(struct call *);
bool facade_refuse(struct call *, const struct err *); /* the same for its refuse */

/* ---- who ---- */
/* "Authorization: Bearer" (scheme in any case), the server's own token too, and over the Unix
 * socket the kernel's word. 0: call->who and call->owner are set; 1: there is no such header; -1:
 * it is no good, with err. */
int facade_bearer(struct call *, struct err *err);
void facade_admit(struct call *, const struct identity *); /* who it is: texts are copied */

/* ---- the path ---- */
/* Segments of the raw path, decoded each on its own ("a%2Fb" is one), in call->arena; false: a
 * segment holds a NUL or "%" that is no escape. */
bool facade_segments(struct call *, struct words *out);

/* ---- what is said ---- */
const char *facade_uuid(struct arena *);                      /* random, version 4, lower case */
const char *facade_time(struct arena *, uint64_t unix_ms);    /* "2026-01-02T03:04:05Z"; 0: "" */
const char *facade_time_ms(struct arena *, uint64_t unix_ms); /* "2026-01-02T03:04:05.678Z" */

/* ---- pages: of a list of jobs (struct job_filter: offset, limit, count), or of any n things ----
 */
struct facade_page {
    uint64_t offset, limit;
};
/* From the query: page number (from 1) and size by their names there. ERR_INPUT when one is no
 * number in range; absent: the first page of `size`. */
struct facade_paging {
    const char *number, *size; /* names: "PageNumber", "PageSize" */
    uint64_t first, most;      /* size when absent, and at most */
};
int facade_page_read(const struct call *, const struct facade_paging *, struct facade_page *,
                     struct err *err);
/* The part of n things that the page shows: from *first, the number of them is returned. */
size_t facade_page_of(const struct facade_page *, size_t n, size_t *first);

/* ---- output of a task ---- */
struct facade_log {
    uint64_t job;
    const char *role;
    uint32_t index;
    uint32_t attempt;          /* 0: the last */
    enum record_stream stream; /* 0: both */
    uint64_t lines;            /* the last so many; 0: all */
    uint64_t since_us;         /* not before; 0: all */
    uint64_t until_us;         /* before; 0: all */
    size_t max;                /* bytes at most, the last ones; 0: 4 MiB */
    bool times;    /* each line begins with its time (RFC 3339, microseconds) and a blank */
    bool previous; /* the attempt before that (kubectl logs --previous) */
    /* of a stream only */
    bool follow;  /* until the attempt is over, else what is there now */
    bool skips;   /* nothing of what is there */
    bool limited; /* the first `limit` bytes at most */
    uint64_t limit;
};
/* What is there now, as text. ERR_NOT_FOUND: no such task, or it has no such attempt yet. */
int facade_log_text(struct call *, const struct facade_log *, struct buf *out, struct err *err);
/* The same as lines without their ends. */
int facade_log_lines(struct call *, const struct facade_log *, struct words *out, struct err *err);

/* The same as the request's answer, written while it grows; `until_us` and `max` do not count. -1:
 * nothing was answered, errors as above. */
int facade_log_stream(struct call *, const struct facade_log *, struct err *err);

/* ---- the body ---- */
enum facade_kinds { FACADE_JSON = 1, FACADE_YAML = 2, FACADE_FORM = 4 };
/* As a tree, read as its Content-Type says when that is among `kinds`, else (also without one) as
 * the first of JSON, YAML, form that is. *tree NULL: there is no body. ERR_INPUT with the place. */
int facade_body(struct call *, unsigned kinds, struct text_node **tree, struct err *err);

#endif
