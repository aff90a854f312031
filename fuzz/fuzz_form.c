/* Fuzz target: any text through the reader of forms. What was read must be a map whose leaves are
 * text, print as JSON and read back as the same tree. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "text/form.h"
#include "text/json.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 1 << 14 };

static void check(const struct text_node *node)
{
    size_t n = 0;
    if (node->kind != TEXT_STR && node->kind != TEXT_MAP && node->kind != TEXT_LIST)
        BUG("a leaf of kind %d", (int)node->kind);
    for (const struct text_node *c = node->first; c; c = c->next, n++)
        check(c);
    if (n != node->count)
        BUG("%zu children, counted %zu", n, node->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX)
        return 0;
    struct arena *arena = arena_create();
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX_BYTES);
    struct report report, again;
    report_init(&report, arena);
    report_init(&again, arena);
    const struct text_node *root = form_parse(arena, (const char *)data, size, &report);
    if (!root && report_ok(&report))
        BUG("nothing was read and nothing said");
    if (root) {
        check(root);
        json_print(root, 0, &out);
        if (!text_equal(root, json_parse(arena, out.data, out.len, 0, &again)))
            BUG("written as JSON it is another tree");
    }
    arena_destroy(arena);
    return 0;
}
