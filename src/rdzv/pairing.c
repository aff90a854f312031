/* Who is checked with whom, and who is to blame: the second round mixes slow with fast, so that a
 * node that failed because of its partner meets a good one. Few nodes; everything is computed anew
 * from the figures, so the verdict needs no memory of the groups. */
#include "rdzv/pairing.h"

#include "base/mem.h"

#include <stdlib.h>

struct node_time {
    uint64_t took_us;
    size_t node;
};

static int by_time(const void *a, const void *b)
{
    const struct node_time *x = a;
    const struct node_time *y = b;
    if (x->took_us != y->took_us)
        return x->took_us < y->took_us ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static size_t neighbours(size_t n, uint32_t *group)
{
    size_t groups = n > 1 ? n / 2 : n;
    for (size_t i = 0; i < n; i++)
        group[i] = (uint32_t)(i / 2 < groups ? i / 2 : groups - 1);
    return groups;
}

size_t pairing_make(const struct pairing_node *nodes, size_t n, int round, uint32_t *group)
{
    if (round == 0 || n == 0)
        return neighbours(n, group);
    AUTO_FREE struct node_time *order = mem_new(n * sizeof *order);
    size_t in = 0;
    for (size_t i = 0; i < n; i++) {
        group[i] = PAIRING_OUT;
        if (nodes[i].self_bad[0])
            continue;
        order[in++] = (struct node_time){
            .took_us = nodes[i].ok[0] ? nodes[i].took_us[0] : UINT64_MAX,
            .node = i,
        };
    }
    size_t groups = in > 1 ? in / 2 : in;
    qsort(order, in, sizeof *order, by_time);
    for (size_t i = 0; i < groups; i++) {
        group[order[i].node] = (uint32_t)i;
        group[order[in - 1 - i].node] = (uint32_t)i;
    }
    if (in % 2 == 1)
        group[order[in / 2].node] = (uint32_t)(groups - 1);
    return groups;
}

static bool broken(const struct pairing_node *node)
{
    return node->self_bad[0] || node->self_bad[1];
}

static bool passed(const struct pairing_node *node)
{
    return !broken(node) && ((node->ran[0] && node->ok[0]) || (node->ran[1] && node->ok[1]));
}

struct pair_summary { /* of one node that never passed, over the rounds */
    bool excused;     /* each time a partner was broken by itself */
    bool accused;     /* a partner passed with somebody else */
};

static struct pair_summary company_of(const struct pairing_node *nodes, size_t n,
                                      uint32_t *const groups[2], size_t self)
{
    struct pair_summary company = { .excused = true };
    for (int round = 0; round < 2; round++) {
        if (!nodes[self].ran[round])
            continue;
        bool excuse = false;
        for (size_t i = 0; i < n; i++) {
            if (i == self || groups[round][i] != groups[round][self])
                continue;
            excuse = excuse || broken(&nodes[i]);
            company.accused = company.accused || passed(&nodes[i]);
        }
        company.excused = company.excused && excuse;
    }
    return company;
}

static bool least_time(const struct pairing_node *node, uint64_t *out)
{
    bool any = false;
    for (int round = 0; round < 2; round++) {
        if (!node->ran[round] || !node->ok[round])
            continue;
        if (!any || node->took_us[round] < *out)
            *out = node->took_us[round];
        any = true;
    }
    return any;
}

static bool share_host(const struct pairing_node *a, const struct pairing_node *b)
{
    return a == b || (a->host > 0 && a->host == b->host);
}

static bool compared(enum pairing_verdict verdict)
{
    return verdict == PAIRING_GOOD || verdict == PAIRING_STRAGGLER;
}

/* The least time of a host, by the first node on it that is compared; 0: by another. */
static uint64_t host_time(const struct pairing_node *nodes, size_t n,
                          const enum pairing_verdict *out, size_t self)
{
    uint64_t least = 0, took = 0;
    size_t from = nodes[self].host > 0 ? 0 : self, to = nodes[self].host > 0 ? n : self + 1;
    for (size_t i = from; i < to; i++) {
        if (!share_host(&nodes[i], &nodes[self]) || !compared(out[i]) ||
            !least_time(&nodes[i], &took))
            continue;
        if (i < self)
            return 0;
        least = !least || took < least ? took : least;
    }
    return least;
}

size_t pairing_hosts(const struct pairing_node *nodes, size_t n, const enum pairing_verdict *out)
{
    size_t hosts = 0;
    for (size_t i = 0; i < n; i++)
        hosts += host_time(nodes, n, out, i) > 0;
    return hosts;
}

static uint64_t find_stragglers(const struct pairing_node *nodes, size_t n,
                                enum pairing_verdict *out)
{
    AUTO_FREE uint64_t *of = mem_new(n * sizeof *of);
    AUTO_FREE uint64_t *least = mem_new(n * sizeof *least);
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        if ((of[i] = host_time(nodes, n, out, i)) > 0)
            least[known++] = of[i];
    if (known < 2)
        return 0;
    qsort(least, known, sizeof *least, by_value);
    uint64_t low = least[(known - 1) / 2];
    uint64_t high = least[known / 2];
    /* The mean of two is never exceeded twice by one of them. */
    uint64_t median = known == 2 ? low : low + (high - low) / 2;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; of[i] > median && of[i] - median > median && k < n; k++)
            if (share_host(&nodes[k], &nodes[i]) && out[k] == PAIRING_GOOD)
                out[k] = PAIRING_STRAGGLER;
    return median;
}

uint64_t pairing_judge(const struct pairing_node *nodes, size_t n, enum pairing_verdict *out)
{
    if (n == 0)
        return 0;
    AUTO_FREE uint32_t *first = mem_new(n * sizeof *first);
    AUTO_FREE uint32_t *second = mem_new(n * sizeof *second);
    uint32_t *const groups[2] = { first, second };
    pairing_make(nodes, n, 0, first);
    pairing_make(nodes, n, 1, second);
    for (size_t i = 0; i < n; i++) {
        bool ran = nodes[i].ran[0] || nodes[i].ran[1];
        out[i] = PAIRING_GOOD;
        if (broken(&nodes[i]))
            out[i] = PAIRING_FAULTY;
        if (broken(&nodes[i]) || passed(&nodes[i]) || !ran)
            continue;
        struct pair_summary company = company_of(nodes, n, groups, i);
        if (!company.excused)
            out[i] = company.accused ? PAIRING_FAULTY : PAIRING_SUSPECT;
    }
    return find_stragglers(nodes, n, out);
}
