/* Signed requests checked again and again, for bench/facades: from the request to "yes", as the
 * façade of DLC does it; prints one JSON document, the median of the requests and the slowest.
 *
 *   sign_load FILE...
 *
 * Files are the vectors of shared/cases/dlc-wire; those that are to be refused are left out. The
 * figure of a file is its median slice. */
#include "api/dlc/sign.h"

#include "base/file.h"
#include "base/mem.h"
#include "text/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLICE_NS = 2000000, SLICES = 15, FILES_MAX = 1000, TEXT_MAX = 1 << 20 };

struct subject {
    struct signed_request request;
    const char *secret;
    enum sign_scheme scheme;
    double us;
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const char *member(const struct text_node *map, const char *key)
{
    const struct text_node *node = map ? text_get(map, key) : NULL;
    return node && node->kind == TEXT_STR ? node->str : "";
}

static struct pairs read_pairs(struct arena *a, const struct text_node *list)
{
    struct pairs out = { 0 };
    out.at = list ? ARENA_ARRAY(a, list->count, struct pair) : NULL;
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        out.at[out.n++] = (struct pair){ one->first->str, one->last->str };
    return out;
}

/* false: not one to be accepted. */
static bool read_file(struct arena *a, const char *path, struct subject *s)
{
    AUTO_FREE char *text = NULL;
    struct report report;
    struct err err;
    size_t len;
    report_init(&report, a);
    if (file_read(path, TEXT_MAX, &text, &len, &err) < 0)
        return false;
    const struct text_node *root = json_parse(a, text, len, 0, &report);
    if (strcmp(member(root, "expect"), "accept") != 0)
        return false;
    *s = (struct subject){ .secret = member(root, "access_key_secret") };
    s->request.method = member(root, "method");
    s->request.path = member(root, "signed_path");
    s->request.body = member(root, "body");
    s->request.body_len = strlen(s->request.body);
    s->request.query = read_pairs(a, text_get(root, "query"));
    s->request.headers = read_pairs(a, text_get(root, "headers"));
    return true;
}

static bool check(struct arena *a, struct subject *s)
{
    struct sign_claim claim;
    const char *why;
    arena_reset(a);
    if (sign_read(a, &s->request, &claim, &why) != SIGN_OK ||
        sign_verify(a, &s->request, &claim, s->secret, &why) != SIGN_OK)
        return false;
    s->scheme = claim.scheme;
    return true;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool measure(struct arena *a, struct subject *s)
{
    double us[SLICES];
    for (size_t i = 0; i < SLICES; i++) {
        uint64_t begin = now_ns(), end = begin;
        unsigned n = 0;
        for (; end - begin < SLICE_NS; n++, end = now_ns())
            if (!check(a, s))
                return false;
        us[i] = (double)(end - begin) / 1000.0 / n;
    }
    qsort(us, SLICES, sizeof *us, by_size);
    s->us = us[SLICES / 2];
    return true;
}

static void print(const struct subject *all, size_t n, enum sign_scheme scheme, const char *name)
{
    double us[FILES_MAX] = { 0 };
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (all[i].scheme == scheme)
            us[count++] = all[i].us;
    qsort(us, count, sizeof *us, by_size);
    printf("\"%s\":{\"requests\":%zu,\"median_us\":%.3f,\"max_us\":%.3f}", name, count,
           us[count / 2], us[count ? count - 1 : 0]);
}

int main(int argc, char **argv)
{
    static struct subject all[FILES_MAX];
    struct arena *keep = arena_create(), *scratch = arena_create();
    size_t n = 0;
    for (int i = 1; i < argc && n < FILES_MAX; i++)
        n += read_file(keep, argv[i], &all[n]);
    for (size_t i = 0; i < n; i++)
        if (!measure(scratch, &all[i])) {
            fprintf(stderr, "sign_load: a request of %s %s is refused\n", all[i].request.method,
                    all[i].request.path);
            return 1;
        }
    putchar('{');
    print(all, n, SIGN_ROA, "acs");
    putchar(',');
    print(all, n, SIGN_ACS3, "acs3");
    puts("}");
    arena_destroy(keep);
    arena_destroy(scratch);
    return 0;
}
