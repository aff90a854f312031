/* An engine whose calls all succeed. It reports no facts: those of the recording are handed to the
 * core by the replay. */
#include "replay/null_engine.h"

#include "base/mem.h"

struct null_engine {
    struct engine base; /* first */
    unsigned caps;
    void (*heard)(void *arg);
    void *arg;
};

static int start(struct engine *e, const struct launch *launch, struct err *err)
{
    (void)e;
    (void)launch;
    (void)err;
    return 0;
}

static int stop(struct engine *e, struct generation generation, const struct task_ref *task,
                enum stop_how how, enum end_origin why, struct err *err)
{
    (void)e;
    (void)generation;
    (void)task;
    (void)how;
    (void)why;
    (void)err;
    return 0;
}

static void ack(struct engine *e, struct generation generation, const char *node, uint64_t seq)
{
    (void)e;
    (void)generation;
    (void)node;
    (void)seq;
}

static int recover(struct engine *e, const struct engine_agent *known, size_t n, struct err *err)
{
    const struct null_engine *null = (const struct null_engine *)(const void *)e;
    (void)known;
    (void)n;
    (void)err;
    null->heard(null->arg);
    return 0;
}

static int exec(struct engine *e, const struct engine_exec *ask, struct err *err)
{
    (void)e;
    (void)ask;
    return err_set(err, ERR_CANNOT, "nothing runs in a replay");
}

static void tell(struct engine *e, struct generation generation, const char *node, uint32_t channel,
                 const void *bytes, size_t len)
{
    (void)e;
    (void)generation;
    (void)node;
    (void)channel;
    (void)bytes;
    (void)len;
}

static unsigned caps(const struct engine *e)
{
    return ((const struct null_engine *)(const void *)e)->caps;
}

static void destroy(struct engine *e)
{
    free(e);
}

static const struct engine_ops ops = { .name = "deaf",
                                       .start = start,
                                       .stop = stop,
                                       .ack = ack,
                                       .recover = recover,
                                       .exec = exec,
                                       .tell_launcher = tell,
                                       .caps = caps,
                                       .destroy = destroy };

struct engine *null_engine_create(unsigned can, void (*heard)(void *arg), void *arg)
{
    struct null_engine *null = mem_new(sizeof *null);
    null->base.ops = &ops;
    null->caps = can;
    null->heard = heard;
    null->arg = arg;
    return &null->base;
}
