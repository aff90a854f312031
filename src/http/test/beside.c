/* A thread, and an async handle by which it says that it is through: the loop turns as long as the
 * thread works. */
#include "http/test/beside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

static void on_done(uv_async_t *async)
{
    uv_stop(async->loop);
}

void beside_init(struct beside *b)
{
    uv_loop_init(&b->loop);
    uv_async_init(&b->loop, &b->done, on_done);
}

void beside_fini(struct beside *b)
{
    uv_close((uv_handle_t *)&b->done, NULL);
    uv_run(&b->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&b->loop), 0);
}

static void *work(void *arg)
{
    struct beside *b = arg;
    b->run(b->arg);
    uv_async_send(&b->done);
    return NULL;
}

void beside_run(struct beside *b, void (*run)(void *arg), void *arg)
{
    pthread_t thread;
    b->run = run;
    b->arg = arg;
    assert_int_equal(pthread_create(&thread, NULL, work, b), 0);
    uv_run(&b->loop, UV_RUN_DEFAULT);
    pthread_join(thread, NULL);
}
