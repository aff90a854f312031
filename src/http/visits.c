/* Who holds how many connections. Numbers of descriptors tell how full the process is: the kernel
 * gives the lowest that is free, so all below a number that was just given are in use, whoever
 * holds them. Marks on that scale keep room for what comes after connections: agents over the Unix
 * socket last, so that jobs go on when everybody else is refused. */
#include "http/visits.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "http/incoming.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define LOOK_MS       500 /* how often clocks are looked at */
#define LONGEST_MS    (75 * 1000u)
#define STRANGERS_MAX 512u /* whatever the limit is */
#define SHARE         3u   /* of what is free */
#define TELL_EVERY_MS 60000u

enum holder_kind { HOLDER_ADDRESS = 1, HOLDER_UID, HOLDER_USER };

struct visit {
    struct visit *next, *prev; /* strangers, the one whose clock ends first in front */
    struct visits *all;
    uint64_t holder, since_ms, until_ms;
    int fd, inner;  /* the client's; the daemon's end over TLS, else -1 */
    unsigned parts; /* who has to end it: the TLS line, the daemon */
    unsigned cost;  /* descriptors */
    bool local, stranger, sent_away, crowded;
};

struct visits {
    struct visits_config config;
    struct map *by_fd, *held; /* held: descriptors by holder */
    struct hash_seed seed;
    struct visit *first, *last;
    uv_timer_t timer;
    unsigned strangers, strangers_max;
    unsigned long crowded_out;   /* strangers who went for others */
    uint64_t told_ms;            /* when the log said so last */
    unsigned tcp, local;         /* descriptors of known ones */
    unsigned tcp_max, local_max; /* they may have */
    int tcp_mark, local_mark, agent_mark, last_mark;
    bool closing;
};

static uint64_t holder_of(enum holder_kind kind, uint64_t key)
{
    return (uint64_t)kind << 56 | (key & 0xffffffffffffff);
}

/* ---- counting ---- */

static unsigned held_by(const struct visits *v, uint64_t holder)
{
    return (unsigned)(uintptr_t)map_get(v->held, holder);
}

static void hold(struct visits *v, uint64_t holder, int more)
{
    unsigned n = (unsigned)((int)held_by(v, holder) + more);
    if (n)
        map_set(v->held, holder, (void *)(uintptr_t)n); /* NOLINT(performance-no-int-to-ptr) */
    else
        map_remove(v->held, holder);
}

static unsigned *known_of(struct visit *visit)
{
    return visit->local ? &visit->all->local : &visit->all->tcp;
}

/* Does its holder have more than is fair, with it? */
static bool too_many(struct visit *visit)
{
    const struct visits *v = visit->all;
    unsigned max = visit->local ? v->local_max : v->tcp_max, used = *known_of(visit);
    return used > max || held_by(v, visit->holder) > SHARE * (max - used);
}

/* ---- strangers ---- */

static void unlink_stranger(struct visit *visit)
{
    struct visits *v = visit->all;
    *(visit->prev ? &visit->prev->next : &v->first) = visit->next;
    *(visit->next ? &visit->next->prev : &v->last) = visit->prev;
    visit->next = visit->prev = NULL;
}

static void link_stranger(struct visit *visit)
{
    struct visits *v = visit->all;
    visit->until_ms = uv_now(v->config.loop) + v->config.stranger_timeout_s * 1000ull;
    visit->prev = v->last;
    *(v->last ? &v->last->next : &v->first) = visit;
    v->last = visit;
}

static void be_stranger_no_more(struct visit *visit)
{
    if (!visit->stranger)
        return;
    unlink_stranger(visit);
    visit->stranger = false;
    visit->all->strangers--;
}

/* Who reads from it finds its end, and closes it. */
static void send_away(struct visit *visit)
{
    be_stranger_no_more(visit);
    visit->sent_away = true;
    shutdown(visit->fd, SHUT_RDWR);
}

static void tell_crowd(struct visits *v)
{
    uint64_t now = uv_now(v->config.loop);
    v->crowded_out++;
    if (v->told_ms && now < v->told_ms + TELL_EVERY_MS)
        return;
    v->told_ms = now;
    log_warn("http.crowded", "sent_away=%lu note=\"%s\"", v->crowded_out,
             "connections without a credential, for others");
}

/* Of the source that has most, the one that has waited longest; of one as good as any, when nobody
 * has several. */
static void make_room(struct visits *v)
{
    struct visit *worst = v->first;
    for (struct visit *at = v->first; at; at = at->next)
        if (held_by(v, at->holder) > held_by(v, worst->holder))
            worst = at;
    if (!worst)
        return;
    send_away(worst);
    tell_crowd(v);
}

static void on_look(uv_timer_t *timer)
{
    struct visits *v = timer->data;
    while (v->first && v->first->until_ms <= uv_now(timer->loop))
        send_away(v->first);
    if (!v->first)
        uv_timer_stop(timer);
}

static void be_stranger(struct visit *visit)
{
    struct visits *v = visit->all;
    if (v->strangers >= v->strangers_max)
        make_room(v);
    visit->stranger = true;
    v->strangers++;
    link_stranger(visit);
    if (!uv_is_active((uv_handle_t *)&v->timer))
        uv_timer_start(&v->timer, on_look, LOOK_MS, LOOK_MS);
}

/* ---- a visit ---- */

static uint64_t uid_of(int fd)
{
    struct ucred peer = { .uid = 0 };
    socklen_t len = sizeof peer;
    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
    return peer.uid;
}

static uint64_t address_of(const struct peer *peer)
{
    const struct sockaddr_in *at = (const void *)&peer->at;
    return at->sin_family == AF_INET ? at->sin_addr.s_addr : 0;
}

static void begin_local(struct visit *visit)
{
    struct visits *v = visit->all;
    visit->holder = holder_of(HOLDER_UID, uid_of(visit->fd));
    hold(v, visit->holder, 1);
    v->local++;
    visit->crowded = visit->fd >= v->local_mark || too_many(visit);
}

struct visit *visit_begin(struct visits *v, int fd, bool local, const struct peer *peer, bool *full)
{
    *full = fd >= v->tcp_mark;
    if (*full)
        make_room(v);
    if (fd >= (local ? v->agent_mark : v->local_mark)) {
        close(fd);
        return NULL;
    }
    struct visit *visit = mem_new(sizeof *visit);
    *visit = (struct visit){
        .all = v,
        .fd = fd,
        .inner = -1,
        .parts = 1,
        .cost = 1,
        .local = local,
        .since_ms = uv_now(v->config.loop),
    };
    map_set(v->by_fd, (uint64_t)fd, visit);
    if (local) {
        begin_local(visit);
    } else {
        visit->holder = holder_of(HOLDER_ADDRESS, address_of(peer));
        hold(v, visit->holder, 1);
        be_stranger(visit);
    }
    return visit;
}

void visit_pass(struct visit *visit, int fd)
{
    visit->inner = fd;
    visit->cost += 2;
    hold(visit->all, visit->holder, 2);
    map_set(visit->all->by_fd, (uint64_t)fd, visit);
}

struct visit *visit_share(struct visits *v, int fd)
{
    struct visit *visit = map_get(v->by_fd, (uint64_t)fd);
    if (visit && fd == visit->inner)
        visit->parts++;
    return visit;
}

void visit_end(struct visit *visit)
{
    if (!visit || --visit->parts > 0)
        return;
    struct visits *v = visit->all;
    bool known = !visit->stranger && !visit->sent_away;
    be_stranger_no_more(visit);
    hold(v, visit->holder, -(int)visit->cost);
    if (known)
        *known_of(visit) -= visit->cost;
    if (map_get(v->by_fd, (uint64_t)visit->fd) == visit)
        map_remove(v->by_fd, (uint64_t)visit->fd);
    if (visit->inner >= 0 && map_get(v->by_fd, (uint64_t)visit->inner) == visit)
        map_remove(v->by_fd, (uint64_t)visit->inner);
    free(visit);
}

void visit_heard(struct visit *visit)
{
    if (!visit || !visit->stranger ||
        uv_now(visit->all->config.loop) > visit->since_ms + LONGEST_MS)
        return;
    unlink_stranger(visit);
    link_stranger(visit);
}

void visit_served(struct visit *visit)
{
    if (!visit || !visit->stranger)
        return;
    visit->since_ms = uv_now(visit->all->config.loop);
    visit_heard(visit);
}

void visit_known(struct visit *visit, const char *user)
{
    if (!visit || !visit->stranger)
        return;
    struct visits *v = visit->all;
    be_stranger_no_more(visit);
    hold(v, visit->holder, -(int)visit->cost);
    visit->holder = holder_of(HOLDER_USER, hash_bytes(v->seed, user, strlen(user)));
    hold(v, visit->holder, (int)visit->cost);
    v->tcp += visit->cost;
    visit->crowded = too_many(visit);
}

bool visit_crowded(const struct visit *visit)
{
    return visit && visit->crowded;
}

bool visits_may_last(const struct visits *v, int fd)
{
    return fd < v->last_mark;
}

/* ---- life ---- */

struct visits *visits_create(const struct visits_config *config)
{
    struct visits *v = mem_new(sizeof *v);
    const int first = config->first, bound = config->bound, room = bound - first;
    v->config = *config;
    v->by_fd = map_create();
    v->held = map_create();
    v->seed = hash_seed_random();
    v->last_mark = first + room / 10 * 6;
    v->tcp_mark = first + room / 10 * 8;
    v->local_mark = bound - room / 20;
    v->agent_mark = bound;
    v->tcp_max = v->local_max = (unsigned)room / 10 * 4;
    v->strangers_max = (unsigned)room / 25;
    if (v->strangers_max < 3)
        v->strangers_max = 3;
    if (v->strangers_max > STRANGERS_MAX)
        v->strangers_max = STRANGERS_MAX;
    uv_timer_init(config->loop, &v->timer);
    v->timer.data = v;
    return v;
}

static void on_closed(uv_handle_t *handle)
{
    struct visits *v = handle->data;
    map_destroy(v->by_fd);
    map_destroy(v->held);
    free(v);
}

void visits_destroy(struct visits *v)
{
    if (v)
        uv_close((uv_handle_t *)&v->timer, on_closed);
}
