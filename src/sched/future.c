/* Time as a row of moments at which something ends or a promise begins.
 *
 * Without promises room only grows, so the cluster is kept at a few marks along the row, a count
 * tells between which two marks the job can first fit, and from the earlier one the ends are gone
 * through one by one, the count following each node that changed. Only where it says "enough" the
 * job is placed for real.
 *
 * A job that starts before a promise begins and is not over by then has to find its places free at
 * both times. What it may use is therefore the cluster in which each amount taken is the highest of
 * all moments it would run through. Between promises amounts only fall: the moments that matter are
 * its start and the beginnings of promises. That picture changes when a promise begins or when one
 * comes into the job's reach; as long as it does not, room only grows, and moments may be skipped.
 */
#include "sched/future.h"

#include "base/mem.h"
#include "sched/classify.h"
#include "sched/gang.h"
#include "sched/nodes.h"
#include "sched/tally.h"
#include "sched/time_points.h"

#include <string.h>

#define MARKS_MAX          32u
#define PLACES_PER_MARK    64u    /* at the least, and as many as a copy of the cluster costs */
#define STEPS_PER_QUESTION 65536u /* of exhaustive search */
#define PICTURES_MAX       8u

struct future_allocation { /* a job on its places */
    uint64_t job, from_ms, to_ms;
    struct held_places held;
};
struct mark { /* everything that ends until then has ended, promises left aside */
    uint64_t at_ms;
    struct cluster *cluster;
};
struct booking {
    struct future_allocation stay;
    struct cluster *then; /* at the moment it begins, with it and all other promises */
    bool *hosts;          /* on which it holds something */
};
/* What a job may use that starts now: the same for all that run into the same promises. Kept until
 * something starts, ends or is promised, as many jobs ask for it in one pass. */
struct window_capacity {
    size_t end; /* of the window; it begins with the first promise after now */
    struct cluster *room;
};
struct future {
    const struct cluster *given;
    const struct future_release *releases;
    size_t n_releases;
    uint64_t now_ms;
    struct arena *arena;
    bool opened; /* the given cluster was read */
    struct future_allocation **stays;
    size_t n, cap, n_sorted;
    struct mark marks[MARKS_MAX + 1];
    uint32_t n_marks, n_made;
    struct booking *bookings; /* by their beginnings */
    size_t n_bookings, cap_bookings;
    bool *closed;       /* per host: something is promised there */
    bool *promised;     /* the same per node */
    uint32_t *on_nodes; /* those nodes */
    uint32_t n_nodes;
    struct window_capacity pictures[PICTURES_MAX];
    uint32_t n_pictures;
    struct future_work work;
};

static uint64_t sum_of(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* ---- who is there, by end ---- */

static int by_end(const struct future_allocation *x, const struct future_allocation *y)
{
    if (x->to_ms != y->to_ms)
        return x->to_ms < y->to_ms ? -1 : 1;
    return x->job != y->job ? (x->job < y->job ? -1 : 1) : 0;
}

static uint64_t yet_to_come(const struct future *f, uint64_t at_ms)
{
    return at_ms > f->now_ms ? at_ms : f->now_ms + 1;
}

static void add_stay(struct future *f, struct future_allocation *s, const struct future_release *r)
{
    *s = (struct future_allocation){ .job = r->job,
                                     .to_ms = yet_to_come(f, r->at_ms),
                                     .held = r->held };
    if (f->n == f->cap) {
        f->cap = f->cap ? f->cap * 2 : 64;
        f->stays = mem_resize(f->stays, f->cap * sizeof *f->stays);
    }
    f->stays[f->n++] = s;
}

static void put_in_order(struct future_allocation **stays, size_t n)
{
    struct time_point *at = mem_new(2 * n * sizeof *at);
    for (size_t i = 0; i < n; i++)
        at[i] =
            (struct time_point){ .at_ms = stays[i]->to_ms, .id = stays[i]->job, .what = stays[i] };
    time_points_sort(at, at + n, n);
    for (size_t i = 0; i < n; i++)
        stays[i] = at[i].what;
    free(at);
}

/* What came since the last time is sorted by itself and merged in. */
static void sort_stays(struct future *f)
{
    size_t n_new = f->n - f->n_sorted, old = f->n_sorted, to = f->n;
    if (!n_new)
        return;
    struct future_allocation **new = mem_new(n_new * sizeof *new);
    memcpy(new, f->stays + old, n_new * sizeof *new);
    put_in_order(new, n_new);
    while (n_new)
        f->stays[--to] =
            old && by_end(f->stays[old - 1], new[n_new - 1]) > 0 ? f->stays[--old] : new[--n_new];
    free(new);
    f->n_sorted = f->n;
}

/* How many end until then. */
static size_t ended_by(const struct future *f, uint64_t at_ms)
{
    size_t low = 0, high = f->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (f->stays[mid]->to_ms <= at_ms)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct cluster *copy_of(struct future *f, const struct cluster *c)
{
    f->work.clones++;
    return cluster_clone(c);
}

static bool take(struct future *f, struct cluster *c, struct future_allocation *s)
{
    f->work.moves++;
    held_places_locate(&s->held, f->given, f->arena);
    return held_places_take(c, &s->held);
}

static void give(struct future *f, struct cluster *c, struct future_allocation *s)
{
    f->work.moves++;
    held_places_locate(&s->held, f->given, f->arena);
    held_places_give(c, &s->held);
}

static void read_given(struct future *f)
{
    if (!f->opened) {
        f->opened = true;
        struct future_allocation *stays =
            ARENA_ARRAY(f->arena, f->n_releases, struct future_allocation);
        for (size_t i = 0; i < f->n_releases; i++)
            add_stay(f, &stays[i], &f->releases[i]);
        f->closed = ARENA_ARRAY(f->arena, f->given->layout->n_hosts, bool);
        f->promised = ARENA_ARRAY(f->arena, cluster_count(f->given), bool);
        f->on_nodes = ARENA_ARRAY(f->arena, cluster_count(f->given), uint32_t);
        size_t places = 0;
        for (size_t i = 0; i < f->n; i++)
            places += f->stays[i]->held.n;
        f->n_marks = 1 + (uint32_t)(places / (PLACES_PER_MARK + cluster_count(f->given) / 8));
        f->n_marks = f->n_marks < MARKS_MAX ? f->n_marks : MARKS_MAX;
        f->marks[0] = (struct mark){ .at_ms = f->now_ms, .cluster = copy_of(f, f->given) };
        f->given = f->marks[0].cluster; /* the other may go */
        f->n_made = 1;
    }
    sort_stays(f);
}

/* Those that are given next will be looked at soon. */
static void fetch_ahead(const struct future *f, size_t i)
{
    static const uint32_t steps[] = { HELD_PLACES_AHEAD, HELD_PLACES_AHEAD * 2 / 3,
                                      HELD_PLACES_AHEAD / 3 };
    for (size_t k = 0; k < ARRAY_LEN(steps); k++)
        if (i + steps[k] < f->n)
            held_places_fetch(&f->stays[i + steps[k]]->held, f->given, steps[k]);
}

/* Marks are made one after the other, as far as somebody asks. */
static const struct mark *mark_at(struct future *f, uint32_t at)
{
    for (; f->n_made <= at; f->n_made++) {
        const struct mark *before = &f->marks[f->n_made - 1];
        struct mark *m = &f->marks[f->n_made];
        size_t n = f->n * f->n_made / f->n_marks;
        m->at_ms = n ? f->stays[n - 1]->to_ms : f->now_ms;
        if (f->n_made == f->n_marks || m->at_ms == FUTURE_NEVER)
            m->at_ms = FUTURE_NEVER - 1;
        m->at_ms = m->at_ms > before->at_ms ? m->at_ms : before->at_ms;
        m->cluster = copy_of(f, before->cluster);
        for (size_t i = ended_by(f, before->at_ms); i < f->n && f->stays[i]->to_ms <= m->at_ms;
             i++) {
            fetch_ahead(f, i);
            give(f, m->cluster, f->stays[i]);
        }
    }
    return &f->marks[at];
}

struct future *future_create(const struct cluster *cluster, uint64_t now_ms,
                             const struct future_release *releases, size_t n, struct arena *arena)
{
    struct future *f = mem_new(sizeof *f);
    f->given = cluster;
    f->now_ms = now_ms;
    f->releases = releases;
    f->n_releases = n;
    f->arena = arena;
    return f;
}

static void forget_pictures(struct future *f)
{
    while (f->n_pictures)
        cluster_destroy(f->pictures[--f->n_pictures].room);
}

void future_destroy(struct future *f)
{
    if (!f)
        return;
    forget_pictures(f);
    for (uint32_t i = 0; i < f->n_made; i++)
        cluster_destroy(f->marks[i].cluster);
    for (size_t i = 0; i < f->n_bookings; i++)
        cluster_destroy(f->bookings[i].then);
    free(f->bookings);
    free(f->stays);
    free(f);
}

/* ---- going through time with a job in mind ---- */

struct window { /* promises that begin while the job would run */
    size_t first, end;
};
struct sweep {
    struct future *f;
    const struct future_ask *ask;
    struct tally *tally;   /* NULL: nobody asks */
    struct cluster *state; /* what is taken at the moment */
    struct cluster *room;  /* the highest of the job's time; without promises the same cluster */
    uint64_t at_ms;
    uint64_t change_ms; /* when next a promise begins or ends */
    size_t next;        /* of stays */
    struct window window;
};

static struct window window_at(const struct sweep *s, uint64_t at_ms)
{
    const struct future *f = s->f;
    uint64_t until = sum_of(at_ms, s->ask->lasts_ms);
    struct window w = s->window;
    while (w.first < f->n_bookings && f->bookings[w.first].stay.from_ms <= at_ms)
        w.first++;
    w.end = w.end > w.first ? w.end : w.first;
    while (w.end < f->n_bookings && f->bookings[w.end].stay.from_ms < until)
        w.end++;
    return w;
}

/* To what is taken there at the promises in the window. */
static void raise_at(struct sweep *s, uint32_t node)
{
    const struct future *f = s->f;
    uint32_t host = cluster_form(s->room, node)->host;
    for (size_t i = s->window.first; f->closed[host] && i < s->window.end; i++)
        if (f->bookings[i].hosts[host])
            node_raise(s->room, f->bookings[i].then, node);
}

static void look_at(struct sweep *s, uint32_t node)
{
    if (s->room != s->state) {
        node_copy(s->room, s->state, node);
        raise_at(s, node);
    }
    if (s->tally)
        tally_node(s->tally, s->room, node);
}

static void look_at_places(struct sweep *s, const struct held_places *h)
{
    for (uint32_t i = 0, last = UINT32_MAX; i < h->n; i++)
        if (h->nodes[i] != UINT32_MAX && h->nodes[i] != last) {
            last = h->nodes[i];
            look_at(s, last);
        }
}

static void find_change(struct sweep *s)
{
    s->change_ms = FUTURE_NEVER;
    for (size_t i = 0; i < s->f->n_bookings; i++) {
        const struct future_allocation *b = &s->f->bookings[i].stay;
        if (b->from_ms > s->at_ms && b->from_ms < s->change_ms)
            s->change_ms = b->from_ms;
        if (b->to_ms > s->at_ms && b->to_ms < s->change_ms)
            s->change_ms = b->to_ms;
    }
}

/* The cluster at that moment, without a job in mind. */
static void sweep_from(struct sweep *s, struct future *f, const struct future_ask *ask,
                       uint64_t at_ms)
{
    uint32_t mark = 0;
    while (mark < f->n_marks && mark_at(f, mark + 1)->at_ms <= at_ms)
        mark++;
    *s = (struct sweep){ .f = f, .ask = ask, .at_ms = at_ms };
    node_classes_of(f->marks[mark].cluster); /* once for all that start from it */
    s->state = s->room = copy_of(f, f->marks[mark].cluster);
    s->next = ended_by(f, f->marks[mark].at_ms);
    while (s->next < f->n && f->stays[s->next]->to_ms <= at_ms)
        give(f, s->state, f->stays[s->next++]);
    for (size_t i = 0; i < f->n_bookings; i++)
        if (f->bookings[i].stay.from_ms <= at_ms && at_ms < f->bookings[i].stay.to_ms)
            take(f, s->state, &f->bookings[i].stay);
}

static void find_room(struct sweep *s)
{
    if (!s->f->n_bookings)
        return;
    s->window = window_at(s, s->at_ms);
    for (uint32_t i = 0; i < s->f->n_nodes; i++)
        raise_at(s, s->f->on_nodes[i]);
}

/* From that moment on. */
static void sweep_begin(struct sweep *s, struct future *f, const struct future_ask *ask,
                        struct tally *tally, uint64_t at_ms)
{
    sweep_from(s, f, ask, at_ms);
    find_change(s);
    if (f->n_bookings)
        s->room = copy_of(f, s->state);
    find_room(s);
    s->tally = tally;
    tally_count(tally, s->room);
    f->work.counts++;
}

/* At that moment only: it does not go on. */
static void sweep_at(struct sweep *s, struct future *f, const struct future_ask *ask,
                     uint64_t at_ms)
{
    sweep_from(s, f, ask, at_ms);
    find_room(s);
}

static void sweep_end(struct sweep *s)
{
    if (s->room != s->state)
        cluster_destroy(s->room);
    cluster_destroy(s->state);
}

static uint64_t sweep_next(const struct sweep *s)
{
    uint64_t end = s->next < s->f->n ? s->f->stays[s->next]->to_ms : FUTURE_NEVER;
    return end < s->change_ms ? end : s->change_ms;
}

static bool window_stays(const struct sweep *s, uint64_t at_ms)
{
    struct window w = window_at(s, at_ms);
    return w.first == s->window.first && w.end == s->window.end;
}

/* The nodes of promises that are over, that begin, or that came into the job's reach. */
static void look_at_changed(struct sweep *s, struct window before)
{
    for (size_t i = 0; i < s->f->n_bookings; i++) {
        const struct future_allocation *b = &s->f->bookings[i].stay;
        if (b->to_ms == s->at_ms || (i >= before.first && i < s->window.first) ||
            (i >= before.end && i < s->window.end))
            look_at_places(s, &b->held);
    }
}

/* On to the next moment: what ends first, then what begins. */
static void sweep_on(struct sweep *s)
{
    struct future *f = s->f;
    struct window before = s->window;
    uint64_t now = s->at_ms = sweep_next(s);
    bool turned = now == s->change_ms || !window_stays(s, now);
    s->window = window_at(s, now);
    for (; s->next < f->n && f->stays[s->next]->to_ms == now; s->next++) {
        fetch_ahead(f, s->next);
        give(f, s->state, f->stays[s->next]);
        look_at_places(s, &f->stays[s->next]->held);
    }
    if (now == s->change_ms) {
        for (size_t i = 0; i < f->n_bookings; i++)
            if (f->bookings[i].stay.to_ms == now)
                give(f, s->state, &f->bookings[i].stay);
        for (size_t i = 0; i < f->n_bookings; i++)
            if (f->bookings[i].stay.from_ms == now)
                take(f, s->state, &f->bookings[i].stay);
        find_change(s);
    }
    if (turned)
        look_at_changed(s, before);
}

/* ---- the earliest moment ---- */

struct start_search {
    struct sweep sweep;
    uint64_t *skipped; /* moments since the last look that was in vain, under the same window */
    size_t n_skipped, gap;
    uint32_t steps;
    struct promise *promise;
};

static bool is_on(const struct future *f, const struct held_places *h, const bool *hosts)
{
    for (uint32_t i = 0; i < h->n; i++)
        if (h->nodes[i] != UINT32_MAX && hosts[cluster_form(f->given, h->nodes[i])->host])
            return true;
    return false;
}

/* The places, and whose ends they rest on. */
static void keep_places(struct future *f, struct promise *p, const struct placement *placement)
{
    bool *hosts = ARENA_ARRAY(f->arena, f->given->layout->n_hosts, bool);
    uint64_t last_ms = 0;
    p->places = placement->places;
    p->n_places = placement->n_places;
    for (uint32_t i = 0; i < placement->n_seats; i++)
        hosts[cluster_form(f->given, placement->seats[i].node)->host] = true;
    for (size_t i = 0; i < f->n && f->stays[i]->to_ms <= p->at_ms; i++) {
        if (!is_on(f, &f->stays[i]->held, hosts))
            continue;
        p->n_ends++;
        p->after_job = f->stays[i]->job;
        last_ms = f->stays[i]->to_ms;
    }
    for (size_t i = 0; i < f->n_bookings; i++) {
        const struct future_allocation *b = &f->bookings[i].stay;
        if (b->to_ms > p->at_ms || !is_on(f, &b->held, hosts))
            continue;
        p->n_ends++;
        if (b->to_ms <= last_ms)
            continue;
        p->after_job = b->job;
        last_ms = b->to_ms;
    }
}

/* Uses up the room of the sweep when it succeeds. */
static bool try_now(struct sweep *s, uint32_t *steps, struct promise *p)
{
    struct future *f = s->f;
    struct placement placement;
    f->work.tries++;
    cluster_expire_blocks(s->room, s->at_ms);
    placement_init(&placement, f->arena, s->room, s->ask->spec);
    placement.steps = steps;
    if (gang_place(&placement) != GANG_PLACED)
        return false;
    *p = (struct promise){ .job = s->ask->job, .spec = s->ask->spec, .at_ms = s->at_ms };
    p->ends_ms = sum_of(s->at_ms, s->ask->lasts_ms);
    keep_places(f, p, &placement);
    return true;
}

/* It fits where the sweep stands and did not before the moments that were skipped. */
static void look_back(struct start_search *k)
{
    size_t low = 0, high = k->n_skipped;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        struct sweep s;
        sweep_at(&s, k->sweep.f, k->sweep.ask, k->skipped[mid]);
        if (try_now(&s, &k->steps, k->promise))
            high = mid;
        else
            low = mid + 1;
        sweep_end(&s);
    }
}

/* After each look in vain twice as many moments are passed over before the next; but none is left
 * behind when what is in the job's way changes. */
static bool look(struct start_search *k)
{
    struct sweep *s = &k->sweep;
    uint64_t next = sweep_next(s);
    if (!tally_enough(s->tally))
        return false;
    if (k->n_skipped + 1 < k->gap && next != FUTURE_NEVER && window_stays(s, next)) {
        k->skipped[k->n_skipped++] = s->at_ms;
        return false;
    }
    if (try_now(s, &k->steps, k->promise)) {
        look_back(k);
        return true;
    }
    k->n_skipped = 0;
    k->gap = k->gap ? k->gap * 2 : 1;
    return false;
}

/* The last mark at which the job certainly finds no room yet; the first when there is none. Most
 * that wait do not wait for much, and marks are not made before they are needed: each look is half
 * as far again, then between the last two. */
static uint64_t certainly_not_before(struct future *f, const struct tally *t)
{
    uint32_t low = 0, high = f->n_marks + 1, at = 1;
    while (low < high) {
        f->work.counts++;
        if (tally_would_do(t, mark_at(f, at)->cluster))
            high = at;
        else
            low = at + 1;
        at = high > f->n_marks && low <= f->n_marks / 2 ? low + low / 2 : low + (high - low) / 2;
    }
    return low > f->n_marks ? FUTURE_NEVER : f->marks[low ? low - 1 : 0].at_ms;
}

static enum future_why why_never(struct future *f, const struct future_ask *ask)
{
    uint32_t steps = STEPS_PER_QUESTION;
    struct placement placement;
    if (!f->n_bookings)
        return FUTURE_NO_ROOM;
    struct cluster *end = copy_of(f, mark_at(f, f->n_marks)->cluster);
    f->work.tries++;
    placement_init(&placement, f->arena, end, ask->spec);
    placement.steps = &steps;
    bool fits = gang_place(&placement) == GANG_PLACED;
    cluster_destroy(end);
    return fits ? FUTURE_PROMISED : FUTURE_NO_ROOM;
}

static bool go_on_until_it_fits(struct start_search *k)
{
    bool found = look(k);
    while (!found && sweep_next(&k->sweep) != FUTURE_NEVER) {
        sweep_on(&k->sweep);
        found = look(k);
    }
    return found;
}

bool future_earliest(struct future *f, const struct future_ask *ask, struct promise *p)
{
    struct tally tally;
    struct start_search k = { .promise = p, .steps = STEPS_PER_QUESTION };
    struct arena *scratch = arena_create();
    bool found = false;
    read_given(f);
    *p = (struct promise){ .job = ask->job, .spec = ask->spec, .why = FUTURE_NO_ROOM };
    p->at_ms = p->ends_ms = FUTURE_NEVER;
    tally_init(&tally, scratch, f->marks[0].cluster, ask->spec);
    uint64_t from = certainly_not_before(f, &tally);
    from = from > ask->from_ms ? from : ask->from_ms;
    if (from != FUTURE_NEVER) {
        k.skipped = ARENA_ARRAY(scratch, f->n + 2 * f->n_bookings + 1, uint64_t);
        sweep_begin(&k.sweep, f, ask, &tally, from);
        found = go_on_until_it_fits(&k);
        sweep_end(&k.sweep);
        if (!found)
            p->why = why_never(f, ask);
    }
    arena_destroy(scratch);
    return found;
}

/* The sweep of a job that starts now, with nothing but its room. The caller puts it back, unless it
 * was used up. */
static void take_picture(struct sweep *s, struct future *f, const struct future_ask *ask)
{
    *s = (struct sweep){ .f = f, .ask = ask, .at_ms = f->now_ms };
    s->window = window_at(s, f->now_ms);
    for (uint32_t i = 0; i < f->n_pictures; i++)
        if (f->pictures[i].end == s->window.end) {
            s->room = f->pictures[i].room;
            f->pictures[i] = f->pictures[--f->n_pictures];
            return;
        }
    sweep_at(s, f, ask, f->now_ms);
    s->window = window_at(s, f->now_ms); /* without promises nobody had to look */
}

static void keep_picture(const struct sweep *s)
{
    struct future *f = s->f;
    if (f->n_pictures == PICTURES_MAX)
        cluster_destroy(f->pictures[--f->n_pictures].room);
    f->pictures[f->n_pictures++] =
        (struct window_capacity){ .end = s->window.end, .room = s->room };
}

static bool holds_now(struct future *f, const struct future_ask *ask, struct promise *p)
{
    struct sweep s;
    uint32_t steps = STEPS_PER_QUESTION;
    take_picture(&s, f, ask);
    bool holds = try_now(&s, &steps, p);
    if (holds)
        cluster_destroy(s.room);
    else
        keep_picture(&s);
    return holds;
}

bool future_holds(struct future *f, const struct future_ask *ask, uint64_t at_ms, struct promise *p)
{
    struct sweep s;
    uint32_t steps = STEPS_PER_QUESTION;
    if (at_ms < f->now_ms || at_ms == FUTURE_NEVER)
        return false;
    read_given(f);
    if (at_ms == f->now_ms)
        return holds_now(f, ask, p);
    sweep_at(&s, f, ask, at_ms);
    bool holds = try_now(&s, &steps, p);
    sweep_end(&s);
    return holds;
}

/* ---- promises ---- */

/* Takes what a stay holds wherever a promise begins meanwhile: all, or nothing. */
static bool take_then(struct future *f, struct future_allocation *s)
{
    for (size_t i = 0; i < f->n_bookings; i++) {
        const struct booking *b = &f->bookings[i];
        if (b->stay.from_ms < s->from_ms || b->stay.from_ms >= s->to_ms || take(f, b->then, s))
            continue;
        while (i-- > 0)
            if (f->bookings[i].stay.from_ms >= s->from_ms && f->bookings[i].stay.from_ms < s->to_ms)
                give(f, f->bookings[i].then, s);
        return false;
    }
    return true;
}

static void give_then(struct future *f, struct future_allocation *s)
{
    for (size_t i = 0; i < f->n_bookings; i++)
        if (f->bookings[i].stay.from_ms >= s->from_ms && f->bookings[i].stay.from_ms < s->to_ms)
            give(f, f->bookings[i].then, s);
}

static void close_nodes(struct future *f, const struct booking *b)
{
    for (uint32_t i = 0; i < b->stay.held.n; i++) {
        uint32_t node = b->stay.held.nodes[i];
        b->hosts[cluster_form(f->given, node)->host] = true;
        f->closed[cluster_form(f->given, node)->host] = true;
        if (!f->promised[node])
            f->on_nodes[f->n_nodes++] = node;
        f->promised[node] = true;
    }
}

bool future_reserve(struct future *f, const struct promise *p)
{
    struct sweep s;
    read_given(f);
    struct booking b = { .stay = { .job = p->job, .from_ms = p->at_ms, .to_ms = p->ends_ms } };
    b.stay.held = held_places_of(p->spec, p->places, p->n_places);
    b.hosts = ARENA_ARRAY(f->arena, f->given->layout->n_hosts, bool);
    sweep_from(&s, f, NULL, p->at_ms);
    b.then = s.state;
    if (!take(f, b.then, &b.stay) || !take_then(f, &b.stay)) {
        cluster_destroy(b.then);
        return false;
    }
    if (f->n_bookings == f->cap_bookings) {
        f->cap_bookings = f->cap_bookings ? f->cap_bookings * 2 : 8;
        f->bookings = mem_resize(f->bookings, f->cap_bookings * sizeof *f->bookings);
    }
    size_t at = f->n_bookings++;
    for (; at > 0 && f->bookings[at - 1].stay.from_ms > b.stay.from_ms; at--)
        f->bookings[at] = f->bookings[at - 1];
    f->bookings[at] = b;
    close_nodes(f, &b);
    forget_pictures(f);
    return true;
}

/* The last promise of the job; SIZE_MAX when it has none. */
static size_t booking_of(const struct future *f, uint64_t job)
{
    for (size_t i = f->n_bookings; i-- > 0;)
        if (f->bookings[i].stay.job == job)
            return i;
    return SIZE_MAX;
}

void future_forget(struct future *f, uint64_t job)
{
    size_t at = booking_of(f, job);
    if (at == SIZE_MAX)
        return;
    struct booking gone = f->bookings[at];
    memmove(&f->bookings[at], &f->bookings[at + 1], (--f->n_bookings - at) * sizeof *f->bookings);
    cluster_destroy(gone.then);
    forget_pictures(f);
    give_then(f, &gone.stay);
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        f->promised[f->on_nodes[i]] = false;
        f->closed[cluster_form(f->given, f->on_nodes[i])->host] = false;
    }
    f->n_nodes = 0;
    for (size_t i = 0; i < f->n_bookings; i++)
        close_nodes(f, &f->bookings[i]);
}

size_t future_promised(const struct future *f)
{
    return f->n_bookings;
}

bool future_closed(const struct future *f, uint32_t node)
{
    return f->n_bookings && f->closed[cluster_form(f->given, node)->host];
}

/* ---- what starts and ends meanwhile ---- */

static bool on_closed(const struct future *f, const struct held_places *h)
{
    for (uint32_t i = 0; i < h->n; i++) {
        uint32_t node = held_places_node(h, f->given, i);
        if (node != UINT32_MAX && future_closed(f, node))
            return true;
    }
    return false;
}

bool future_allows(struct future *f, const struct future_release *starts, size_t n)
{
    size_t done = 0;
    bool in_the_way = false;
    for (size_t i = 0; i < n && f->n_bookings && !in_the_way; i++)
        in_the_way = on_closed(f, &starts[i].held);
    if (!in_the_way)
        return true;
    struct future_allocation *stays = mem_new(n * sizeof *stays);
    for (; done < n; done++) {
        stays[done] = (struct future_allocation){ .to_ms = yet_to_come(f, starts[done].at_ms),
                                                  .held = starts[done].held };
        if (!take_then(f, &stays[done]))
            break;
    }
    for (size_t i = 0; i < done; i++)
        give_then(f, &stays[i]);
    free(stays);
    return done == n;
}

bool future_admit(struct future *f, const struct future_release *start)
{
    add_stay(f, ARENA_NEW(f->arena, struct future_allocation), start);
    forget_pictures(f);
    if (!f->opened)
        return true;
    struct future_allocation *s = f->stays[f->n - 1];
    if (!take(f, f->marks[0].cluster, s)) {
        f->n--;
        return false;
    }
    if (!take_then(f, s)) {
        give(f, f->marks[0].cluster, s);
        f->n--;
        return false;
    }
    for (uint32_t i = 1; i < f->n_made && f->marks[i].at_ms < s->to_ms; i++)
        take(f, f->marks[i].cluster, s);
    return true;
}

void future_end(struct future *f, uint64_t job, uint64_t at_ms)
{
    read_given(f);
    forget_pictures(f);
    uint64_t at = yet_to_come(f, at_ms);
    for (size_t i = 0; i < f->n; i++) {
        struct future_allocation *s = f->stays[i];
        if (s->job != job || s->to_ms <= at)
            continue;
        for (uint32_t m = 1; m < f->n_made; m++)
            if (f->marks[m].at_ms >= at && f->marks[m].at_ms < s->to_ms)
                give(f, f->marks[m].cluster, s);
        for (size_t k = 0; k < f->n_bookings; k++)
            if (f->bookings[k].stay.from_ms >= at && f->bookings[k].stay.from_ms < s->to_ms)
                give(f, f->bookings[k].then, s);
        s->to_ms = at;
    }
    put_in_order(f->stays, f->n);
}

struct future_work future_work(const struct future *f)
{
    return f->work;
}
