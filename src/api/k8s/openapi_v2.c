/* OpenAPI 2 in protobuf: kubectl takes it in no other form. Only what it looks for is written: the
 * paths with their query parameters, the definitions, the kind of each. The numbers are those of
 * gnostic's OpenAPIv2.proto. */
#include "api/k8s/openapi_v2.h"

#include "base/buf.h"
#include "text/json.h"

#include <string.h>

#define PART_MAX ((size_t)4 << 20)

typedef void fill(struct buf *, const struct text_node *);

static void put_varint(struct buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        buf_putc(out, (char)(value | 0x80));
    buf_putc(out, (char)value);
}

static void put_bytes(struct buf *out, unsigned number, const char *data, size_t len)
{
    put_varint(out, number << 3 | 2);
    put_varint(out, len);
    buf_add(out, data, len);
}

static void put_text(struct buf *out, unsigned number, const char *text)
{
    put_bytes(out, number, text, strlen(text));
}

static void put_text_of(struct buf *out, unsigned number, const struct text_node *map,
                        const char *key)
{
    const struct text_node *node = text_get(map, key);
    if (node)
        put_text(out, number, node->str);
}

static void put_message(struct buf *out, unsigned number, fill *with, const struct text_node *node)
{
    AUTO_BUF struct buf part = BUF_INIT(PART_MAX);
    with(&part, node);
    put_bytes(out, number, part.data ? part.data : "", part.len);
}

/* {1: the member's key, 2: the member} of each. */
static void put_named(struct buf *out, unsigned number, fill *with, const struct text_node *map)
{
    for (const struct text_node *one = map ? map->first : NULL; one; one = one->next) {
        AUTO_BUF struct buf part = BUF_INIT(PART_MAX);
        put_text(&part, 1, one->key);
        put_message(&part, 2, with, one);
        put_bytes(out, number, part.data, part.len);
    }
}

/* ---- extensions: their values are YAML, and JSON is ---- */

static void any(struct buf *out, const struct text_node *node)
{
    AUTO_BUF struct buf text = BUF_INIT(PART_MAX);
    json_print(node, 0, &text);
    put_bytes(out, 2, text.data, text.len);
}

static void put_extensions(struct buf *out, unsigned number, const struct text_node *map)
{
    for (const struct text_node *one = map->first; one; one = one->next) {
        if (strncmp(one->key, "x-", 2) != 0)
            continue;
        AUTO_BUF struct buf part = BUF_INIT(PART_MAX);
        put_text(&part, 1, one->key);
        put_message(&part, 2, any, one);
        put_bytes(out, number, part.data, part.len);
    }
}

/* ---- schemas ---- */

static void schema(struct buf *out, const struct text_node *node);

static void texts(struct buf *out, const struct text_node *node)
{
    put_text(out, 1, node->str);
}

static void one_schema(struct buf *out, const struct text_node *node)
{
    put_message(out, 1, schema, node);
}

static void schemas(struct buf *out, const struct text_node *map)
{
    put_named(out, 1, schema, map);
}

static void schema(struct buf *out, const struct text_node *node)
{
    const struct text_node *required = text_get(node, "required");
    put_text_of(out, 4, node, "description");
    for (const struct text_node *one = required ? required->first : NULL; one; one = one->next)
        put_text(out, 19, one->str);
    static const struct {
        const char *key;
        unsigned number;
        fill *with;
    } parts[] = { { "additionalProperties", 21, one_schema },
                  { "type", 22, texts },
                  { "items", 23, one_schema },
                  { "properties", 25, schemas } };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const struct text_node *part = text_get(node, parts[i].key);
        if (part)
            put_message(out, parts[i].number, parts[i].with, part);
    }
    put_extensions(out, 31, node);
}

/* ---- paths ---- */

static void query(struct buf *out, const struct text_node *node)
{
    put_text_of(out, 2, node, "in");
    put_text_of(out, 4, node, "name");
    put_text_of(out, 6, text_get(node, "schema"), "type");
}

static void other_than_body(struct buf *out, const struct text_node *node)
{
    put_message(out, 3, query, node);
}

static void parameter(struct buf *out, const struct text_node *node)
{
    put_message(out, 2, other_than_body, node);
}

static void parameter_item(struct buf *out, const struct text_node *node)
{
    put_message(out, 1, parameter, node);
}

static void operation(struct buf *out, const struct text_node *node)
{
    const struct text_node *list = text_get(node, "parameters");
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        put_message(out, 8, parameter_item, one);
    put_extensions(out, 13, node);
}

static void path_item(struct buf *out, const struct text_node *node)
{
    static const struct {
        const char *method;
        unsigned number;
    } methods[] = { { "get", 2 }, { "put", 3 }, { "post", 4 }, { "delete", 5 }, { "patch", 8 } };
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        const struct text_node *one = text_get(node, methods[i].method);
        if (one)
            put_message(out, methods[i].number, operation, one);
    }
}

static void paths(struct buf *out, const struct text_node *map)
{
    put_named(out, 2, path_item, map);
}

/* ---- the document ---- */

static void info(struct buf *out, const struct text_node *node)
{
    put_text_of(out, 1, node, "title");
    put_text_of(out, 2, node, "version");
}

void kube_openapi_v2(const struct text_node *tree, struct buf *out)
{
    const struct text_node *components = text_get(tree, "components");
    put_text(out, 1, "2.0");
    put_message(out, 2, info, text_get(tree, "info"));
    put_message(out, 8, paths, text_get(tree, "paths"));
    put_message(out, 9, schemas, text_get(components, "schemas"));
}
