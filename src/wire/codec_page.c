/* What the tables say to people and to fuzzers: the page of the protocol, one section per message
 * with its members in the order of their bytes, and the shortest body of each. */
#include "wire/codec.h"

#include <stdio.h>

enum { PATH_MOST = 128 };

static const char *type_text(const struct codec_row *row)
{
    static const char *const simple[CODEC_TYPE_N] = {
        [CODEC_U8] = "u8",
        [CODEC_U16] = "u16",
        [CODEC_U32] = "u32",
        [CODEC_U64] = "u64",
        [CODEC_FLAG] = "flag",
        [CODEC_TEXT] = "text",
        [CODEC_MAYBE] = "text or none",
        [CODEC_BLOB] = "bytes or none",
        [CODEC_BYTES] = "bytes",
        [CODEC_REST] = "bytes to the end",
        [CODEC_LIST] = "list",
        [CODEC_PAIRS] = "list of two texts",
        [CODEC_STRUCT] = "what follows",
        [CODEC_POINTER] = "what follows",
        [CODEC_EACH] = "of each",
    };
    if (row->type == CODEC_CUSTOM)
        return row->hooks->bytes;
    if (row->type == CODEC_LIST && row->table && !row->table->name)
        return row->table->type == CODEC_TEXT ? "list of texts" : "list of u32";
    return simple[row->type];
}

static void put_bounds(struct buf *out, const struct codec_row *row)
{
    bool number = row->type <= CODEC_U64;
    unsigned long long min = row->min, max = row->max;
    if (max && number)
        buf_addf(out, ", %llu to %llu", min, max);
    else if (max && row->type == CODEC_TEXT)
        buf_addf(out, ", at most %llu bytes", max);
    else if (max)
        buf_addf(out, ", at most %llu", max);
    if (min && !number)
        buf_addf(out, ", at least %llu", min);
}

static void put_row(struct buf *out, const struct codec_row *row, const char *path)
{
    buf_addf(out, "| `%s` | %s", path, type_text(row));
    put_bounds(out, row);
    if (row->bit)
        buf_addf(out, ", with bit %u", (unsigned)__builtin_ctz(row->bit));
    if (row->flags & CODEC_LATER)
        buf_puts(out, ", may be missing at the end");
    if (row->flags & CODEC_TAIL)
        buf_puts(out, ", at the end, where it is not zero");
    buf_addf(out, " | %s |\n", row->doc ? row->doc : "");
}

static void put_bits(struct buf *out, const struct codec_row *rows, const char *path)
{
    for (const struct codec_row *row = rows; row->type; row++)
        buf_addf(out, "| `%s` | u8, bit %zu | `%s`: %s |\n", path, (size_t)(row - rows), row->name,
                 row->doc);
}

static void put_rows(struct buf *out, const struct codec_row *rows, const char *prefix)
{
    for (const struct codec_row *row = rows; row->type; row++) {
        bool list = row->type == CODEC_LIST || row->type == CODEC_EACH;
        char path[PATH_MOST];
        snprintf(path, sizeof path, "%s%s%s", prefix, row->name, list ? "[]" : "");
        if (row->type == CODEC_BITS) {
            put_bits(out, row->table, path);
            continue;
        }
        if (!row->table || list || row->only || row->flags)
            put_row(out, row, path);
        if (row->table && row->table->name) {
            snprintf(path, sizeof path, "%s%s%s.", prefix, row->name, list ? "[]" : "");
            put_rows(out, row->table, path);
        }
    }
}

void codec_page(struct buf *out, const struct codec_message *messages, size_t n)
{
    for (const struct codec_message *m = messages; m < messages + n; m++) {
        if (!m->name)
            continue;
        buf_addf(out, "### %s (%u)\n\n%s: %s.\n\n", m->name, m->kind, m->way, m->doc);
        if (!m->rows)
            continue;
        buf_puts(out, "| member | bytes | meaning |\n|---|---|---|\n");
        put_rows(out, m->rows, "");
        buf_puts(out, "\n");
    }
}

/* ---- the shortest ---- */

static void zeros(struct buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        wire_put_u8(out, 0);
}

void codec_shortest(struct buf *out, const struct codec_row *rows)
{
    for (const struct codec_row *row = rows; row->type; row++) {
        const struct codec_row alone[] = { *row, ROW_END };
        size_t mark = out->len, least = codec_least(alone);
        if (least == 0)
            continue;
        if (row->type == CODEC_STRUCT || row->type == CODEC_POINTER) {
            codec_shortest(out, row->table);
            continue;
        }
        zeros(out, row->type == CODEC_LIST ? 4 : least);
        if (!out->overflow && row->min)
            out->data[mark] = (char)row->min;
        for (size_t i = 0; row->type == CODEC_LIST && i < row->min; i++)
            codec_shortest(out, row->table);
    }
}
