/* JSON with // and block comments and trailing commas, strict otherwise; every problem has its
 * place. */
#ifndef TEXT_JSON_H
#define TEXT_JSON_H

#include "text/tree.h"

struct buf;

enum json_flags {
    JSON_COMMENTS = 1, /* comments and a comma before a closing bracket are accepted */
    JSON_ANSWER = 2,   /* of our own server, whose jobs have up to 65,536 tasks: of any size */
};

/* Text of len bytes -> tree in arena (texts are copied). Duplicate keys, depth > TEXT_MAX_DEPTH,
 * size > TEXT_MAX_BYTES, invalid UTF-8, NUL (also \u0000), lone surrogates, numbers out of range:
 * errors in report. Returns NULL when it is not one document; duplicate keys are reported and the
 * first value kept, so that the dialect can report its own errors too. Empty or blank text is one
 * error that says so; binary input likewise. */
struct text_node *json_parse(struct arena *, const char *src, size_t len, unsigned flags,
                             struct report *);

/* ---- some members of a map, the others unread: for texts that json_parse has accepted ---- */
#define JSON_PICK_MAX 8 /* members at a time */
struct json_span {
    const char *at; /* NULL: there is none */
    size_t n;
};
/* The values of the members of these names (NULL ends the list), as they stand in the text. false:
 * nothing is known (it is no map, or has comments, or escapes in keys): parse it. */
bool json_find(const struct json_span *text, const char *const *names, struct json_span *out);
/* Those that are there as a map, in the order of names, which have to live as long; NULL as above.
 */
struct text_node *json_pick(struct arena *, const struct json_span *text, const char *const *names);

/* indent 0: one line; else that many spaces a level. Strict JSON, UTF-8 kept. */
void json_print(const struct text_node *, int indent, struct buf *out);

/* A list that is printed later: where in `out` its elements go. */
struct json_gap {
    const struct text_node *list; /* empty */
    size_t at;                    /* SIZE_MAX: it is not in the tree */
};
/* The same on one line, with gaps, which are then in the order of the text. */
void json_print_gaps(const struct text_node *, struct json_gap *gaps, size_t n, struct buf *out);

#endif
