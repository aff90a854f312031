/* Pages of SQLite's database as bytes (its file format, "B-tree Pages" and "Record Format"), for a
 * file that SQLite itself does not open any more. Nothing in them is trusted: what lies outside a
 * page is not read. Private to store/. */
#ifndef STORE_BTREE_H
#define STORE_BTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BTREE_PAGE_LEAST 512u
#define BTREE_PAGE_MOST  65536u
#define BTREE_FIELDS     32 /* of a record; a table has fewer columns */

enum btree_type {
    BTREE_INDEX_INNER = 2, /* an index, or a table without row numbers */
    BTREE_TABLE_INNER = 5,
    BTREE_INDEX_LEAF = 10,
    BTREE_TABLE_LEAF = 13
};
struct btree_page {
    const unsigned char *at; /* of size bytes; NULL: it is none */
    uint32_t size, cells, head;
    enum btree_type type;
};
enum btree_kind { FIELD_NULL, FIELD_INTEGER, FIELD_REAL, FIELD_BLOB, FIELD_TEXT };
struct btree_field {
    enum btree_kind kind;
    const unsigned char *at; /* NULL: not all of it is on this page */
    size_t len;
};
struct btree_record {
    struct btree_field fields[BTREE_FIELDS];
    size_t n;
};

uint32_t btree_number(const unsigned char *at); /* of 4 bytes */
/* Of a page but the first. false: its head or a place of a cell is none. */
bool btree_read(const unsigned char *at, uint32_t size, struct btree_page *out);
/* Does its last cell end where the page does? So do almost all, and none that was taken for a page
 * of another size. */
bool btree_ends(const struct btree_page *);
bool btree_is_inner(const struct btree_page *);
bool btree_is_index(const struct btree_page *);
/* Of an inner page: 0 to .cells, each a number of a page, whatever it says. */
uint32_t btree_child(const struct btree_page *, uint32_t i);
/* Of a cell with a record: all but those of BTREE_TABLE_INNER. false: it is none. */
bool btree_record(const struct btree_page *, uint32_t i, struct btree_record *out);

#endif
