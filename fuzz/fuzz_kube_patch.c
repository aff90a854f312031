/* Fuzz target: two documents, the second one a patch of the first, by all three rules; and a text
 * as a selector. What comes out must be a tree that prints and reads back; merging a patch twice
 * changes nothing more. */
#include "api/k8s/patch.h"
#include "api/k8s/selector.h"
#include "base/buf.h"
#include "text/json.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 1 << 14 };

static void again(struct arena *arena, const struct text_node *tree)
{
    AUTO_BUF struct buf out = BUF_INIT((size_t)64 << 20);
    struct report report;
    if (!tree)
        return;
    report_init(&report, arena);
    json_print(tree, 0, &out);
    const struct text_node *same = json_parse(arena, out.data, out.len, 0, &report);
    if (out.len < TEXT_MAX_BYTES && same && !text_equal(same, tree))
        BUG("a patched object reads back as another");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *cut = memchr(data, '\n', size);
    struct report report;
    struct selector selector;
    struct err err;
    if (size > INPUT_MAX || !cut)
        return 0;
    struct arena *arena = arena_create();
    report_init(&report, arena);
    const char *line = arena_strndup(arena, text, (size_t)(cut - text));
    const struct text_node *target = json_parse(arena, text, (size_t)(cut - text), 0, &report);
    const struct text_node *patch =
        json_parse(arena, cut + 1, size - (size_t)(cut + 1 - text), 0, &report);
    if (target && patch) {
        const struct text_node *merged = kube_merge(arena, target, patch);
        again(arena, merged);
        again(arena, kube_merge(arena, target, kube_plain_patch(arena, patch)));
        again(arena, kube_json_patch(arena, target, patch, &err));
        if (!text_equal(merged, kube_merge(arena, merged, patch)))
            BUG("a merge patch is not idempotent");
    }
    if (target && selector_parse(arena, line, line, &selector, &err) == 0)
        selector_fits(&selector, target);
    arena_destroy(arena);
    return 0;
}
