/* How the tables of views are written: a row is a JSON member, its place in the struct, how it is
 * printed and what it means; and the members that several tables print. */
#ifndef API_VIEW_ROWS_H
#define API_VIEW_ROWS_H

#include "text/tree.h"

#include <stddef.h>

enum view_shape { TEXT, COUNT, SIGNED, FLAG, TIME, TREE, WORD, ID, WORDS, PUT, LIST, SHAPE_N };
/* Zero and NULL mean "left out", except with ALWAYS. A_TEXT: what a PUT adds is text. */
enum { ALWAYS = 1, A_TEXT = 2 };
struct view_row {
    const char *name, *doc;
    const char *of; /* TREE: "array" of this schema, or NULL: free */
    enum view_shape shape;
    unsigned flags;
    size_t at;
    union {
        size_t given;                  /* SIGNED: offset of its has_ flag */
        const char *(*word)(unsigned); /* WORD: of a value of its enum that is not 0 */
        unsigned kind;                 /* LIST: enum view_kind of an element */
        /* PUT: adds what is there under that name, or nothing */
        void (*put)(struct arena *, struct text_node *map, const char *name, const void *member);
    };
};
#define ROW(view, field, kind, how, text)                                                          \
    {                                                                                              \
        .name = #field, .doc = text, .shape = kind, .flags = how,                                  \
        .at = offsetof(struct view, field)                                                         \
    }
#define STAMP(view, field, text)                                                                   \
    {                                                                                              \
        .name = #field, .doc = text, .shape = TIME, .at = offsetof(struct view, field##_ms)        \
    }
#define GIVEN(view, field, text)                                                                   \
    {                                                                                              \
        .name = #field, .doc = text, .shape = SIGNED, .at = offsetof(struct view, field),          \
        .given = offsetof(struct view, has_##field)                                                \
    }
#define NESTED(view, field, schema, text)                                                          \
    {                                                                                              \
        .name = #field, .doc = text, .of = schema, .shape = TREE,                                  \
        .at = offsetof(struct view, field)                                                         \
    }
#define WORD_OF(view, field, function, text)                                                       \
    {                                                                                              \
        .name = #field, .doc = text, .shape = WORD, .at = offsetof(struct view, field),            \
        .word = function                                                                           \
    }
#define PUT_BY(view, field, function, text)                                                        \
    {                                                                                              \
        .name = #field, .doc = text, .shape = PUT, .at = offsetof(struct view, field),             \
        .put = function                                                                            \
    }
#define LIST_OF(view, field, kind_, text)                                                          \
    {                                                                                              \
        .name = #field, .doc = text, .shape = LIST, .at = offsetof(struct view, field),            \
        .kind = kind_                                                                              \
    }
#define END                                                                                        \
    {                                                                                              \
        .name = NULL                                                                               \
    }

const char *view_job_word(unsigned state);
/* As PUT has them: nothing where there is nothing. */
void view_put_pairs(struct arena *arena, struct text_node *map, const char *name,
                    const void *member);
void view_put_amounts(struct arena *arena, struct text_node *map, const char *name,
                      const void *member); /* of a struct vector */
void view_put_guarantee(struct arena *arena, struct text_node *map, const char *name,
                        const void *member);
void view_put_bounds(struct arena *arena, struct text_node *map, const char *name,
                     const void *member); /* only what bounds: absent is "any" */
/* RFC 3339 under the name, Unix milliseconds under name_ms. */
void view_put_date(struct arena *arena, struct text_node *map, const char *name, uint64_t ms);

#endif
