/* Columns and cells of each kind, as the real server's printers and the definitions of custom
 * resources have them. Everything is read from the object that is shown. */
#include "api/k8s/table.h"

#include "base/buf.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define END                                                                                        \
    {                                                                                              \
        .name = NULL                                                                               \
    }
#define NAME                                                                                       \
    {                                                                                              \
        "Name", "string", "name", false                                                            \
    }
#define AGE                                                                                        \
    {                                                                                              \
        "Age", "string", "", false                                                                 \
    }
#define TEXT(title)                                                                                \
    {                                                                                              \
        title, "string", "", false                                                                 \
    }
#define MORE(title)                                                                                \
    {                                                                                              \
        title, "string", "", true                                                                  \
    }

const struct table_column table_job[] = { NAME, TEXT("Phase"), { "Age", "date", "", false }, END };
const struct table_column table_pod[] = {
    NAME,       TEXT("Ready"), TEXT("Status"),         TEXT("Restarts"),        AGE,
    MORE("IP"), MORE("Node"),  MORE("Nominated Node"), MORE("Readiness Gates"), END
};
const struct table_column table_event[] = { TEXT("Last Seen"),
                                            TEXT("Type"),
                                            TEXT("Reason"),
                                            TEXT("Object"),
                                            MORE("Subobject"),
                                            MORE("Source"),
                                            TEXT("Message"),
                                            MORE("First Seen"),
                                            MORE("Count"),
                                            { "Name", "string", "name", true },
                                            END };
const struct table_column table_namespace[] = { NAME, TEXT("Status"), AGE, END };
const struct table_column table_node[] = { NAME, TEXT("Status"),  TEXT("Roles"),
                                           AGE,  TEXT("Version"), MORE("Internal-IP"),
                                           END };
const struct table_column table_group[] = { NAME, TEXT("Min Member"), AGE, END };
const struct table_column table_data[] = { NAME, TEXT("Data"), AGE, END };
const struct table_column table_secret[] = { NAME, TEXT("Type"), TEXT("Data"), AGE, END };
const struct table_column table_claim[] = { NAME, TEXT("Status"), TEXT("Volume"), AGE, END };
const struct table_column table_service[] = { NAME, TEXT("Type"), AGE, END };

/* ---- ages ---- */

uint64_t kube_time(const char *text)
{
    struct tm tm = { .tm_isdst = 0 };
    const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
    if (!end || (*end != 'Z' && *end != '.'))
        return 0;
    time_t at = timegm(&tm);
    return at > 0 ? (uint64_t)at * 1000 : 0;
}

const char *kube_age(struct arena *arena, uint64_t ms)
{
    unsigned long long s = ms / 1000, m = s / 60, h = m / 60, d = h / 24;
    if (s < 120)
        return arena_printf(arena, "%llus", s);
    if (m < 10)
        return s % 60 ? arena_printf(arena, "%llum%llus", m, s % 60)
                      : arena_printf(arena, "%llum", m);
    if (h < 3)
        return arena_printf(arena, "%llum", m);
    if (h < 8)
        return m % 60 ? arena_printf(arena, "%lluh%llum", h, m % 60)
                      : arena_printf(arena, "%lluh", h);
    if (h < 48)
        return arena_printf(arena, "%lluh", h);
    if (d < 8)
        return h % 24 ? arena_printf(arena, "%llud%lluh", d, h % 24)
                      : arena_printf(arena, "%llud", d);
    if (d < 365 * 2)
        return arena_printf(arena, "%llud", d);
    if (d < 365 * 8 && d % 365)
        return arena_printf(arena, "%lluy%llud", d / 365, d % 365);
    return arena_printf(arena, "%lluy", d / 365);
}

/* ---- what is in an object ---- */

static const struct text_node *in(const struct text_node *node, const char *a, const char *b)
{
    node = text_get(node, a);
    return b && node ? text_get(node, b) : node;
}

static const char *text_in(const struct text_node *node, const char *a, const char *b)
{
    const struct text_node *at = node ? in(node, a, b) : NULL;
    return at && at->kind != TEXT_MAP && at->kind != TEXT_LIST && at->str ? at->str : "";
}

static const char *or_none(const char *text)
{
    return *text ? text : "<none>";
}

static const char *since(struct arena *arena, const char *time, uint64_t now_ms)
{
    uint64_t at = kube_time(time);
    if (!at)
        return "<unknown>";
    return kube_age(arena, now_ms > at ? now_ms - at : 0);
}

static void put(struct arena *arena, struct text_node *cells, const char *text)
{
    text_str(arena, cells, NULL, text);
}

static void put_name(struct arena *arena, const struct text_node *o, struct text_node *cells)
{
    put(arena, cells, text_in(o, "metadata", "name"));
}

static void put_age(struct arena *arena, const struct text_node *o, uint64_t now,
                    struct text_node *cells)
{
    put(arena, cells, since(arena, text_in(o, "metadata", "creationTimestamp"), now));
}

static const char *number(struct arena *arena, const struct text_node *map)
{
    return arena_printf(arena, "%zu", map && map->kind == TEXT_MAP ? map->count : 0);
}

/* ---- kinds ---- */

void table_job_cells(struct arena *arena, const struct text_node *o, uint64_t now,
                     struct text_node *cells)
{
    put_name(arena, o, cells);
    put(arena, cells, text_in(o, "status", "phase"));
    put_age(arena, o, now, cells);
}

/* As the real server's printPod: what its container waits for or why it ended comes before the
 * phase. */
static const char *pod_status(const struct text_node *o, const struct text_node *container)
{
    const struct text_node *state = container ? text_get(container, "state") : NULL;
    const char *waiting = text_in(state, "waiting", "reason");
    const char *ended = text_in(state, "terminated", "reason");
    if (*text_in(o, "metadata", "deletionTimestamp"))
        return "Terminating";
    if (*waiting)
        return waiting;
    return *ended ? ended : text_in(o, "status", "phase");
}

void table_pod_cells(struct arena *arena, const struct text_node *o, uint64_t now,
                     struct text_node *cells)
{
    const struct text_node *list = in(o, "status", "containerStatuses");
    const struct text_node *container = list ? list->first : NULL;
    const struct text_node *ready = container ? text_get(container, "ready") : NULL;
    const char *restarts = text_in(container, "restartCount", NULL);
    put_name(arena, o, cells);
    put(arena, cells, ready && ready->boolean ? "1/1" : "0/1");
    put(arena, cells, pod_status(o, container));
    put(arena, cells, *restarts ? restarts : "0");
    put_age(arena, o, now, cells);
    put(arena, cells, or_none(text_in(o, "status", "podIP")));
    put(arena, cells, or_none(text_in(o, "spec", "nodeName")));
    put(arena, cells, "<none>");
    put(arena, cells, "<none>");
}

static const char *lower(struct arena *arena, const char *text)
{
    char *out = arena_strdup(arena, text);
    for (char *c = out; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    return out;
}

void table_event_cells(struct arena *arena, const struct text_node *o, uint64_t now,
                       struct text_node *cells)
{
    const char *last = since(arena, text_in(o, "lastTimestamp", NULL), now);
    const char *first = since(arena, text_in(o, "firstTimestamp", NULL), now);
    const char *count = text_in(o, "count", NULL);
    put(arena, cells,
        strcmp(count, "1") == 0 ? last
                                : arena_printf(arena, "%s (x%s over %s)", last, count, first));
    put(arena, cells, text_in(o, "type", NULL));
    put(arena, cells, text_in(o, "reason", NULL));
    put(arena, cells,
        arena_printf(arena, "%s/%s", lower(arena, text_in(o, "involvedObject", "kind")),
                     text_in(o, "involvedObject", "name")));
    put(arena, cells, "");
    put(arena, cells, text_in(o, "source", "component"));
    put(arena, cells, text_in(o, "message", NULL));
    put(arena, cells, first);
    put(arena, cells, count);
    put_name(arena, o, cells);
}

void table_namespace_cells(struct arena *arena, const struct text_node *o, uint64_t now,
                           struct text_node *cells)
{
    table_job_cells(arena, o, now, cells);
}

void table_node_cells(struct arena *arena, const struct text_node *o, uint64_t now,
                      struct text_node *cells)
{
    const struct text_node *conditions = in(o, "status", "conditions");
    const struct text_node *held = in(o, "spec", "unschedulable");
    bool ready = conditions && strcmp(text_in(conditions->first, "status", NULL), "True") == 0;
    const struct text_node *addresses = in(o, "status", "addresses");
    put_name(arena, o, cells);
    put(arena, cells,
        arena_printf(arena, "%s%s", ready ? "Ready" : "NotReady",
                     held && held->boolean ? ",SchedulingDisabled" : ""));
    put(arena, cells, "<none>");
    put_age(arena, o, now, cells);
    put(arena, cells, text_in(in(o, "status", "nodeInfo"), "kubeletVersion", NULL));
    put(arena, cells, or_none(addresses ? text_in(addresses->first, "address", NULL) : ""));
}

void table_group_cells(struct arena *arena, const struct text_node *o, uint64_t now,
                       struct text_node *cells)
{
    put_name(arena, o, cells);
    put(arena, cells, text_in(o, "spec", "minMember"));
    put_age(arena, o, now, cells);
}

void table_data_cells(struct arena *arena, const struct text_node *o, uint64_t now,
                      struct text_node *cells)
{
    put_name(arena, o, cells);
    put(arena, cells, number(arena, text_get(o, "data")));
    put_age(arena, o, now, cells);
}

void table_secret_cells(struct arena *arena, const struct text_node *o, uint64_t now,
                        struct text_node *cells)
{
    const char *type = text_in(o, "type", NULL);
    put_name(arena, o, cells);
    put(arena, cells, *type ? type : "Opaque");
    put(arena, cells, number(arena, text_get(o, "data")));
    put_age(arena, o, now, cells);
}

void table_claim_cells(struct arena *arena, const struct text_node *o, uint64_t now,
                       struct text_node *cells)
{
    put_name(arena, o, cells);
    put(arena, cells, text_in(o, "status", "phase"));
    put(arena, cells, text_in(o, "spec", "volumeName"));
    put_age(arena, o, now, cells);
}

void table_service_cells(struct arena *arena, const struct text_node *o, uint64_t now,
                         struct text_node *cells)
{
    put_name(arena, o, cells);
    put(arena, cells, text_in(o, "spec", "type"));
    put_age(arena, o, now, cells);
}

/* ---- the table ---- */

struct text_node *kube_table(struct arena *arena, const struct table_column *columns,
                             bool definitions, const char *version)
{
    struct text_node *table = text_map(arena, NULL, NULL);
    text_str(arena, table, "kind", "Table");
    text_str(arena, table, "apiVersion", "meta.k8s.io/v1");
    text_str(arena, text_map(arena, table, "metadata"), "resourceVersion", version);
    struct text_node *list = text_list(arena, table, "columnDefinitions");
    for (const struct table_column *c = columns; definitions && c->name; c++) {
        struct text_node *one = text_map(arena, list, NULL);
        text_str(arena, one, "name", c->name);
        text_str(arena, one, "type", c->type);
        text_str(arena, one, "format", c->format);
        text_str(arena, one, "description", "");
        text_int(arena, one, "priority", c->wide);
    }
    return table;
}

struct text_node *kube_row(struct arena *arena, const struct text_node *object, table_cells *fill,
                           uint64_t now_ms, enum table_include include)
{
    struct text_node *row = text_map(arena, NULL, NULL);
    fill(arena, object, now_ms, text_list(arena, row, "cells"));
    if (include == TABLE_OBJECT) {
        text_share(arena, row, "object", object);
    } else if (include == TABLE_METADATA) {
        struct text_node *part = text_map(arena, row, "object");
        text_str(arena, part, "kind", "PartialObjectMetadata");
        text_str(arena, part, "apiVersion", "meta.k8s.io/v1");
        const struct text_node *metadata = text_get(object, "metadata");
        if (metadata)
            text_share(arena, part, "metadata", metadata);
    }
    return row;
}
