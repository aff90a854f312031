/* Structs as bytes and back, row by row. A reader is bounded by the bytes it has: every count is
 * checked against the least size of what follows, failure sticks and ends the walk. No I/O; memory
 * is the caller's buffer and arena. */
#include "wire/codec.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/pairs.h"
#include "base/scan.h"

#include <string.h>

#define TEXT_MIN 4u /* bytes of the shortest text or list */

const struct codec_row codec_word[] = {
    { .type = CODEC_TEXT, .size = sizeof(const char *) },
    ROW_END,
};
const struct codec_row codec_u32[] = {
    { .type = CODEC_U32, .size = sizeof(uint32_t) },
    ROW_END,
};
static const struct codec_row pair_rows[] = {
    ROW(MAYBE, struct pair, name, "name", .unset = ""),
    ROW(MAYBE, struct pair, value, "value", .unset = ""),
    ROW_END,
};

/* ---- members ---- */

static uint64_t number_at(const void *at, size_t size)
{
    uint64_t eight;
    uint32_t four;
    uint16_t two;
    switch (size) {
    case 8: memcpy(&eight, at, 8); return eight;
    case 4: memcpy(&four, at, 4); return four;
    case 2: memcpy(&two, at, 2); return two;
    case 1: return *(const unsigned char *)at;
    default: BUG("a number of %zu bytes", size);
    }
}

static void set_number(void *at, size_t size, uint64_t value)
{
    const uint32_t four = (uint32_t)value;
    const uint16_t two = (uint16_t)value;
    switch (size) {
    case 8: memcpy(at, &value, 8); break;
    case 4: memcpy(at, &four, 4); break;
    case 2: memcpy(at, &two, 2); break;
    case 1: *(unsigned char *)at = (unsigned char)value; break;
    default: BUG("a number of %zu bytes", size);
    }
}

static void *pointer_at(const void *at)
{
    void *pointer;
    memcpy(&pointer, at, sizeof pointer);
    return pointer;
}

static void set_pointer(void *at, const void *pointer)
{
    memcpy(at, &pointer, sizeof pointer);
}

static size_t count_at(const struct codec_row *row, const void *base)
{
    uint64_t n = number_at((const char *)base + row->n_offset, row->n_size);
    return (size_t)(row->max && n > row->max ? row->max : n);
}

/* ---- what is not zero ---- */

static bool says(const struct codec_row *, const void *base);

static bool any_says(const struct codec_row *rows, const void *base)
{
    for (const struct codec_row *row = rows; row->type; row++)
        if (says(row, base))
            return true;
    return false;
}

static bool says(const struct codec_row *row, const void *base)
{
    const char *member = (const char *)base + row->offset, *list;
    if (row->hooks && row->hooks->says)
        return row->hooks->says(member);
    switch (row->type) {
    case CODEC_U8:
    case CODEC_U16:
    case CODEC_U32:
    case CODEC_U64:
    case CODEC_FLAG: return number_at(member, row->size) != 0;
    case CODEC_STRUCT: return any_says(row->table, member);
    case CODEC_LIST: return count_at(row, base) > 0;
    case CODEC_EACH:
        list = pointer_at(member);
        for (size_t i = 0, n = count_at(row, base); i < n; i++)
            if (any_says(row->table, list + i * row->element))
                return true;
        return false;
    default: return pointer_at(member) != NULL;
    }
}

/* ---- writing ---- */

static void put_rows(struct buf *, const struct codec_row *, const char *base, const char *before);

static void put_text(struct buf *out, const char *text, uint64_t most)
{
    size_t n = text ? strlen(text) : 0;
    if (most && n > most) {
        size_t whole = scan_utf8_prefix(text, (size_t)most);
        /* Text that is no UTF-8 anyway is cut where the bound is. */
        n = whole + 4 > most ? whole : (size_t)most;
    }
    wire_put_bytes(out, text, n);
}

static void put_number(struct buf *out, enum codec_type type, uint64_t value)
{
    switch (type) {
    case CODEC_U16: wire_put_u16(out, (uint16_t)value); break;
    case CODEC_U32: wire_put_u32(out, (uint32_t)value); break;
    case CODEC_U64: wire_put_u64(out, value); break;
    default: wire_put_u8(out, (uint8_t)value); break;
    }
}

static void put_each(struct buf *out, const struct codec_row *row, const char *base)
{
    const char *at = pointer_at(base + row->offset), *before = NULL;
    for (size_t i = 0, n = count_at(row, base); i < n; i++, at += row->element) {
        put_rows(out, row->table, at, before);
        before = at;
    }
}

static void put_list(struct buf *out, const struct codec_row *row, const char *base)
{
    wire_put_u32(out, (uint32_t)count_at(row, base));
    if (row->hooks && row->hooks->put_all)
        row->hooks->put_all(out, base);
    else
        put_each(out, row, base);
}

static void put_pairs(struct buf *out, const struct pairs *pairs)
{
    wire_put_u32(out, (uint32_t)pairs->n);
    for (size_t i = 0; i < pairs->n; i++)
        put_rows(out, pair_rows, (const char *)&pairs->at[i], NULL);
}

static void put_bytes(struct buf *out, const struct codec_row *row, const char *base)
{
    const void *at = pointer_at(base + row->offset);
    size_t n = at ? count_at(row, base) : 0;
    if (row->type == CODEC_BLOB)
        wire_put_u8(out, at != NULL);
    if (row->type != CODEC_REST)
        wire_put_bytes(out, at, n);
    else if (n > 0)
        buf_add(out, at, n);
}

static uint8_t bits_of(const struct codec_row *rows, const void *base)
{
    unsigned bits = 0;
    for (const struct codec_row *row = rows; row->type; row++)
        bits |= says(row, base) ? 1u << (row - rows) : 0;
    return (uint8_t)bits;
}

static void put_row(struct buf *out, const struct codec_row *row, const char *base,
                    const char *before)
{
    const char *member = base + row->offset;
    switch (row->type) {
    case CODEC_U8:
    case CODEC_U16:
    case CODEC_U32:
    case CODEC_U64:
    case CODEC_FLAG: put_number(out, row->type, number_at(member, row->size)); break;
    case CODEC_BITS: wire_put_u8(out, bits_of(row->table, base)); break;
    case CODEC_TEXT: put_text(out, pointer_at(member), row->max); break;
    case CODEC_MAYBE: wire_put_str(out, pointer_at(member)); break;
    case CODEC_BLOB:
    case CODEC_BYTES:
    case CODEC_REST: put_bytes(out, row, base); break;
    case CODEC_LIST: put_list(out, row, base); break;
    case CODEC_EACH: put_each(out, row, base); break;
    case CODEC_PAIRS: put_pairs(out, (const struct pairs *)(const void *)member); break;
    case CODEC_STRUCT: put_rows(out, row->table, member, NULL); break;
    case CODEC_POINTER: put_rows(out, row->table, pointer_at(member), NULL); break;
    default: row->hooks->put(out, member, before ? before + row->offset : NULL); break;
    }
}

/* The first row of a tail that is not written: what says nothing at its end. */
static const struct codec_row *tail_end(const struct codec_row *row, const void *base)
{
    const struct codec_row *end = row;
    for (; row->type; row++)
        if (says(row, base))
            end = row + 1;
    return end;
}

static bool is_there(const struct codec_row *row, uint8_t bits, const void *base)
{
    return (!row->bit || bits & row->bit) && (!row->only || row->only(base));
}

static void put_rows(struct buf *out, const struct codec_row *rows, const char *base,
                     const char *before)
{
    const struct codec_row *end = NULL;
    uint8_t bits = 0;
    for (const struct codec_row *row = rows; row->type && row != end; row++) {
        if (row->flags & CODEC_TAIL && !end && (end = tail_end(row, base)) == row)
            break;
        if (row->type == CODEC_BITS)
            bits = bits_of(row->table, base);
        if (is_there(row, bits, base))
            put_row(out, row, base, before);
    }
}

void codec_put(struct buf *out, const struct codec_row *rows, const void *base)
{
    put_rows(out, rows, base, NULL);
}

/* ---- reading ---- */

static void get_rows(const struct codec_source *, const struct codec_row *, char *base,
                     const char *before);

static uint64_t number_from(struct wire_reader *from, enum codec_type type)
{
    switch (type) {
    case CODEC_U16: return wire_get_u16(from);
    case CODEC_U32: return wire_get_u32(from);
    case CODEC_U64: return wire_get_u64(from);
    default: return wire_get_u8(from);
    }
}

static uint64_t most_of(const struct codec_row *row)
{
    if (row->type == CODEC_FLAG)
        return 1;
    if (row->max)
        return row->max;
    return row->size < 8 ? ((uint64_t)1 << (8 * row->size)) - 1 : UINT64_MAX;
}

static void get_number(struct wire_reader *from, const struct codec_row *row, char *member)
{
    uint64_t value = number_from(from, row->type);
    if (value < row->min || value > most_of(row))
        from->bad = true;
    else
        set_number(member, row->size, value);
}

static uint8_t get_bits(struct wire_reader *from, const struct codec_row *rows, char *base)
{
    uint8_t bits = wire_get_u8(from), left = bits;
    for (const struct codec_row *row = rows; row->type; row++, left >>= 1)
        if (row->type == CODEC_FLAG)
            set_number(base + row->offset, sizeof(bool), left & 1);
    from->bad |= left != 0;
    return bits;
}

static void get_text(const struct codec_source *in, const struct codec_row *row, char *member)
{
    const char *text = wire_get_str(in->from, in->arena);
    if (!text && row->type == CODEC_MAYBE)
        text = row->unset;
    else if (!text || (row->max && strlen(text) > row->max))
        in->from->bad = true;
    set_pointer(member, text);
}

static void get_bytes(const struct codec_source *in, const struct codec_row *row, char *base)
{
    struct wire_reader *from = in->from;
    uint8_t there = row->type == CODEC_BLOB ? wire_get_u8(from) : 1;
    size_t n = (size_t)(from->end - from->at);
    const void *at = from->at;
    if (row->type == CODEC_REST)
        from->at = from->end;
    else
        at = wire_get_bytes(from, &n);
    from->bad |= there > 1 || (!there && n > 0);
    if (from->bad || !there) {
        set_pointer(base + row->offset, row->unset);
        return;
    }
    if (row->type == CODEC_BLOB)
        at = memcpy(arena_alloc(in->arena, n + 1), at, n);
    set_pointer(base + row->offset, at);
    set_number(base + row->n_offset, row->n_size, n);
}

static void get_each(const struct codec_source *in, const struct codec_row *row, char *at, size_t n)
{
    const char *before = NULL;
    for (size_t i = 0; i < n && !in->from->bad; i++, at += row->element) {
        get_rows(in, row->table, at, before);
        before = at;
    }
}

static void get_list(const struct codec_source *in, const struct codec_row *row, char *base)
{
    uint32_t n = wire_get_count(in->from, codec_least(row->table));
    if (n < row->min || (row->max && n > row->max))
        in->from->bad = true;
    if (in->from->bad)
        return;
    char *at = arena_array(in->arena, n, row->element);
    set_pointer(base + row->offset, at);
    set_number(base + row->n_offset, row->n_size, n);
    get_each(in, row, at, n);
}

static void get_pairs(const struct codec_source *in, struct pairs *pairs)
{
    uint32_t n = wire_get_count(in->from, codec_least(pair_rows));
    *pairs = (struct pairs){ .at = ARENA_ARRAY(in->arena, n, struct pair), .n = n, .cap = n };
    for (uint32_t i = 0; i < n && !in->from->bad; i++)
        get_rows(in, pair_rows, (char *)&pairs->at[i], NULL);
}

static void get_pointer(const struct codec_source *in, const struct codec_row *row, char *member)
{
    char *at = arena_alloc(in->arena, row->element);
    set_pointer(member, at);
    get_rows(in, row->table, at, NULL);
}

static void get_row(const struct codec_source *in, const struct codec_row *row, char *base,
                    const char *before)
{
    char *member = base + row->offset;
    switch (row->type) {
    case CODEC_U8:
    case CODEC_U16:
    case CODEC_U32:
    case CODEC_U64:
    case CODEC_FLAG: get_number(in->from, row, member); break;
    case CODEC_TEXT:
    case CODEC_MAYBE: get_text(in, row, member); break;
    case CODEC_BLOB:
    case CODEC_BYTES:
    case CODEC_REST: get_bytes(in, row, base); break;
    case CODEC_LIST: get_list(in, row, base); break;
    case CODEC_EACH: get_each(in, row, pointer_at(member), count_at(row, base)); break;
    case CODEC_PAIRS: get_pairs(in, (struct pairs *)(void *)member); break;
    case CODEC_STRUCT: get_rows(in, row->table, member, NULL); break;
    case CODEC_POINTER: get_pointer(in, row, member); break;
    default: row->hooks->get(in, member, before ? before + row->offset : NULL); break;
    }
}

static void leave_out(const struct codec_row *row, char *base)
{
    for (; row->type; row++)
        if (row->hooks && row->hooks->absent)
            row->hooks->absent(base + row->offset);
}

static void get_rows(const struct codec_source *in, const struct codec_row *rows, char *base,
                     const char *before)
{
    struct wire_reader *from = in->from;
    uint8_t bits = 0;
    for (const struct codec_row *row = rows; row->type && !from->bad; row++) {
        if (row->flags & (CODEC_LATER | CODEC_TAIL) && from->at == from->end) {
            leave_out(row, base);
            return;
        }
        if (row->type == CODEC_BITS)
            bits = get_bits(from, row->table, base);
        else if (is_there(row, bits, base))
            get_row(in, row, base, before);
        else if (row->hooks && row->hooks->absent)
            row->hooks->absent(base + row->offset);
        from->bad |= row->flags & CODEC_TAIL && from->at == from->end && !says(row, base);
    }
}

int codec_get(struct wire_reader from, struct arena *arena, const struct codec_row *rows,
              void *base)
{
    struct codec_source in = { .from = &from, .arena = arena };
    get_rows(&in, rows, base, NULL);
    return from.bad || from.at != from.end ? -1 : 0;
}

int codec_get_message(struct wire_reader from, struct arena *arena,
                      const struct codec_message *message, void *out)
{
    _Alignas(max_align_t) char got[CODEC_MESSAGE_MOST];
    if (message->size > sizeof got)
        BUG("a message of %zu bytes", message->size);
    memset(got, 0, message->size);
    if (codec_get(from, arena, message->rows, got) != 0 || (message->good && !message->good(got)))
        return -1;
    memcpy(out, got, message->size);
    return 0;
}

void codec_get_part(const struct codec_source *in, const struct codec_row *rows, void *base)
{
    get_rows(in, rows, base, NULL);
}

static size_t least_of(const struct codec_row *row)
{
    switch (row->type) {
    case CODEC_U16: return 2;
    case CODEC_U32: return 4;
    case CODEC_U64: return 8;
    case CODEC_U8:
    case CODEC_FLAG:
    case CODEC_BITS: return 1;
    case CODEC_REST:
    case CODEC_EACH: return 0;
    case CODEC_BLOB: return 1 + TEXT_MIN;
    case CODEC_LIST: return TEXT_MIN + (row->min ? row->min * codec_least(row->table) : 0);
    case CODEC_STRUCT:
    case CODEC_POINTER: return codec_least(row->table);
    case CODEC_CUSTOM: return row->hooks->least;
    default: return TEXT_MIN;
    }
}

size_t codec_least(const struct codec_row *rows)
{
    size_t least = 0;
    for (const struct codec_row *row = rows; row->type; row++)
        if (!(row->flags & (CODEC_LATER | CODEC_TAIL)) && !row->bit && !row->only)
            least += least_of(row);
    return least;
}
