/* Fuzz target: any text through the JSON reader, lenient and strict. Every place must lie in the
 * text, every problem must print, and what was read must survive being written as JSON and as YAML.
 * A member that is picked out of the text is the one of the tree. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "text/json.h"
#include "text/yaml.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is written may be larger than what was read; keep it below the readers' limit. */
enum { INPUT_MAX = 1 << 16 };

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

static void check_report(const struct report *r, const char *src, size_t size)
{
    AUTO_BUF struct buf out = BUF_INIT(1u << 20);
    for (size_t i = 0; i < r->n; i++)
        check_place(r->at[i].place, size);
    report_print(r, "f", src, size, true, &out);
}

static void again(struct arena *arena, const struct text_node *root)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX_BYTES);
    struct report r;
    report_init(&r, arena);
    json_print(root, 2, &out);
    if (!text_equal(root, json_parse(arena, out.data, out.len, 0, &r)) || !report_ok(&r))
        BUG("written as JSON it is another tree");
    buf_clear(&out);
    yaml_print(root, &out);
    if (!text_equal(root, yaml_parse(arena, out.data, out.len, &r)) || !report_ok(&r))
        BUG("written as YAML it is another tree:\n%s", buf_str(&out));
}

static void check_pick(struct arena *arena, const char *src, size_t size,
                       const struct text_node *root, const struct report *report)
{
    const struct text_node *last = root && root->kind == TEXT_MAP ? root->last : NULL;
    const char *const names[] = { last ? last->key : "a", NULL };
    const struct text_node *map = json_pick(arena, &(struct json_span){ src, size }, names);
    if (map && root && report_ok(report) && !text_equal(text_get(map, names[0]), last))
        BUG("picked, \"%s\" is another one", names[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *src = (const char *)data;
    if (size > INPUT_MAX)
        return 0;
    struct arena *arena = arena_create();
    struct report lenient, strict;
    report_init(&lenient, arena);
    report_init(&strict, arena);
    const struct text_node *root = json_parse(arena, src, size, JSON_COMMENTS, &lenient);
    const struct text_node *same = json_parse(arena, src, size, 0, &strict);
    check_report(&lenient, src, size);
    check_report(&strict, src, size);
    if (!root && report_ok(&lenient))
        BUG("nothing was read and nothing said");
    if (same && !text_equal(root, same))
        BUG("strict and lenient differ");
    check_pick(arena, src, size, root, &lenient);
    if (root) {
        check_places(root, size);
        again(arena, root);
    }
    arena_destroy(arena);
    return 0;
}
