/* Records in a directory of their own, with jobs, for tests of what copies them. */
#ifndef STORE_TEST_FILLED_H
#define STORE_TEST_FILLED_H

#include "store/pages.h"

struct filled {
    char dir[64], *path, *copy, *file; /* copy, file: where one may be made; nothing is there */
    struct store *st;
    struct store_pages *pages; /* NULL, and ended with the rest */
    uint64_t jobs;
    struct err err;
};
/* cmocka's set-up and tear-down: a state of this kind, with empty records. */
int filled_set_up(void **state);
int filled_tear_down(void **state);
/* So many queued jobs of 2 KiB, each with an event, in one commit. */
void filled_put_jobs(struct filled *, unsigned n);

#endif
