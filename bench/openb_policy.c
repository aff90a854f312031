/* The published policies that ours is compared with: random, best fit and FGD, as they really are,
 * integer scores and ties to the first node. Scores are kept per node and distinct task until the
 * node changes, so that only time differs from computing them anew. */
#include "openb_policy.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

bool gpu_fits(const struct host *h, uint32_t gpu, const struct task *t)
{
    return h->gpu[gpu] >= t->milli;
}

bool host_fits(const struct host *h, const struct task *t)
{
    uint32_t found = 0, wanted = t->n;
    if (t->cpu > h->cpu || t->memory > h->memory || (t->models && !(t->models >> h->model & 1)))
        return false;
    for (uint32_t i = 0; i < h->n && found < wanted; i++)
        found += h->gpu[i] >= (task_shares(t) ? t->milli : DEVICE_MILLI);
    return found == wanted;
}

static void *create_nothing(const struct experiment *e)
{
    return mem_new(sizeof e->seed);
}

static void nothing_placed(void *data, const struct experiment *e, size_t host)
{
    (void)data;
    (void)e;
    (void)host;
}

/* ---- random ---- */

static void *random_create(const struct experiment *e)
{
    struct dice *r = create_nothing(e);
    r->state = ~e->seed;
    return r;
}

static struct place random_choose(void *data, const struct experiment *e, const struct task *t)
{
    struct place p = { .host = NO_HOST };
    uint64_t seen = 0;
    for (size_t i = 0; i < e->trace->n_hosts; i++)
        if (host_fits(&e->hosts[i], t) && random_below(data, ++seen) == 0)
            p.host = i;
    if (p.host == NO_HOST || !task_shares(t))
        return p;
    seen = 0;
    for (uint32_t i = 0; i < e->hosts[p.host].n; i++)
        if (gpu_fits(&e->hosts[p.host], i, t) && random_below(data, ++seen) == 0)
            p.gpu = i;
    return p;
}

/* ---- best fit ---- */

static uint64_t free_gpu(const struct host *h)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < h->n; i++)
        sum += h->gpu[i];
    return sum;
}

/* 100 minus the published score: halves of the cpu and GPU that are left, by the largest node. */
static uint64_t best_fit_left(const struct host *h, const struct task *t)
{
    uint64_t left = h->cpu - t->cpu + 16 * (free_gpu(h) - task_gpu(t));
    return (left + 2559) / 2560;
}

static struct place best_fit_choose(void *data, const struct experiment *e, const struct task *t)
{
    (void)data;
    struct place p = { .host = NO_HOST };
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < e->trace->n_hosts; i++) {
        if (!host_fits(&e->hosts[i], t))
            continue;
        uint64_t left = best_fit_left(&e->hosts[i], t);
        if (left < least) {
            least = left;
            p.host = i;
        }
    }
    if (p.host == NO_HOST || !task_shares(t))
        return p;
    const struct host *h = &e->hosts[p.host];
    p.gpu = UINT32_MAX;
    for (uint32_t i = 0; i < h->n; i++)
        if (gpu_fits(h, i, t) && (p.gpu == UINT32_MAX || h->gpu[i] < h->gpu[p.gpu]))
            p.gpu = i;
    return p;
}

/* ---- FGD ---- */

struct typical {
    uint64_t cpu, models;
    uint32_t n, milli, count;
    double part; /* of the typical tasks */
};
struct score {
    uint32_t version; /* of the node; 0: none */
    int16_t score;    /* 0..100 */
    uint16_t gpu;
};
struct fgd {
    struct typical *typical;
    size_t n_typical;
    uint32_t *versions;
    double *before;        /* F of each node */
    struct score **scores; /* by shape; of each node */
    size_t n_shapes;
    uint64_t pairs;
};

static int by_count(const void *a, const void *b)
{
    const struct typical *x = a, *y = b;
    return x->count < y->count ? 1 : x->count > y->count ? -1 : 0;
}

/* The most frequent, until 95 % of the tasks of the list are among them. */
static void find_typical(struct fgd *f, const struct trace *trace)
{
    size_t n = 0, covered = 0;
    f->typical = mem_new(trace->n_shapes * sizeof *f->typical);
    for (size_t i = 0; i < trace->n_shapes; i++) {
        const struct task *t = &trace->shapes[i];
        size_t at = 0;
        while (at < n && (f->typical[at].cpu != t->cpu || f->typical[at].models != t->models ||
                          f->typical[at].n != t->n || f->typical[at].milli != t->milli))
            at++;
        n += at == n;
        f->typical[at].cpu = t->cpu;
        f->typical[at].models = t->models;
        f->typical[at].n = t->n;
        f->typical[at].milli = t->milli;
        f->typical[at].count += trace->counts[i];
    }
    qsort(f->typical, n, sizeof *f->typical, by_count);
    while (f->n_typical < n && covered * 100 < trace->n_tasks * 95)
        covered += f->typical[f->n_typical++].count;
    for (size_t i = 0; i < f->n_typical; i++)
        f->typical[i].part = (double)f->typical[i].count / (double)covered;
}

static double fragmentation(const struct fgd *f, const struct host *h)
{
    uint64_t all = free_gpu(h);
    double sum = 0;
    uint32_t most = 0, whole = 0;
    for (uint32_t i = 0; i < h->n; i++) {
        most = h->gpu[i] > most ? h->gpu[i] : most;
        whole += h->gpu[i] == DEVICE_MILLI;
    }
    for (size_t k = 0; all && k < f->n_typical; k++) {
        const struct typical *t = &f->typical[k];
        uint64_t lost = 0;
        if (t->n == 0 || t->cpu > h->cpu || t->milli > most || (t->n > 1 && t->n > whole) ||
            (t->models && !(t->models >> h->model & 1)))
            lost = all;
        for (uint32_t i = 0; lost < all && i < h->n; i++)
            lost += h->gpu[i] < t->milli ? h->gpu[i] : 0;
        sum += t->part * (double)lost;
    }
    return sum;
}

static int16_t fgd_score(double before, double after)
{
    return (int16_t)floor(100 / (1 + exp(-(before - after) / 1000)));
}

static void put(struct host *h, const struct task *t, uint32_t gpu)
{
    h->cpu -= t->cpu;
    if (task_shares(t)) {
        h->gpu[gpu] = (uint16_t)(h->gpu[gpu] - t->milli);
        return;
    }
    for (uint32_t i = 0, left = t->n; left; i++)
        if (h->gpu[i] == DEVICE_MILLI) {
            h->gpu[i] = 0;
            left--;
        }
}

static struct score fgd_look(struct fgd *f, const struct host *h, double before,
                             const struct task *t)
{
    struct score best = { .score = -1 };
    f->pairs++;
    for (uint32_t i = 0; i < (task_shares(t) ? h->n : 1); i++) {
        struct host after = *h;
        if (task_shares(t) && !gpu_fits(h, i, t))
            continue;
        put(&after, t, i);
        int16_t score = fgd_score(before, fragmentation(f, &after));
        if (score > best.score)
            best = (struct score){ .score = score, .gpu = (uint16_t)i };
    }
    return best;
}

static void *fgd_create(const struct experiment *e)
{
    struct fgd *f = mem_new(sizeof *f);
    const struct trace *trace = e->trace;
    find_typical(f, trace);
    f->versions = mem_new(trace->n_hosts * sizeof *f->versions);
    f->before = mem_new(trace->n_hosts * sizeof *f->before);
    f->scores = mem_new(trace->n_shapes * sizeof(f->scores[0]));
    for (size_t i = 0; i < trace->n_hosts; i++) {
        f->versions[i] = 1;
        f->before[i] = fragmentation(f, &e->hosts[i]);
    }
    for (size_t i = 0; i < trace->n_shapes; i++)
        f->scores[i] = mem_new(trace->n_hosts * sizeof(struct score));
    f->n_shapes = trace->n_shapes;
    return f;
}

static struct place fgd_choose(void *data, const struct experiment *e, const struct task *t)
{
    struct fgd *f = data;
    struct place p = { .host = NO_HOST };
    int16_t best = -1;
    for (size_t i = 0; i < e->trace->n_hosts; i++) {
        struct score *s = &f->scores[t->shape][i];
        if (s->version != f->versions[i]) {
            *s = (struct score){ .score = -1 };
            if (host_fits(&e->hosts[i], t))
                *s = fgd_look(f, &e->hosts[i], f->before[i], t);
            s->version = f->versions[i];
        }
        if (s->score > best) {
            best = s->score;
            p = (struct place){ .host = i, .gpu = s->gpu };
        }
    }
    return p;
}

static void fgd_placed(void *data, const struct experiment *e, size_t host)
{
    struct fgd *f = data;
    f->versions[host]++;
    f->before[host] = fragmentation(f, &e->hosts[host]);
}

static void fgd_work(void *data, uint64_t *pairs, uint64_t *states)
{
    const struct fgd *f = data;
    *pairs = f->pairs;
    *states = 0;
}

static void fgd_destroy(void *data)
{
    struct fgd *f = data;
    for (size_t i = 0; i < f->n_shapes; i++)
        free(f->scores[i]);
    free(f->scores);
    free(f->versions);
    free(f->before);
    free(f->typical);
    free(f);
}

/* ---- all ---- */

const struct policy *policy_find(const char *name)
{
    static const struct policy all[] = {
        { "random", random_create, free, random_choose, nothing_placed, NULL },
        { "bestfit", create_nothing, free, best_fit_choose, nothing_placed, NULL },
        { "fgd", fgd_create, fgd_destroy, fgd_choose, fgd_placed, fgd_work },
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (!strcmp(all[i].name, name))
            return &all[i];
    return strcmp(name, policy_muster.name) ? NULL : &policy_muster;
}
