/* The server reads what its machine sends; both ends are in this process and its children, and all
 * they have lies in a directory below /tmp that goes with them. */
#include "engine/machines/test/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "job/image_progress.h"
#include "job/node_spec.h"
#include "wire/log_reader.h"

#include <signal.h>
#include <sodium.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static void on_fact(void *arg, const struct engine_fact *fact)
{
    struct fix *f = arg;
    f->facts[fact->kind]++;
    if (fact->spec)
        f->fits = fact->spec->machine && fact->spec->cpu_milli > 0 && fact->spec->memory > 0 &&
                  strcmp(fact->spec->name, "n1") == 0;
    if (fact->spec) {
        f->cpu_milli = fact->spec->cpu_milli;
        f->memory = fact->spec->memory;
    }
    if (fact->seq)
        f->last_seq = fact->seq;
    if (fact->kind == FACT_ENDED) {
        f->ending = (struct ending){ .exited = fact->ending.exited, .code = fact->ending.code };
        f->log_end = fact->log_end;
    }
    if (fact->kind == FACT_REFUSED)
        snprintf(f->refused, sizeof f->refused, "%s", fact->remark);
    if (fact->kind == FACT_IMAGE)
        snprintf(f->image, sizeof f->image, "%s %u: %.400s", fact->node,
                 (unsigned)fact->generation.job, fact->image->problem);
    if (fact->kind == FACT_AGENT_GONE)
        snprintf(f->reason, sizeof f->reason, "%s", fact->reason);
}

void fix_add_machine(struct fix *f)
{
    struct machine_entry one = { .node = "n1", .address = "" };
    memcpy(one.token_hash, f->hash, sizeof one.token_hash);
    machines_add(f->engine, &one);
}

void fix_open_server(struct fix *f)
{
    const struct engine_sink sink = { .fact = on_fact, .arg = f };
    f->door.hub = f->hub = link_create(&f->loop, sink);
    AUTO_FREE char *notes = file_join(f->dir, "markers");
    f->engine = machines_create(&(struct machines_config){
        .loop = &f->loop, .link = f->hub, .packer = f->packer, .notes = notes });
    f->engine->sink = sink;
    fix_add_machine(f);
    door_open(&f->door, &f->loop, f->socket);
}

void fix_close_server(struct fix *f)
{
    door_close(&f->door);
    f->engine->ops->destroy(f->engine);
    link_destroy(f->hub);
    while (uv_run(&f->loop, UV_RUN_NOWAIT))
        continue;
}

void fix_start_host(struct fix *f)
{
    char *argv[] = { (char[]){ MUSTER_NODE }, (char[]){ "host" }, f->host_dir, NULL };
    unsigned up = f->facts[FACT_NODE_UP];
    assert_int_equal(posix_spawn(&f->host, MUSTER_NODE, NULL, NULL, argv, environ), 0);
    UNTIL(f, f->facts[FACT_NODE_UP] > up);
}

void fix_end_host(struct fix *f, int number)
{
    int status;
    if (f->host == 0)
        return;
    kill(f->host, number);
    assert_int_equal(waitpid(f->host, &status, 0), f->host);
    f->host = 0;
}

struct fix *fix_create(void)
{
    struct fix *f = mem_new(sizeof *f);
    unsigned char token[32];
    struct err err;
    assert_true(sodium_init() >= 0);
    (void)signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&f->loop);
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-machines-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->host_dir = file_join(f->dir, "host");
    f->socket = file_join(f->dir, "sock");
    f->copies = file_join(f->dir, "copies");
    assert_int_equal(file_mkdirs(f->host_dir, 0700, &err), 0);
    randombytes_buf(token, sizeof token);
    sodium_bin2hex(f->hex, sizeof f->hex, token, sizeof token);
    crypto_hash_sha256(f->hash, token, sizeof token);
    AUTO_FREE char *path = file_join(f->host_dir, "host.conf");
    AUTO_FREE char *text = mem_printf("socket=%s\ntoken=%s\nnode=n1\n", f->socket, f->hex);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, &err), 0);
    fix_open_server(f);
    return f;
}

void fix_destroy(struct fix *f)
{
    fix_end_host(f, SIGTERM);
    fix_close_server(f);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    file_remove_tree(f->dir, NULL);
    free(f->host_dir);
    free(f->socket);
    free(f->copies);
    free(f);
}

struct launch fix_launch(const struct fix *f, struct launch_task *task, const char *run)
{
    *task = (struct launch_task){ .role = FIX_ROLE, .attempt = 1, .run = run };
    return (struct launch){ .generation = FIX_GENERATION,
                            .seq = 1,
                            .node = "n1",
                            .token = { 1, 2, 3 },
                            .job_name = "j",
                            .dir = f->copies, /* of logs; an agent has its own */
                            .grace_ms = 60000,
                            .log_head = 1u << 16,
                            .log_tail = 1u << 16,
                            .tasks = task,
                            .n_tasks = 1 };
}

int fix_start(struct fix *f, const struct launch *launch, struct err *err)
{
    return f->engine->ops->start(f->engine, launch, err);
}

void fix_start_well(struct fix *f, const char *run)
{
    struct err err = { .what = "" };
    struct launch_task task;
    const struct launch launch = fix_launch(f, &task, run);
    int rc = fix_start(f, &launch, &err);
    assert_string_equal(err.what, "");
    assert_int_equal(rc, 0);
}

void fix_stop(struct fix *f, enum stop_how how)
{
    struct err err;
    assert_int_equal(f->engine->ops->stop(f->engine, FIX_GENERATION, NULL, how, BY_USER, &err), 0);
}

void fix_ack(struct fix *f)
{
    f->engine->ops->ack(f->engine, FIX_GENERATION, "n1", f->last_seq);
}

void fix_recover(struct fix *f)
{
    struct err err;
    unsigned char hash[32], token[32] = { 1, 2, 3 };
    crypto_hash_sha256(hash, token, sizeof token);
    struct engine_agent known = {
        .dir = f->copies, .generation = FIX_GENERATION, .node = "n1", .last_seq = f->last_seq
    };
    memcpy(known.token_hash, hash, sizeof hash);
    assert_int_equal(f->engine->ops->recover(f->engine, &known, 1, &err), 0);
}

/* ---- logs ---- */

char *fix_log(const struct fix *f)
{
    char name[LOG_DIR_MAX];
    AUTO_FREE char *dir = file_join(f->copies, log_dir_name(name, FIX_ROLE, 0, 1));
    AUTO_BUF struct buf out = BUF_INIT(1u << 20);
    struct log_reader *reader = log_reader_create(dir, 0);
    struct log_item item;
    while (log_reader_next(reader, &item) == 1)
        if (item.gap)
            buf_addf(&out, "[%llu]", (unsigned long long)item.gap);
        else
            buf_add(&out, item.data, item.record.len);
    log_reader_destroy(reader);
    return mem_strdup(buf_str(&out));
}

bool fix_log_has(const struct fix *f, const char *what)
{
    AUTO_FREE char *text = fix_log(f);
    return strstr(text, what);
}

void fix_end_well(struct fix *f)
{
    fix_stop(f, STOP_GRACE);
    UNTIL(f, f->facts[FACT_RELEASED] == 1);
    fix_ack(f);
    UNTIL(f, f->facts[FACT_AGENT_GONE] == 1);
}
