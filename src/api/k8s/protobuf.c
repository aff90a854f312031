/* Kubernetes' protobuf to a tree. An object is "k8s\0" and a runtime.Unknown: its kind, and its
 * bytes as a message of that kind. The numbers of fields are those of Kubernetes' generated.proto
 * files (meta/v1, core/v1, authorization/v1).
 *
 * Messages are read by tables that do not contain themselves: what is sent cannot nest deeper than
 * they do. Every length is held against what is left of the one around it. */
#include "api/k8s/protobuf.h"

#include "api/k8s/shape.h"
#include "base/mem.h"
#include "base/scan.h"

#include <sodium.h>
#include <string.h>

enum proto_type {
    PROTO_TEXT,     /* string; left out when empty */
    PROTO_TEXTS,    /* repeated string */
    PROTO_INT,      /* int64 of which 0 means something */
    PROTO_BOOL,     /* a bool of which false means something */
    PROTO_MESSAGE,  /* one, by the table */
    PROTO_TEXT_MAP, /* map<string, string> */
    PROTO_BYTES_MAP /* map<string, bytes> */
};
struct proto_field {
    uint32_t number; /* 0 ends the table */
    enum proto_type type;
    const char *name;
    const struct proto_field *table;
};

static const struct proto_field type_meta[] = {
    { 1, PROTO_TEXT, "apiVersion", NULL },
    { 2, PROTO_TEXT, "kind", NULL },
    { 0 },
};
static const struct proto_field object_meta[] = {
    { 1, PROTO_TEXT, "name", NULL },
    { 2, PROTO_TEXT, "generateName", NULL },
    { 3, PROTO_TEXT, "namespace", NULL },
    { 5, PROTO_TEXT, "uid", NULL },
    { 6, PROTO_TEXT, "resourceVersion", NULL },
    { 11, PROTO_TEXT_MAP, "labels", NULL },
    { 12, PROTO_TEXT_MAP, "annotations", NULL },
    { 14, PROTO_TEXTS, "finalizers", NULL },
    { 0 },
};
static const struct proto_field config_map[] = {
    { 1, PROTO_MESSAGE, "metadata", object_meta },
    { 2, PROTO_TEXT_MAP, "data", NULL },
    { 3, PROTO_BYTES_MAP, "binaryData", NULL },
    { 4, PROTO_BOOL, "immutable", NULL },
    { 0 },
};
static const struct proto_field secret[] = {
    { 1, PROTO_MESSAGE, "metadata", object_meta },
    { 2, PROTO_BYTES_MAP, "data", NULL },
    { 3, PROTO_TEXT, "type", NULL },
    { 4, PROTO_TEXT_MAP, "stringData", NULL },
    { 5, PROTO_BOOL, "immutable", NULL },
    { 0 },
};
static const struct proto_field namespace[] = {
    { 1, PROTO_MESSAGE, "metadata", object_meta },
    { 0 },
};
static const struct proto_field preconditions[] = {
    { 1, PROTO_TEXT, "uid", NULL },
    { 2, PROTO_TEXT, "resourceVersion", NULL },
    { 0 },
};
static const struct proto_field delete_options[] = {
    { 1, PROTO_INT, "gracePeriodSeconds", NULL },
    { 2, PROTO_MESSAGE, "preconditions", preconditions },
    { 3, PROTO_BOOL, "orphanDependents", NULL },
    { 4, PROTO_TEXT, "propagationPolicy", NULL },
    { 5, PROTO_TEXTS, "dryRun", NULL },
    { 0 },
};
static const struct proto_field resource_attributes[] = {
    { 1, PROTO_TEXT, "namespace", NULL }, { 2, PROTO_TEXT, "verb", NULL },
    { 3, PROTO_TEXT, "group", NULL },     { 4, PROTO_TEXT, "version", NULL },
    { 5, PROTO_TEXT, "resource", NULL },  { 6, PROTO_TEXT, "subresource", NULL },
    { 7, PROTO_TEXT, "name", NULL },      { 0 },
};
static const struct proto_field path_attributes[] = {
    { 1, PROTO_TEXT, "path", NULL },
    { 2, PROTO_TEXT, "verb", NULL },
    { 0 },
};
static const struct proto_field access_spec[] = {
    { 1, PROTO_MESSAGE, "resourceAttributes", resource_attributes },
    { 2, PROTO_MESSAGE, "nonResourceAttributes", path_attributes },
    { 0 },
};
static const struct proto_field access_review[] = {
    { 2, PROTO_MESSAGE, "spec", access_spec },
    { 0 },
};
static const struct proto_field rules_spec[] = { { 1, PROTO_TEXT, "namespace", NULL }, { 0 } };
static const struct proto_field rules_review[] = {
    { 2, PROTO_MESSAGE, "spec", rules_spec },
    { 0 },
};
static const struct proto_field self_review[] = { { 0 } };

static const struct {
    const char *kind;
    const struct proto_field *table;
} kinds[] = {
    { "ConfigMap", config_map },
    { "Secret", secret },
    { "Namespace", namespace },
    { "DeleteOptions", delete_options },
    { "SelfSubjectAccessReview", access_review },
    { "SelfSubjectRulesReview", rules_review },
    { "SelfSubjectReview", self_review },
};

/* ---- the wire ---- */

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct span {
    const unsigned char *at, *end;
};

struct wire_field { /* field as it stands there */
    uint32_t number;
    unsigned wire;
    uint64_t value;    /* WIRE_VARINT */
    struct span bytes; /* WIRE_BYTES */
};

static int broken(struct err *err, const char *what)
{
    return err_set(err, ERR_INPUT, "the protobuf %s", what);
}

static int varint(struct span *in, uint64_t *out, struct err *err)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (in->at == in->end)
            return broken(err, "ends within a number");
        unsigned char byte = *in->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return 0;
        }
    }
    return broken(err, "has a number of more than ten bytes");
}

static int bytes(struct span *in, uint64_t len, struct span *out, struct err *err)
{
    if (len > (uint64_t)(in->end - in->at))
        return broken(err, "has a length beyond its end");
    *out = (struct span){ in->at, in->at + len };
    in->at += len;
    return 0;
}

static int take(struct span *in, struct wire_field *f, struct err *err)
{
    uint64_t tag, len = 0;
    *f = (struct wire_field){ 0 };
    if (varint(in, &tag, err))
        return -1;
    if (tag >> 3 == 0 || tag >> 3 > (1u << 29) - 1)
        return broken(err, "has a field whose number is none");
    f->number = (uint32_t)(tag >> 3);
    f->wire = tag & 7;
    switch (f->wire) {
    case WIRE_VARINT: return varint(in, &f->value, err);
    case WIRE_64: return bytes(in, 8, &f->bytes, err);
    case WIRE_32: return bytes(in, 4, &f->bytes, err);
    case WIRE_BYTES: return varint(in, &len, err) ? -1 : bytes(in, len, &f->bytes, err);
    default: return broken(err, "has a field of no known type");
    }
}

/* ---- values ---- */

static const char *text_of(struct arena *a, struct span in, const char *name, struct err *err)
{
    size_t len = (size_t)(in.end - in.at);
    if (scan_utf8((const char *)in.at, len))
        return arena_strndup(a, (const char *)in.at, len);
    err_set(err, ERR_INPUT, "%s is no UTF-8", name);
    return NULL;
}

static const char *base64_of(struct arena *a, struct span in)
{
    size_t len = (size_t)(in.end - in.at);
    size_t room = sodium_base64_encoded_len(len, sodium_base64_VARIANT_ORIGINAL);
    return sodium_bin2base64(arena_alloc(a, room), room, in.at, len,
                             sodium_base64_VARIANT_ORIGINAL);
}

static struct text_node *gathered(struct arena *a, struct text_node *map,
                                  const struct proto_field *row, struct err *err)
{
    struct text_node *node = text_get(map, row->name);
    if (!node)
        node =
            row->type == PROTO_TEXTS ? text_list(a, map, row->name) : text_map(a, map, row->name);
    if (node->count < KUBE_MEMBERS_MAX)
        return node;
    err_set(err, ERR_INPUT, "%s has more than %u members", row->name, KUBE_MEMBERS_MAX);
    return NULL;
}

static int put_entry(struct arena *a, struct text_node *map, const struct proto_field *row,
                     struct span in, struct err *err)
{
    struct text_node *node = gathered(a, map, row, err);
    struct span parts[2] = { { in.at, in.at }, { in.at, in.at } };
    struct wire_field f;
    while (node && in.at < in.end) {
        if (take(&in, &f, err))
            return -1;
        if (f.number > 2)
            continue;
        if (f.wire != WIRE_BYTES)
            return err_set(err, ERR_INPUT, "%s is no map of texts", row->name);
        parts[f.number - 1] = f.bytes;
    }
    const char *key = node ? text_of(a, parts[0], row->name, err) : NULL;
    const char *value = !key                           ? NULL
                        : row->type == PROTO_BYTES_MAP ? base64_of(a, parts[1])
                                                       : text_of(a, parts[1], row->name, err);
    if (!value)
        return -1;
    if (text_get(node, key))
        return err_set(err, ERR_INPUT, "%s has \"%.100s\" twice", row->name, key);
    text_str(a, node, key, value);
    return 0;
}

static int put_text(struct arena *a, struct text_node *map, const struct proto_field *row,
                    struct span in, struct err *err)
{
    bool many = row->type == PROTO_TEXTS;
    struct text_node *parent = many ? gathered(a, map, row, err) : map;
    const char *text = parent ? text_of(a, in, row->name, err) : NULL;
    if (text && (many || *text))
        text_str(a, parent, many ? NULL : row->name, text);
    return text ? 0 : -1;
}

static int message(struct arena *, struct span, const struct proto_field *, struct text_node *map,
                   struct err *);

static int put(struct arena *a, struct text_node *map, const struct proto_field *row,
               const struct wire_field *f, struct err *err)
{
    bool number = row->type == PROTO_INT || row->type == PROTO_BOOL;
    bool many =
        row->type == PROTO_TEXTS || row->type == PROTO_TEXT_MAP || row->type == PROTO_BYTES_MAP;
    if (f->wire != (number ? WIRE_VARINT : WIRE_BYTES))
        return err_set(err, ERR_INPUT, "%s is of another type", row->name);
    if (!many && text_get(map, row->name))
        return err_set(err, ERR_INPUT, "%s is there twice", row->name);
    switch (row->type) {
    case PROTO_TEXT:
    case PROTO_TEXTS: return put_text(a, map, row, f->bytes, err);
    case PROTO_INT: text_int(a, map, row->name, (int64_t)f->value); return 0;
    case PROTO_BOOL: text_bool(a, map, row->name, f->value != 0); return 0;
    case PROTO_MESSAGE: return message(a, f->bytes, row->table, text_map(a, map, row->name), err);
    default: return put_entry(a, map, row, f->bytes, err);
    }
}

static int message(struct arena *a, struct span in, const struct proto_field *table,
                   struct text_node *map, struct err *err)
{
    struct wire_field f;
    while (in.at < in.end) {
        const struct proto_field *row = table;
        if (take(&in, &f, err))
            return -1;
        while (row->number && row->number != f.number)
            row++;
        if (row->number && put(a, map, row, &f, err))
            return -1;
    }
    return 0;
}

/* ---- the object ---- */

enum { UNKNOWN_TYPE = 1, UNKNOWN_RAW = 2, UNKNOWN_ENCODING = 3 };

/* The kind goes into object, what is of that kind into raw. */
static int envelope(struct arena *a, struct span in, struct text_node *object, struct span *raw,
                    struct err *err)
{
    struct wire_field f;
    while (in.at < in.end) {
        if (take(&in, &f, err))
            return -1;
        if (f.number == UNKNOWN_TYPE && f.wire == WIRE_BYTES &&
            message(a, f.bytes, type_meta, object, err))
            return -1;
        if (f.number == UNKNOWN_RAW && f.wire == WIRE_BYTES)
            *raw = f.bytes;
        if (f.number == UNKNOWN_ENCODING && f.bytes.at != f.bytes.end)
            return broken(err, "is compressed");
    }
    return 0;
}

struct text_node *kube_protobuf(struct arena *a, const char *data, size_t len, struct err *err)
{
    static const char magic[] = "k8s"; /* with its NUL */
    struct span in = { (const unsigned char *)data, (const unsigned char *)data + len }, raw;
    struct text_node *object = text_map(a, NULL, NULL);
    if (len < sizeof magic || memcmp(data, magic, sizeof magic) != 0) {
        err_set(err, ERR_INPUT, "the body does not begin as Kubernetes' protobuf does");
        return NULL;
    }
    in.at += sizeof magic;
    raw = (struct span){ in.at, in.at };
    if (envelope(a, in, object, &raw, err))
        return NULL;
    const struct text_node *kind = text_get(object, "kind");
    for (size_t i = 0; kind && i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].kind, kind->str) == 0)
            return message(a, raw, kinds[i].table, object, err) ? NULL : object;
    err_set(err, ERR_CANNOT, "%s of a %.60s is not supported; send application/json", KUBE_PROTOBUF,
            kind ? kind->str : "object without a kind");
    return NULL;
}
