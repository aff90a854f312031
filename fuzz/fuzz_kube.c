/* Fuzz target: a body as the façade of Kubernetes takes it, an object or a patch of one, as JSON or
 * in protobuf. What is not refused for its shape becomes a row of each kind's table and is patched
 * with itself; what comes out prints and reads back. */
#include "api/k8s/patch.h"
#include "api/k8s/protobuf.h"
#include "api/k8s/shape.h"
#include "api/k8s/table.h"
#include "base/buf.h"
#include "text/json.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 1 << 16, NOW_MS = 1 << 30 };

static void reads_back(struct arena *arena, const struct text_node *tree)
{
    AUTO_BUF struct buf out = BUF_INIT((size_t)64 << 20);
    struct report report;
    report_init(&report, arena);
    json_print(tree, 0, &out);
    if (out.len < TEXT_MAX_BYTES && !json_parse(arena, out.data, out.len, 0, &report))
        BUG("a row does not read back");
}

static const struct text_node *read(struct arena *arena, const char *data, size_t size)
{
    struct report report;
    struct err err;
    if (size > 3 && memcmp(data, "k8s", 4) == 0)
        return kube_protobuf(arena, data, size, &err);
    report_init(&report, arena);
    const struct text_node *body = json_parse(arena, data, size, 0, &report);
    return report_ok(&report) ? body : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static table_cells *const kinds[] = { table_job_cells,     table_pod_cells,
                                          table_event_cells,   table_node_cells,
                                          table_data_cells,    table_group_cells,
                                          table_claim_cells,   table_secret_cells,
                                          table_service_cells, table_namespace_cells };
    if (size > INPUT_MAX)
        return 0;
    struct arena *arena = arena_create();
    const struct text_node *body = read(arena, (const char *)data, size);
    if (body && !kube_crowded(body) && !kube_unreadable(body, size % 2)) {
        struct kube_fault fault;
        if (text_get(body, "metadata"))
            kube_bad_label(arena, text_get(body, "metadata"), NULL, &fault);
        for (size_t i = 0; body->kind == TEXT_MAP && i < sizeof kinds / sizeof kinds[0]; i++)
            reads_back(arena, kube_row(arena, body, kinds[i], NOW_MS, (enum table_include)(i % 3)));
        const struct text_node *merged = kube_merge(arena, body, kube_plain_patch(arena, body));
        reads_back(arena, merged);
    }
    arena_destroy(arena);
    return 0;
}
