/* What comes from field tables: strict decoding, encoding, JSON Schema and the reference page. */
#ifndef JOB_FIELD_H
#define JOB_FIELD_H

#include "job/field_row.h"

const struct field *field_find(const struct field *table, const char *name); /* NULL when absent */
/* The name of a row that name is, or is likely to be a slip of; NULL when none is near. */
const char *field_near(const struct field *table, const char *name);
/* Every member of the table gets its default. */
void field_init(const struct field *table, void *base);
bool field_is_default(const struct field *, const void *base);

/* Strict: unknown keys (with the nearest known one, and its fix), types, bounds; null is the same
 * as left out. into must be initialised. 0, or -1 when problems were added to the report. path: in
 * front of the names in messages, "" at the root. */
int field_decode(struct arena *, const struct text_node *, const struct field *table, void *into,
                 const char *path, struct report *);
/* A map node with the members that differ from their defaults (and those that are FIELD_ALWAYS), in
 * the table's order. */
struct text_node *field_encode(struct arena *, struct text_node *parent, const char *key,
                               const struct field *table, const void *base);
/* JSON Schema (draft 2020-12, no $schema member) of the object. */
struct text_node *field_schema(struct arena *, const struct field *table);
/* Markdown: a table of rows, then one section per nested table. title: of the first section. */
struct buf;
void field_reference(struct buf *out, const char *title, const struct field *table);

/* ---- for hooks and for code that decodes beside a table ---- */
#define FIELD_PATH_MAX 256
const char *field_path(char out[FIELD_PATH_MAX], const struct field_position *);
/* "PATH has ..." at the node's place; the caller may add a hint. */
struct problem *field_problem(const struct field_context *, const struct text_node *,
                              const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same of a value: "PATH is VALUE, ..."; fmt begins with the value. */
struct problem *field_bad_value(const struct field_context *, const struct text_node *,
                                const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* "unknown field ..." for a member of map that no row of table (or of also, unless NULL) names. */
void field_unknown(const struct field_context *, const struct text_node *map,
                   const struct text_node *member, const struct field *table,
                   const struct field *also);
/* One value by its row: what hooks use for the plain half of an odd form. */
int field_value_decode(const struct field_context *, const struct field *, const struct text_node *,
                       void *base);
/* What a value looks like, for messages ("a whole number"). */
const char *field_wanted(const struct field *);

#endif
