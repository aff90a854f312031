/* What `dlc` prints: tables with frames, JSON with the original's indent, request ids that look
 * like the original's. */
#include "cli/dlc/output.h"

#include "base/mem.h"
#include "base/scan.h"
#include "cli/output.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define OUT_MAX (64u << 20)
#define INDENT  3

void dlc_json(const struct text_node *node)
{
    AUTO_BUF struct buf text = BUF_INIT(OUT_MAX);
    json_print(node, INDENT, &text);
    out_buf(&text);
    putchar('\n');
}

const char *dlc_request_id(struct arena *arena)
{
    unsigned char b[16] = { 0 };
    if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b)
        memset(b, 0, sizeof b);
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40); /* RFC 4122, version 4 */
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    return arena_printf(
        arena, "%02X%02X%02X%02X-%02X%02X-%02X%02X-%02X%02X-%02X%02X%02X%02X%02X%02X", b[0], b[1],
        b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

/* ---- tables ---- */

static void rule(const size_t *widths, size_t columns)
{
    for (size_t i = 0; i < columns; i++) {
        putchar('+');
        for (size_t k = 0; k < widths[i] + 2; k++)
            putchar('-');
    }
    puts("+");
}

void dlc_table(struct arena *arena, const char *const *cells, size_t columns, size_t rows)
{
    size_t *widths = ARENA_ARRAY(arena, columns, size_t);
    for (size_t i = 0; i < rows * columns; i++) {
        size_t w = scan_columns(cells[i], strlen(cells[i]));
        widths[i % columns] = w > widths[i % columns] ? w : widths[i % columns];
    }
    rule(widths, columns);
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < columns; i++) {
            const char *cell = cells[r * columns + i];
            printf("| %s%*s ", cell, (int)(widths[i] - scan_columns(cell, strlen(cell))), "");
        }
        puts("|");
        if (r == 0)
            rule(widths, columns);
    }
    rule(widths, columns);
}
