/* Fuzz target: any text through the YAML reader, one document and several, and through detection.
 * Every place must lie in the text, every problem must print, and what was read must survive being
 * written as YAML and as JSON. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "text/detect.h"
#include "text/json.h"
#include "text/yaml.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is written may be larger than what was read, most with aliases; larger trees are read but
 * not written. */
enum { INPUT_MAX = 1 << 15, WRITTEN_MAX = 1 << 20 };

static void check_place(struct place place, size_t size)
{
    if (place.line && ((size_t)place.offset + place.len > size || place.col == 0))
        BUG("place %u:%u, %u bytes at %u of %zu", place.line, place.col, place.len, place.offset,
            size);
}

static void check_places(const struct text_node *node, size_t size)
{
    check_place(node->place, size);
    check_place(node->key_place, size);
    for (const struct text_node *c = node->first; c; c = c->next)
        check_places(c, size);
}

static void again(struct arena *arena, const struct text_node *root)
{
    AUTO_BUF struct buf out = BUF_INIT(WRITTEN_MAX);
    struct report r;
    report_init(&r, arena);
    yaml_print(root, &out);
    if (out.overflow)
        return;
    if (!text_equal(root, yaml_parse(arena, out.data, out.len, &r)) || !report_ok(&r))
        BUG("written as YAML it is another tree:\n%s", buf_str(&out));
    buf_clear(&out);
    json_print(root, 0, &out);
    if (out.overflow)
        return;
    if (!text_equal(root, json_parse(arena, out.data, out.len, 0, &r)) || !report_ok(&r))
        BUG("written as JSON it is another tree:\n%s", buf_str(&out));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *src = (const char *)data;
    if (size > INPUT_MAX)
        return 0;
    AUTO_BUF struct buf out = BUF_INIT(1u << 20);
    struct arena *arena = arena_create();
    struct report r, all, either;
    struct text_node **docs;
    size_t n = 0;
    report_init(&r, arena);
    report_init(&all, arena);
    report_init(&either, arena);
    const struct text_node *root = yaml_parse(arena, src, size, &r);
    if (!root && report_ok(&r))
        BUG("nothing was read and nothing said");
    for (size_t i = 0; i < r.n; i++)
        check_place(r.at[i].place, size);
    report_print(&r, "f", src, size, false, &out);
    if (root) {
        check_places(root, size);
        again(arena, root);
    }
    if ((yaml_parse_all(arena, src, size, &docs, &n, &all) == 0) != (n > 0))
        BUG("%zu documents", n);
    text_parse(arena, src, size, &either);
    arena_destroy(arena);
    return 0;
}
