/* Inside the field engine: members of structs by table row. Nobody else includes this. */
#ifndef JOB_FIELD_VALUE_H
#define JOB_FIELD_VALUE_H

#include "job/field_row.h"
#include "job/spec.h"

void field_put_pointer(void *member, const void *value);
const void *field_get_pointer(const void *member);
/* Numbers, bool and enums: the row's size says how wide the member is. */
void field_put_number(const struct field *, void *base, uint64_t value);
uint64_t field_get_number(const struct field *, const void *base);
/* LIST and MAP: the number of elements. */
void field_put_n(const struct field *, void *base, size_t n);
size_t field_get_n(const struct field *, const void *base);
/* The word for COUNT_ALWAYS in this field; NULL: it has none. */
const char *field_count_word(const struct field *);
struct count field_default_count(const struct field *);

/* ---- decoding: problems. Each returns -1 ---- */
enum {
    FIELD_SHOWN_MAX = 40, /* bytes of a value quoted in a message */
    FIELD_WORDS_MAX = 64, /* words of one table */
};
struct field_excerpt {
    char text[FIELD_SHOWN_MAX + 24];
};
struct field_excerpt field_show(const struct text_node *);
int field_wrong_kind(const struct field_context *, const struct field *, const struct text_node *);
int field_quoted_number(const struct field_context *,
                        const struct text_node *); /* what to write is certain */
/* One of least and most; the other is NULL. */
int field_out_of_bounds(const struct field_context *, const struct field *,
                        const struct text_node *, const char *least, const char *most);
int field_wrong_word(const struct field_context *, const struct text_node *,
                     const char *const *names, size_t n);
/* near: the name that was meant, or NULL; free: nothing else has it, so that renaming is certain to
 * help. */
void field_unknown_near(const struct field_context *, const struct text_node *member,
                        const char *near, bool free);
int field_check_chars(const struct field_context *, const struct field *, const struct text_node *,
                      const char *value);

/* ---- decoding: single values ---- */
#define FIELD_DECODER(type)                                                                        \
    int field_decode_##type(const struct field_context *, const struct field *,                    \
                            const struct text_node *, void *base)
FIELD_DECODER(text);
FIELD_DECODER(bool);
FIELD_DECODER(number);
FIELD_DECODER(int);
FIELD_DECODER(milli);
FIELD_DECODER(size);
FIELD_DECODER(duration);
FIELD_DECODER(maybe_duration);
FIELD_DECODER(word);
FIELD_DECODER(count);
#undef FIELD_DECODER

#endif
