/* Rows of openb's node list to declared nodes. A name that comes twice would be one node, so it is
 * refused. */
#include "sim/nodes_openb.h"

#include "base/map.h"
#include "base/vec.h"
#include "sim/sheet.h"

#include <string.h>

bool nodes_openb_detect(const char *text, size_t len)
{
    const char *newline = memchr(text, '\n', len);
    size_t n = newline ? (size_t)(newline - text) : len;
    return memmem(text, n, "cpu_milli", sizeof "cpu_milli" - 1) && memchr(text, ',', n);
}

struct columns {
    int name, cpu, memory, gpus, model;
};

static bool find(struct sheet *s, struct columns *c)
{
    *c = (struct columns){ .name = sheet_column(s, "sn"),
                           .cpu = sheet_column(s, "cpu_milli"),
                           .memory = sheet_column(s, "memory_mib"),
                           .gpus = sheet_column(s, "gpu"),
                           .model = sheet_column(s, "model") };
    static const char *const names[] = { "sn", "cpu_milli", "memory_mib", "gpu" };
    const int at[] = { c->name, c->cpu, c->memory, c->gpus };
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        if (at[i] < 0)
            sheet_lacks(s, names[i], "a list of nodes has sn,cpu_milli,memory_mib,gpu,model");
    return report_ok(s->report);
}

static bool read_row(struct sheet *s, const struct columns *c, struct string_map *names,
                     struct node_spec *node)
{
    char name[SHEET_FIELD], model[SHEET_FIELD];
    uint64_t mib = 0, gpus = 0;
    struct arena *arena = s->report->arena;
    if (sheet_u64(s, c->cpu, "thousandths of a core: a whole number", &node->cpu_milli) |
        sheet_u64(s, c->memory, "MiB: a whole number", &mib) |
        sheet_u64(s, c->gpus, "GPUs: a whole number", &gpus))
        return false;
    if (gpus > 1024 || mib > UINT64_MAX >> 21) {
        sheet_bad(s, gpus > 1024 ? c->gpus : c->memory, "no machine has so much");
        return false;
    }
    if (!*sheet_text(s, c->name, name) || string_map_get(names, name)) {
        sheet_bad(s, c->name, "a name of its own");
        return false;
    }
    string_map_set(names, name, node);
    node->name = arena_strdup(arena, name);
    node->address = "127.0.0.1";
    node->host = node->name;
    node->memory = mib << 20;
    node->gpus = (uint32_t)gpus;
    node->gpu_type = arena_strdup(arena, sheet_text(s, c->model, model));
    node->declared = true;
    return true;
}

int nodes_openb_read(const char *text, size_t len, struct node_spec **nodes, size_t *n,
                     struct report *report)
{
    struct sheet s = { .text = text, .len = len, .separator = ',', .report = report };
    struct columns c;
    VEC(struct node_spec) all = { 0 };
    struct string_map *names = string_map_create();
    sheet_begin(&s);
    if (find(&s, &c)) {
        while (sheet_next(&s)) {
            struct node_spec node = { .name = NULL };
            if (read_row(&s, &c, names, &node))
                vec_push(&all, node);
        }
        if (all.n == 0 && report_ok(report))
            report_error(report, (struct place){ 0 }, "", "there is no node in it");
    }
    *n = all.n;
    *nodes = ARENA_ARRAY(report->arena, all.n, struct node_spec);
    if (all.n)
        memcpy(*nodes, all.at, all.n * sizeof **nodes);
    string_map_destroy(names);
    vec_fini(&all);
    return report_ok(report) ? 0 : -1;
}
