/* Fuzz target: any text as a workload and as a list of nodes. Every problem must print, and what
 * was read is in order and of jobs that were checked. */
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "dialect/native/native.h"
#include "sim/nodes_openb.h"
#include "sim/workload.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 1 << 14 };

static const struct dialect *const list[] = { &native_dialect };
static const struct convention *const conventions[] = { &native_convention };
static const struct dialects dialects = {
    .at = list, .n = 1, .conventions = conventions, .n_conventions = 1, .native = &native_convention
};

static void check_report(const struct report *r, const char *src, size_t size)
{
    AUTO_BUF struct buf out = BUF_INIT(1u << 22);
    for (size_t i = 0; i < r->n; i++)
        if ((size_t)r->at[i].place.offset + r->at[i].place.len > size)
            BUG("a place beyond the text");
    report_print(r, "f", src, size, false, &out);
}

static void check_workload(const struct workload *w)
{
    if (w->n_arrivals == 0)
        BUG("read, and no job in it");
    for (size_t i = 0; i < w->n_arrivals; i++) {
        const struct arrival *a = &w->arrivals[i];
        if (a->pattern >= w->n_patterns || !a->owner || !w->patterns[a->pattern].spec)
            BUG("arrival %zu is not whole", i);
        if (i && a->at_ms < w->arrivals[i - 1].at_ms)
            BUG("arrival %zu comes too early", i);
    }
}

/* A few bytes may stand for millions of jobs; that is no fault, and slow. */
static bool too_many(const char *src, size_t size)
{
    size_t digits = 0;
    for (size_t i = 0; i < size; i++) {
        digits = src[i] >= '0' && src[i] <= '9' ? digits + 1 : 0;
        if (digits > 4 && memmem(src, size, "count", 5))
            return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *src = (const char *)data;
    if (size > INPUT_MAX || too_many(src, size))
        return 0;
    struct arena *arena = arena_create();
    struct report report;
    struct workload workload = { .says = { 0 } };
    struct node_spec *nodes;
    size_t n;
    /* Readers may look at the byte behind: files end with a NUL in memory. */
    AUTO_FREE char *text = mem_new(size + 1);
    if (size)
        memcpy(text, src, size);
    report_init(&report, arena);
    if (workload_read(&dialects, text, size, &workload, &report) == 0)
        check_workload(&workload);
    else if (report_ok(&report))
        BUG("refused without a word");
    check_report(&report, text, size);
    report_init(&report, arena);
    nodes_openb_read(text, size, &nodes, &n, &report);
    check_report(&report, text, size);
    arena_destroy(arena);
    return 0;
}
