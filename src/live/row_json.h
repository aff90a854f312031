/* The small JSON texts in rows: what a job, a task and an attempt keep there besides their columns,
 * both ways. */
#ifndef LIVE_ROW_JSON_H
#define LIVE_ROW_JSON_H

#include "job/account.h"
#include "job/runtime.h"
#include "live/live.h"
#include "text/tree.h"

/* In the body of an event: the number of the job that room was made for. */
#define EVICTED_FOR "evicted_for"

/* Texts are in arena. NULL when there is nothing to keep. */
const char *row_json_of_job(struct arena *, const struct live_column *);
void row_json_put_words(struct arena *, struct text_node *map, const char *key,
                        const struct words *); /* nothing when there are none */
/* Of the notes of a job, the tasks that died first. */
struct words row_json_first(struct arena *, const char *text);
/* And the digests that names of images stand for. */
struct pairs row_json_images(struct arena *, const char *text);
const char *row_json_of_task(struct arena *, const struct live_task *);
const char *row_json_of_place(struct arena *, const struct live_task *);
/* Missing or foreign members leave zero. text may be NULL. Texts go to keep, scratch holds the
 * parsed tree. */
void row_json_read_job(struct arena *keep, struct arena *scratch, const char *text,
                       struct live_column *);
void row_json_read_task(struct arena *keep, struct arena *scratch, const char *text,
                        struct live_task *);
/* Do a date and a time by the core's clock that were read together differ, but for the reading?
 * Then a row keeps both. */
bool clocks_differ(uint64_t date_ms, uint64_t now_ms);
/* Fills place's address, gpus, ports (in arena) and task->seq. */
void row_json_read_place(struct arena *arena, struct arena *scratch, const char *text,
                         struct live_task *);

struct site_record { /* job_row.site */
    const char *work_dir, *code_dir, *output_dir, *file;
    const struct account *account;    /* the tasks run as; NULL: the server's own */
    const char *python, *python_from; /* interpreter of the tasks and how it was chosen, or NULL */
    bool wait_for_nodes;
    enum job_runtime runtime;   /* as in live_notes */
    uint64_t parent;            /* number of the job that submitted it; 0: none did */
    struct text_node *warnings; /* list or NULL */
    struct text_node *differs;  /* list of what the command line changed, or NULL */
};
const char *row_json_of_site(struct arena *, const struct site_record *);
void row_json_read_site(struct arena *, const char *text, struct site_record *);

/* One line of JSON, in arena. */
const char *row_json_print(struct arena *, const struct text_node *);

/* facets.c: what lists are searched by (store/find.h), of a canonical job's tree; a name may come
 * several times. The step to version 3 of the store (store/schema.c) says the same of older jobs.
 */
struct pairs row_json_facets(struct arena *, const struct text_node *job);

#endif
