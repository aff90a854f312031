/* Reads heads of pages, cells and records. Each place that a page names is compared with its size
 * before anything is read there. */
#include "store/btree.h"

#include <string.h>

#define VARINT_MOST 9u
#define CELL_LEAST  3u /* bytes of a record's cell: its length, its number or head, a field */

uint32_t btree_number(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t short_number(const unsigned char *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

/* Bytes that it takes; 0: it goes beyond the end. */
static size_t get_varint(const unsigned char *at, size_t len, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < len && i < VARINT_MOST; i++) {
        if (i == VARINT_MOST - 1) {
            *out = value << 8 | at[i];
            return VARINT_MOST;
        }
        value = value << 7 | (at[i] & 0x7f);
        if (!(at[i] & 0x80)) {
            *out = value;
            return i + 1;
        }
    }
    return 0;
}

static uint32_t cell_place(const struct btree_page *p, uint32_t i)
{
    return short_number(p->at + p->head + 2 * (size_t)i);
}

static bool cells_fit(const struct btree_page *p)
{
    uint32_t first = p->head + 2 * p->cells, start = short_number(p->at + 5);
    start = start ? start : BTREE_PAGE_MOST;
    if (first > start || start > p->size || short_number(p->at + 1) >= p->size)
        return false;
    for (uint32_t i = 0; i < p->cells; i++)
        if (cell_place(p, i) < start || cell_place(p, i) + CELL_LEAST > p->size)
            return false;
    return true;
}

bool btree_read(const unsigned char *at, uint32_t size, struct btree_page *out)
{
    struct btree_page page = { .at = at, .size = size, .cells = short_number(at + 3) };
    *out = (struct btree_page){ .at = NULL };
    switch (at[0]) {
    case BTREE_INDEX_INNER:
    case BTREE_TABLE_INNER: page.head = 12; break;
    case BTREE_INDEX_LEAF:
    case BTREE_TABLE_LEAF: page.head = 8; break;
    default: return false;
    }
    page.type = (enum btree_type)at[0];
    if (page.head + 2 * page.cells > size || !cells_fit(&page))
        return false;
    *out = page;
    return true;
}

bool btree_is_inner(const struct btree_page *p)
{
    return p->type == BTREE_INDEX_INNER || p->type == BTREE_TABLE_INNER;
}

bool btree_is_index(const struct btree_page *p)
{
    return p->type == BTREE_INDEX_INNER || p->type == BTREE_INDEX_LEAF;
}

uint32_t btree_child(const struct btree_page *p, uint32_t i)
{
    uint32_t place = i < p->cells ? cell_place(p, i) : 8;
    return place + 4 <= p->size ? btree_number(p->at + place) : 0;
}

/* How much of a payload lies in the cell itself. */
static uint64_t local_bytes(const struct btree_page *p, uint64_t payload)
{
    bool table = p->type == BTREE_TABLE_LEAF;
    uint64_t most = table ? p->size - 35 : (p->size - 12) * 64 / 255 - 23;
    uint64_t least = (p->size - 12) * 32 / 255 - 23;
    uint64_t fits = least + (payload - least) % (p->size - 4);
    if (payload <= most)
        return payload;
    return fits <= most ? fits : least;
}

/* The payload of a cell, as far as it is here. */
struct payload {
    const unsigned char *at;
    size_t local;
    uint64_t len, end; /* end: of the cell in its page */
};

static bool find_payload(const struct btree_page *p, uint32_t i, struct payload *out)
{
    size_t place = cell_place(p, i) + (p->type == BTREE_INDEX_INNER ? 4u : 0u);
    uint64_t number;
    size_t n = place < p->size ? get_varint(p->at + place, p->size - place, &out->len) : 0;
    if (n == 0 || p->type == BTREE_TABLE_INNER || out->len > INT32_MAX)
        return false;
    place += n;
    if (p->type == BTREE_TABLE_LEAF) {
        n = place < p->size ? get_varint(p->at + place, p->size - place, &number) : 0;
        if (n == 0)
            return false;
        place += n;
    }
    uint64_t local = local_bytes(p, out->len);
    out->end = place + local + (local < out->len ? 4 : 0);
    out->at = p->at + place;
    out->local = (size_t)local;
    return out->end <= p->size;
}

bool btree_ends(const struct btree_page *p)
{
    uint32_t last = 0, at = 0;
    struct payload payload;
    uint64_t number;
    if (p->cells == 0)
        return (short_number(p->at + 5) ? short_number(p->at + 5) : BTREE_PAGE_MOST) == p->size;
    for (uint32_t i = 0; i < p->cells; i++)
        if (cell_place(p, i) >= at) {
            at = cell_place(p, i);
            last = i;
        }
    if (p->type == BTREE_TABLE_INNER)
        return at + 4 < p->size &&
               at + 4 + get_varint(p->at + at + 4, p->size - at - 4, &number) == p->size;
    if (!find_payload(p, last, &payload))
        return false;
    uint64_t least = payload.end - at < 4 ? at + 4u : payload.end; /* a cell takes 4 at least */
    return least == p->size;
}

static size_t field_bytes(uint64_t type)
{
    static const size_t numbers[] = { 0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0 };
    return type < 12 ? numbers[type] : (size_t)((type - 12) / 2);
}

static enum btree_kind field_kind(uint64_t type)
{
    if (type >= 12)
        return type % 2 ? FIELD_TEXT : FIELD_BLOB;
    return type == 0 ? FIELD_NULL : type == 7 ? FIELD_REAL : FIELD_INTEGER;
}

bool btree_record(const struct btree_page *p, uint32_t i, struct btree_record *out)
{
    struct payload payload;
    uint64_t head = 0, type = 0;
    out->n = 0;
    if (!find_payload(p, i, &payload))
        return false;
    size_t at = get_varint(payload.at, payload.local, &head);
    uint64_t body = head;
    if (at == 0 || head < at || head > payload.local)
        return false;
    while (at < head && out->n < BTREE_FIELDS) {
        size_t n = get_varint(payload.at + at, (size_t)head - at, &type);
        if (n == 0 || type == 10 || type == 11 || type > INT32_MAX)
            return false;
        struct btree_field *field = &out->fields[out->n++];
        *field = (struct btree_field){ .kind = field_kind(type), .len = field_bytes(type) };
        if (body + field->len <= payload.local)
            field->at = payload.at + body;
        body += field->len;
        at += n;
    }
    return at == head && out->n > 0 && body == payload.len;
}
