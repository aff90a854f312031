/* A client in a thread beside the loop of a test. */
#ifndef HTTP_TEST_BESIDE_H
#define HTTP_TEST_BESIDE_H

#include <uv.h>

struct beside {
    uv_loop_t loop;
    uv_async_t done;
    void (*run)(void *arg);
    void *arg;
};
void beside_init(struct beside *);
/* What else was on the loop is closed or closing. */
void beside_fini(struct beside *);
/* Turns the loop while run works in a thread of its own. */
void beside_run(struct beside *, void (*run)(void *arg), void *arg);

#endif
