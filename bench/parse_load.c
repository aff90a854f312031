/* Job texts read again and again, for bench/parse: text -> checked canonical job, as the server and
 * `muster check` do it; prints one JSON document, a row for each file.
 *
 *   parse_load ROUNDS FILE...
 *
 * A round goes through all files, each for SLICE_NS; the figure of a file is its median round. */
#include "base/arena.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "dialect/dialect.h"
#include "main/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SLICE_NS = 20000000, ROUNDS_MOST = 1000 };

struct subject {
    const char *file;
    char *text;
    size_t len;
    const char *dialect;
    double *us; /* of each round */
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Of memory that was used before, as in a server. */
static bool read_once(struct arena *arena, struct subject *s)
{
    static const struct site site = { .owner = "ada", .fs_uri = "file:///srv/fs" };
    struct dialect_request request = { .text = s->text, .len = s->len, .site = &site };
    struct dialect_result result;
    struct report report;
    arena_reset(arena);
    report_init(&report, arena);
    if (dialect_read(wire_dialects(), arena, &request, &result, &report) < 0) {
        fprintf(stderr, "parse_load: %s: %s\n", s->file, report.n ? report.at[0].what : "?");
        return false;
    }
    s->dialect = result.dialect->name;
    return true;
}

static bool slice(struct arena *arena, struct subject *s, uint64_t round)
{
    uint64_t begin = now_ns(), end = begin;
    unsigned n = 0;
    for (; end - begin < SLICE_NS; n++, end = now_ns())
        if (!read_once(arena, s))
            return false;
    s->us[round] = (double)(end - begin) / 1000.0 / n;
    return true;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(struct subject *all, int n, uint64_t rounds)
{
    putchar('[');
    for (int i = 0; i < n; i++) {
        qsort(all[i].us, rounds, sizeof *all[i].us, compare);
        printf("%s{\"dialect\":\"%s\",\"bytes\":%zu,\"us\":%.3f}", i ? "," : "", all[i].dialect,
               all[i].len, all[i].us[rounds / 2]);
    }
    puts("]");
}

int main(int argc, char **argv)
{
    uint64_t rounds;
    int n = argc - 2;
    bool good = true;
    if (argc < 3 || !scan_u64(argv[1], 1, ROUNDS_MOST, &rounds)) {
        fputs("usage: parse_load ROUNDS FILE...\n", stderr);
        return 2;
    }
    struct arena *arena = arena_create();
    struct subject *all = calloc((size_t)n, sizeof *all);
    for (int i = 0; i < n && good; i++) {
        struct err err;
        all[i].file = argv[i + 2];
        all[i].us = calloc(rounds, sizeof *all[i].us);
        good = file_read(all[i].file, TEXT_MAX_BYTES, &all[i].text, &all[i].len, &err) == 0;
        if (!good)
            fprintf(stderr, "parse_load: %s\n", err.what);
    }
    for (uint64_t round = 0; round < rounds && good; round++)
        for (int i = 0; i < n && good; i++)
            good = slice(arena, &all[i], round);
    if (good)
        print(all, n, rounds);
    for (int i = 0; i < n; i++) {
        free(all[i].text);
        free(all[i].us);
    }
    free(all);
    arena_destroy(arena);
    return good ? 0 : 1;
}
