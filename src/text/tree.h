/* One tree of text with positions, for JSON (with comments) and YAML: what every dialect reads and
 * every writer prints. */
#ifndef TEXT_TREE_H
#define TEXT_TREE_H

#include "base/arena.h"
#include "base/pairs.h"
#include "base/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum text_kind {
    TEXT_NULL,
    TEXT_BOOL,
    TEXT_INT,
    TEXT_REAL,
    TEXT_STR,
    TEXT_LIST,
    TEXT_MAP,
    TEXT_KIND_N
};

struct text_node {
    enum text_kind kind;
    struct place place;     /* of the value */
    struct place key_place; /* of the key, for members of a map */
    const char *key;        /* NULL in lists and at the root */
    bool boolean;           /* TEXT_BOOL */
    int64_t integer;        /* TEXT_INT: fits int64; larger numbers are TEXT_REAL */
    double real;            /* TEXT_REAL */
    const char *str;        /* TEXT_STR: the value; TEXT_INT, TEXT_REAL, TEXT_BOOL: as written.
                               NUL-terminated, no NUL inside */
    bool plain;             /* YAML: an unquoted scalar */
    bool pairs;             /* TEXT_MAP: lines of key=value */
    bool script;            /* TEXT_STR, the root: the whole text is a batch script */
    struct text_node *first, *last, *next; /* children in order; next sibling */
    size_t count;                          /* children */
};

/* Limits that hold for every document (bad input gets one clear error). */
#define TEXT_MAX_BYTES (4u << 20)
#define TEXT_MAX_DEPTH 64
#define TEXT_MAX_NODES 1000000u

const char *text_kind_word(enum text_kind kind); /* "a list", "text", "a number" ... for messages */
struct text_node *text_get(const struct text_node *map,
                           const char *key); /* NULL when absent or not a map */

/* A member read leniently, for what our own programs wrote: not there, no map or of another kind
 * gives "", 0 or false. */
const char *text_word(const struct text_node *map, const char *key);
uint64_t text_number(const struct text_node *map, const char *key); /* a negative number: 0 */
bool text_flag(const struct text_node *map, const char *key);

/* Building (for encoders). Keys and texts are copied. Each adds at the end of parent (a map with
 * key, a list with key NULL; parent NULL makes a root) and returns the new node. */
struct text_node *text_map(struct arena *, struct text_node *parent, const char *key);
struct text_node *text_list(struct arena *, struct text_node *parent, const char *key);
struct text_node *text_str(struct arena *, struct text_node *parent, const char *key,
                           const char *value);
struct text_node *text_int(struct arena *, struct text_node *parent, const char *key,
                           int64_t value);
struct text_node *text_real(struct arena *, struct text_node *parent, const char *key,
                            double value);
struct text_node *text_bool(struct arena *, struct text_node *parent, const char *key, bool value);
struct text_node *text_null(struct arena *, struct text_node *parent, const char *key);
/* Each pair as a text under its name, at the end of map. */
void text_pairs(struct arena *, struct text_node *map, const struct pairs *);
/* Deep copy of node as a child of parent (or a root), under key. */
struct text_node *text_copy(struct arena *, struct text_node *parent, const char *key,
                            const struct text_node *node);
/* The same without copying: the value stands in both places, so neither may be changed from now on.
 * It and the key have to live as long as parent. */
struct text_node *text_share(struct arena *, struct text_node *parent, const char *key,
                             const struct text_node *node);
bool text_equal(const struct text_node *a,
                const struct text_node *b); /* values; map order does not matter */

#endif
