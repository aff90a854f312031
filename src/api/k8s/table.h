/* What kubectl prints: the server's columns, cells and ages. Pure. */
#ifndef API_K8S_TABLE_H
#define API_K8S_TABLE_H

#include "text/tree.h"

struct table_column {
    const char *name, *type, *format; /* "Name" "string" "name" */
    bool wide;                        /* only with -o wide */
};

/* One cell of each column at the end of the list, from a whole object. */
typedef void table_cells(struct arena *, const struct text_node *object, uint64_t now_ms,
                         struct text_node *cells);
extern const struct table_column table_job[], table_pod[], table_event[], table_namespace[],
    table_node[], table_group[], table_data[], table_claim[], table_service[], table_secret[];
table_cells table_job_cells, table_pod_cells, table_event_cells, table_namespace_cells,
    table_node_cells, table_group_cells, table_data_cells, table_claim_cells, table_service_cells,
    table_secret_cells;

/* {"kind": "Table", ...} up to and without its rows; definitions: with the columns. */
struct text_node *kube_table(struct arena *, const struct table_column *, bool definitions,
                             const char *version);
/* Whole: the object itself in the row; else its metadata, or (none) nothing. */
enum table_include { TABLE_METADATA, TABLE_OBJECT, TABLE_NONE };
struct text_node *kube_row(struct arena *, const struct text_node *object, table_cells *,
                           uint64_t now_ms, enum table_include);

/* As kubectl shows durations: "68s" "2m52s" "17m" "5h3m" "2d5h" "9d". */
const char *kube_age(struct arena *, uint64_t ms);
/* "2026-01-02T03:04:05Z" in milliseconds since 1970; 0: it is none. */
uint64_t kube_time(const char *text);

#endif
