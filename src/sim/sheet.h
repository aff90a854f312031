/* A text of rows and columns (CSV without quotes, `|`, or blanks), read row by row; what is wrong
 * is reported with its row, its column and what was expected. */
#ifndef SIM_SHEET_H
#define SIM_SHEET_H

#include "base/arena.h"
#include "base/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHEET_COLUMNS 256
#define SHEET_FIELD   256 /* bytes of a field that is read; longer ones are cut */

struct cell {
    const char *at;
    size_t len;
};
struct sheet {
    const char *text;
    size_t len;
    char separator;            /* ' ': any run of blanks and tabs */
    char comment;              /* rows that begin with it are passed over; 0: none */
    const char *const *titles; /* for messages when there is no head row; NULL: there is one */
    struct report *report;
    /* set by sheet_begin and sheet_next */
    size_t at;
    uint32_t line;
    uint64_t row; /* of the data, from 1 */
    struct cell head[SHEET_COLUMNS], fields[SHEET_COLUMNS];
    size_t n_head, n;
};

/* Reads the head row when there is one. */
void sheet_begin(struct sheet *);
/* The next row that is not blank. A row with fewer fields than the head is reported and passed
 * over. */
bool sheet_next(struct sheet *);
/* Where that column is, letter case aside; -1: there is none. */
int sheet_column(const struct sheet *, const char *name);
/* The field as text in out, without blanks around it; "" when there is no such column or field. */
const char *sheet_text(const struct sheet *, int column, char out[SHEET_FIELD]);
/* A whole number. 0; or -1: reported, with what was expected. */
int sheet_u64(struct sheet *, int column, const char *expected, uint64_t *out);
/* "row 4: End is "soon"", with the hint. */
void sheet_bad(struct sheet *, int column, const char *expected);
/* The head lacks a column that is needed. */
void sheet_lacks(struct sheet *, const char *name, const char *what_for);

#endif
