/* Rows of jobs in memory: the records of a world that ends with its process. Private to store/. */
#ifndef STORE_MEMORY_H
#define STORE_MEMORY_H

#include "store/store.h"

struct memory;
struct memory *memory_create(void);
void memory_destroy(struct memory *); /* NULL-safe */

/* Texts are copied. A row that reaches a final state loses its spec, site and live. */
void memory_put_job(struct memory *, const struct job_row *);
void memory_update_job(struct memory *, const struct job_row *); /* what store_update_job changes */
/* 1, 0. Texts belong to the memory and hold until the job's row changes. */
int memory_get_job(const struct memory *, uint64_t id, struct job_row *);
int memory_find_number(const struct memory *, uint64_t number, uint64_t *id);
int memory_find_name(const struct memory *, const char *name, const char *owner, uint64_t *id);

#endif
