/* One process for each directory, which a lock says. It keeps nothing that its directory does not:
 * killed at any moment, the next one finds the runs by their folders. What the server may not have
 * is said anew on each connection: first the machine, then all runs, and only then news. */
#include "node/host.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "node/conf.h"
#include "node/host_images.h"
#include "node/host_runs.h"
#include "node/machine.h"
#include "node/route.h"
#include "node/smi.h"
#include "node/uplink.h"
#include "tls/client.h"
#include "wire/gateway.h"
#include "wire/message.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#define SERVER_MAX    2048
#define LOOK_MS       60000u /* at the machine */
#define REFUSALS_MOST 3u     /* of a node of an allocation, which is nobody's then */
#define EMPTY_LOOK_MS 50u
#define REFUSED_MS    10000u /* until a server that knows no such machine is asked again */

struct host {
    uv_loop_t loop;
    const char *dir;
    char program[4096];
    struct conf conf;
    char server[SERVER_MAX]; /* lines of agent.conf that say where it is */
    bool moved;              /* agents of an earlier host were told them too */
    struct arena *arena;     /* of hello */
    struct wire_host_hello hello;
    bool looked;    /* hello is complete */
    bool connected; /* and it was said */
    bool leaving;
    bool ending;       /* with the allocation */
    unsigned refusals; /* one after the other */
    struct smi *smi;
    struct host_runs *runs;
    struct host_images *images;
    struct wire_host_store_report store; /* as it was said on this connection; dir NULL: never */
    struct uplink *link;
    uv_timer_t look, again;
    uv_signal_t term, hup;
};

static void leave(struct host *host)
{
    if (host->leaving)
        return;
    host->leaving = true;
    uplink_destroy(TAKE(host->link));
    host_runs_destroy(TAKE(host->runs));
    host_images_destroy(TAKE(host->images));
    smi_destroy(TAKE(host->smi));
    uv_close((uv_handle_t *)&host->look, NULL);
    uv_close((uv_handle_t *)&host->again, NULL);
    uv_close((uv_handle_t *)&host->term, NULL);
    uv_close((uv_handle_t *)&host->hup, NULL);
}

/* ---- up ---- */

static bool store_differs(const struct wire_host_store_report *a,
                          const struct wire_host_store_report *b)
{
    uint64_t change = a->free > b->free ? a->free - b->free : b->free - a->free;
    return !a->dir || a->images != b->images || a->bytes != b->bytes || change > a->free / 16;
}

/* Images come by agents, too, which say nothing to the host: it looks when one of them has ended,
 * and with the machine. */
static void put_store(struct host *host, struct buf *out)
{
    struct wire_host_store_report now;
    if (!host_images_store(host->images, &now) || !store_differs(&host->store, &now))
        return;
    host->store = now;
    wire_put(out, 0, &now);
}

static void on_run_ended(void *arg, struct generation generation, const char *reason)
{
    struct host *host = arg;
    const struct wire_host_ended_report ended = { .generation = generation, .reason = reason };
    log_info("run.ended", "job=%llu generation=%u reason=\"%s\"",
             (unsigned long long)generation.job, generation.number, reason);
    if (!host->connected)
        return;
    wire_put(uplink_out(host->link), 0, &ended);
    put_store(host, uplink_out(host->link));
    uplink_flush(host->link);
}

static void on_image(void *arg, const struct wire_host_image_report *news)
{
    struct host *host = arg;
    if (!host->connected)
        return;
    wire_put(uplink_out(host->link), 0, news);
    if (news->step == IMAGE_EARLY_READY)
        put_store(host, uplink_out(host->link));
    uplink_flush(host->link);
}

static void write_server(const struct conf *conf, char out[SERVER_MAX])
{
    AUTO_BUF struct buf text = BUF_INIT(SERVER_MAX - 1);
    if (!conf->n_places)
        buf_addf(&text, "socket=%s\n", conf->socket);
    for (size_t i = 0; i < conf->n_places; i++) {
        const struct conf_place *place = &conf->places[i];
        buf_addf(&text, strchr(place->addr, ':') ? "%s[%s]:%u" : "%s%s:%u",
                 i ? "," : "tcp=", place->addr, place->port);
    }
    if (conf->n_places)
        buf_addf(&text, "\npin=%s\n", conf->pin);
    if (conf->outlive_term)
        buf_puts(&text, "outlive_term=on\n");
    memcpy(out, buf_str(&text), text.len + 1);
}

/* host.conf may name another address or certificate by now, for agents that live too: also since an
 * earlier host, which adding the machine again has ended. */
static void follow_server(struct host *host)
{
    char now[SERVER_MAX];
    struct conf conf;
    if (conf_read_host(host->dir, &conf, NULL) < 0)
        return;
    write_server(&conf, now);
    if (!host->moved || strcmp(now, host->server) != 0) {
        host->moved = true;
        memcpy(host->server, now, sizeof now);
        host_runs_move(host->runs, now);
    }
}

static void on_connected(void *arg, struct buf *out)
{
    struct host *host = arg;
    follow_server(host);
    struct arena *arena = arena_create();
    struct wire_host_runs runs;
    host_runs_list(host->runs, arena, &runs);
    wire_put(out, 0, &host->hello);
    wire_put(out, 0, &runs);
    host->store.dir = NULL;
    put_store(host, out);
    host->connected = true;
    host->refusals = 0;
    arena_destroy(arena);
}

static void on_lost(void *arg)
{
    struct host *host = arg;
    host->connected = false;
    host_images_drop_all(host->images); /* who comes next says anew what it wants */
}

/* ---- down ---- */

static int take_start(struct host *host, const struct wire_frame *frame)
{
    struct wire_host_start start;
    struct arena *arena = arena_create();
    int rc = wire_get(frame, arena, &start);
    unsigned char session[TLS_SESSION_MAX];
    const struct server_route way = {
        .server = host->server,
        .session = session,
        .session_len = route_save_session(uplink_route(host->link), session, sizeof session),
    };
    if (rc == 0)
        host_runs_start(host->runs, &start, &way);
    explicit_bzero(session, sizeof session);
    arena_destroy(arena);
    return rc;
}

static int take_end(struct host *host, const struct wire_frame *frame)
{
    struct wire_host_end end;
    if (wire_get(frame, NULL, &end) != 0)
        return -1;
    host_runs_end(host->runs, end.generation);
    return 0;
}

static int take_clean(struct host *host, const struct wire_frame *frame)
{
    struct wire_host_clean clean;
    if (wire_get(frame, NULL, &clean) != 0)
        return -1;
    host_runs_clean(host->runs, clean.generation);
    return 0;
}

static int take_image(struct host *host, const struct wire_frame *frame)
{
    struct wire_host_image wanted;
    struct arena *arena = arena_create();
    int rc = wire_get(frame, arena, &wanted);
    if (rc == 0)
        host_images_fetch(host->images, &wanted);
    arena_wipe(arena); /* credentials */
    arena_destroy(arena);
    return rc;
}

static int take_image_drop(struct host *host, const struct wire_frame *frame)
{
    struct wire_host_image_drop drop;
    if (wire_get(frame, NULL, &drop) != 0)
        return -1;
    host_images_drop(host->images, drop.number);
    return 0;
}

static int on_frame(void *arg, const struct wire_frame *frame)
{
    struct host *host = arg;
    switch (frame->kind) {
    case WIRE_HOST_START: return take_start(host, frame);
    case WIRE_HOST_END: return take_end(host, frame);
    case WIRE_HOST_CLEAN: return take_clean(host, frame);
    case WIRE_HOST_IMAGE: return take_image(host, frame);
    case WIRE_HOST_IMAGE_DROP: return take_image_drop(host, frame);
    case WIRE_PING:
        wire_put_plain(uplink_out(host->link), WIRE_PONG, frame->seq);
        uplink_flush(host->link);
        return 0;
    case WIRE_PONG: return 0;
    default: return -1;
    }
}

static void on_writable(void *arg)
{
    (void)arg;
}

static void connect_now(struct host *host);

static void on_again(uv_timer_t *timer)
{
    connect_now(timer->data);
}

/* The allocation ends. What runs here was told the same; it is waited for, while its agents bring
 * home what they have. */
static void on_empty_look(uv_timer_t *timer)
{
    struct host *host = timer->data;
    if (host_runs_living(host->runs) == 0)
        leave(host);
}

static void end_with_runs(struct host *host)
{
    host->connected = false;
    host->ending = true;
    host_images_drop_all(host->images);
    uplink_destroy(TAKE(host->link)); /* nothing is to be started here any more */
    uv_timer_stop(&host->look);
    uv_timer_start(&host->again, on_empty_look, 0, EMPTY_LOOK_MS);
}

/* A server that was put back from a backup may know the machine later; only a directory that is no
 * more ends the host. */
static void on_refused(void *arg, int status)
{
    struct host *host = arg;
    host->connected = false;
    uplink_destroy(TAKE(host->link));
    if (access(host->dir, F_OK) != 0) {
        leave(host);
        return;
    }
    if (host->conf.outlive_term && ++host->refusals >= REFUSALS_MOST) {
        log_warn("host.unwanted", "node=%s note=\"its allocation is given back\"", host->conf.node);
        host_runs_end_all(host->runs);
        end_with_runs(host);
        return;
    }
    log_warn("host.refused", "node=%s status=%d note=\"the server knows no such machine\"",
             host->conf.node, status);
    uv_timer_start(&host->again, on_again, REFUSED_MS, 0);
}

static void connect_now(struct host *host)
{
    host->link = uplink_create_host(&host->loop, host->dir,
                                    (struct uplink_sink){ .connected = on_connected,
                                                          .frame = on_frame,
                                                          .writable = on_writable,
                                                          .lost = on_lost,
                                                          .refused = on_refused,
                                                          .arg = host });
    uplink_start(host->link);
}

/* ---- the machine ---- */

static void take_devices(struct arena *a, const struct smi_list *from, struct wire_host_hello *to)
{
    to->device_error = arena_strdup(a, from->error);
    to->n_devices = from->n;
    to->devices = ARENA_ARRAY(a, from->n + 1, struct wire_host_device);
    for (uint32_t i = 0; i < from->n; i++) {
        to->devices[i] = from->at[i];
        to->devices[i].model = arena_strdup(a, from->at[i].model);
        to->devices[i].uuid = arena_strdup(a, from->at[i].uuid);
        to->devices[i].pci = arena_strdup(a, from->at[i].pci);
        to->devices[i].error = arena_strdup(a, from->at[i].error);
    }
}

static void on_devices(void *arg, const struct smi_list *list)
{
    struct host *host = arg;
    struct arena *arena = arena_create();
    struct wire_host_hello hello = { .version = WIRE_VERSION,
                                     .node = host->conf.node,
                                     .pid = (uint32_t)getpid(),
                                     .does = HOST_IMAGES };
    struct err err;
    if (machine_read(arena, host->dir, &hello, &err) < 0)
        log_warn("machine.unknown", "%s", err.what);
    take_devices(arena, list, &hello);
    machine_limit(arena, &host->conf, &hello);
    bool first = !host->looked && !host->ending;
    bool differs = first || machine_differs(&host->hello, &hello);
    if (!differs || host->ending) {
        arena_destroy(arena);
        return;
    }
    if (host->arena)
        arena_destroy(host->arena);
    host->arena = arena;
    host->hello = hello;
    host->looked = true;
    if (first)
        connect_now(host);
    if (!host->connected)
        return;
    wire_put(uplink_out(host->link), 0, &host->hello);
    uplink_flush(host->link);
}

static void on_look(uv_timer_t *timer)
{
    struct host *host = timer->data;
    smi_ask(host->smi);
    if (!host->connected)
        return;
    put_store(host, uplink_out(host->link));
    uplink_flush(host->link);
}

/* ---- beginning and end ---- */

static void on_hup(uv_signal_t *watch, int number)
{
    struct host *host = watch->data;
    (void)number;
    smi_ask(host->smi);
}

static void on_term(uv_signal_t *watch, int number)
{
    struct host *host = watch->data;
    (void)number;
    if (host->conf.outlive_term)
        end_with_runs(host);
    else
        leave(host);
}

/* The descriptor that says so; -1: another host has it, or err is set. */
static int take_lock(const char *dir, bool *taken, struct err *err)
{
    AUTO_FREE char *path = file_join(dir, "host.lock");
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    *taken = false;
    if (fd < 0)
        return err_sys(err, "%s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        *taken = errno == EWOULDBLOCK;
        return err_sys(err, "locking %s", path);
    }
    char pid[32];
    int n = snprintf(pid, sizeof pid, "%d\n", (int)getpid());
    if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)n, 0) != n)
        return err_sys(err, "%s", path);
    return mem_give_fd(&fd);
}

/* As `muster nodes add` does: all else works there. */
static void warn_of_dir(const struct host *host)
{
    size_t len = strlen(host->dir), most = gateway_dir_most(host->conf.node);
    if (host->conf.n_places && len > most)
        log_warn(
            "host.dir",
            "bytes=%zu most=%zu dir=%s note=\"too long for the sockets in it: programs of tasks "
            "cannot ask the server; choose a shorter one with nodes add --dir\"",
            len, most, host->dir);
}

static int open_host(struct host *host, struct err *err)
{
    ssize_t n = readlink("/proc/self/exe", host->program, sizeof host->program - 1);
    if (n <= 0)
        return err_sys(err, "/proc/self/exe");
    if (conf_read_host(host->dir, &host->conf, err) < 0)
        return -1;
    warn_of_dir(host);
    if (uv_loop_init(&host->loop) != 0)
        BUG("no event loop");
    const struct host_runs_config config = { .loop = &host->loop,
                                             .dir = host->dir,
                                             .node = host->conf.node,
                                             .program = host->program,
                                             .ended = on_run_ended,
                                             .arg = host };
    host->images = host_images_create(&(struct host_images_config){
        .loop = &host->loop, .dir = host->dir, .news = on_image, .arg = host });
    host->runs = host_runs_create(&config, err);
    return host->runs ? 0 : -1;
}

static void start_host(struct host *host)
{
    uv_timer_init(&host->loop, &host->look);
    uv_timer_init(&host->loop, &host->again);
    uv_signal_init(&host->loop, &host->term);
    uv_signal_init(&host->loop, &host->hup);
    host->look.data = host->again.data = host->term.data = host->hup.data = host;
    uv_signal_start(&host->term, on_term, SIGTERM);
    uv_signal_start(&host->hup, on_hup, SIGHUP);
    write_server(&host->conf, host->server);
    host->smi = smi_create(&host->loop, on_devices, host);
    uv_timer_start(&host->look, on_look, 0, LOOK_MS);
}

int host_run(const char *dir)
{
    struct err err = { .what = "" };
    bool taken;
    AUTO_CLOSE int lock = take_lock(dir, &taken, &err);
    if (lock < 0) {
        if (taken)
            log_info("host.runs", "dir=%s note=\"already\"", dir);
        else
            log_error("host.failed", "%s", err.what);
        return taken ? 0 : 1;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    struct host *host = mem_new(sizeof *host);
    host->dir = dir;
    if (open_host(host, &err) < 0) {
        log_error("host.failed", "%s", err.what);
        free(host);
        return 1;
    }
    start_host(host);
    uv_run(&host->loop, UV_RUN_DEFAULT);
    uv_loop_close(&host->loop);
    if (host->arena)
        arena_destroy(host->arena);
    free(host);
    return 0;
}
