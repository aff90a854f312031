/* It takes the upgrade by hand and has no core: a fact is committed when it is written down in the
 * shared records. The hub is the real one. */
#include "node/test/logs/server.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "link/link.h"

#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

struct server {
    struct scene *scene;
    uv_loop_t loop;
    struct link_hub *hub;
    uv_poll_t calls;
    uv_timer_t refusal;
    int listener;
};

static void on_fact(void *arg, const struct engine_fact *fact)
{
    struct server *s = arg;
    struct scene_records *records = s->scene->records;
    if (fact->kind == FACT_LOG)
        records->copied[fact->task.index] = fact->log_end;
    if (fact->kind == FACT_ENDED)
        records->log_end[fact->task.index] = fact->log_end;
    uint32_t index = fact->task.index;
    if (records->log_end[index] > 0 && records->copied[index] >= records->log_end[index] &&
        records->copied_us[index] == 0)
        records->copied_us[index] = clock_mono_us();
    if (fact->seq == 0)
        return;
    if (fact->kind == FACT_ENDED || fact->kind == FACT_REFUSED)
        records->ended++;
    records->acked = fact->seq;
    if (!s->scene->faults.acks_no_facts)
        link_ack(s->hub, SERVER_GENERATION, "n1", fact->seq);
    if (records->ended == s->scene->launch.n_tasks)
        link_stop(s->hub, SERVER_GENERATION, "n1", NULL, STOP_GRACE, BY_PLATFORM);
}

static bool read_request(int fd)
{
    static const char end[] = "\r\n\r\n";
    size_t matched = 0;
    char c;
    while (matched < 4) {
        if (read(fd, &c, 1) != 1)
            return false;
        matched = c == end[matched] ? matched + 1 : c == '\r';
    }
    return true;
}

static void on_call(uv_poll_t *poll, int status, int events)
{
    static const char answer[] = "HTTP/1.1 101 Switching Protocols\r\n\r\n";
    struct server *s = poll->data;
    struct err err;
    (void)events;
    int fd = status == 0 ? accept4(s->listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    if (fd < 0)
        return;
    if (!read_request(fd) || file_write_all(fd, answer, sizeof answer - 1) != 0) {
        close(fd);
        return;
    }
    (void)link_attach(s->hub, SERVER_TOKEN, fd, "", 0, &err);
}

static void limit_files(uint64_t bytes)
{
    struct rlimit limit;
    (void)getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes ? bytes : limit.rlim_max;
    (void)setrlimit(RLIMIT_FSIZE, &limit);
}

static void on_disk_free(uv_timer_t *timer)
{
    (void)timer;
    limit_files(0);
}

void server_run(struct scene *scene, int listener)
{
    struct server s = { .scene = scene, .listener = listener };
    unsigned char token[32], hash[32];
    struct err err;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    if (sodium_init() < 0)
        BUG("no sodium");
    memset(token, 5, sizeof token);
    crypto_hash_sha256(hash, token, sizeof token);
    if (uv_loop_init(&s.loop) != 0)
        BUG("no loop");
    s.hub = link_create(&s.loop, (struct engine_sink){ .fact = on_fact, .arg = &s });
    AUTO_FREE char *dir = mem_printf("%s/" SERVER_COPIES, scene->dir);
    link_expect(s.hub, SERVER_GENERATION, "n1", hash, scene->records->acked);
    link_keep_logs(s.hub, SERVER_GENERATION, "n1", dir);
    if (link_launch(s.hub, &scene->launch, &err) != 0)
        BUG("%s", err.what);
    if (scene->records->ended == scene->launch.n_tasks)
        link_stop(s.hub, SERVER_GENERATION, "n1", NULL, STOP_GRACE, BY_PLATFORM);
    uv_poll_init(&s.loop, &s.calls, listener);
    s.calls.data = &s;
    uv_poll_start(&s.calls, UV_READABLE, on_call);
    uv_timer_init(&s.loop, &s.refusal);
    if (scene->faults.file_limit > 0) {
        limit_files(scene->faults.file_limit);
        if (scene->faults.refusal_ms > 0)
            uv_timer_start(&s.refusal, on_disk_free, scene->faults.refusal_ms, 0);
    }
    uv_run(&s.loop, UV_RUN_DEFAULT);
    BUG("the server has nothing to do");
}
