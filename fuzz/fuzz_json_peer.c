/* Fuzz target: strict JSON against jansson. Both must accept the same texts as the same values,
 * apart from the differences that are ours by choice: depth and number of values are bounded, a
 * byte order mark is skipped, whole numbers beyond 64 bits are reals. */
#include "base/arena.h"
#include "base/err.h"
#include "text/json.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same_value(const struct text_node *a, json_t *b);

static bool same_list(const struct text_node *a, json_t *b)
{
    size_t i = 0;
    for (const struct text_node *c = a->first; c; c = c->next, i++)
        if (!same_value(c, json_array_get(b, i)))
            return false;
    return i == json_array_size(b);
}

static bool same_map(const struct text_node *a, json_t *b)
{
    for (const struct text_node *c = a->first; c; c = c->next)
        if (!same_value(c, json_object_get(b, c->key)))
            return false;
    return a->count == json_object_size(b);
}

static bool same_value(const struct text_node *a, json_t *b)
{
    if (!b)
        return false;
    switch (a->kind) {
    case TEXT_NULL: return json_is_null(b);
    case TEXT_BOOL: return json_is_boolean(b) && a->boolean == json_is_true(b);
    case TEXT_INT: return json_is_integer(b) && a->integer == json_integer_value(b);
    case TEXT_REAL:
        return json_is_real(b) &&
               memcmp(&a->real, &(double){ json_real_value(b) }, sizeof a->real) == 0;
    case TEXT_STR:
        return json_is_string(b) && strlen(a->str) == json_string_length(b) &&
               strcmp(a->str, json_string_value(b)) == 0;
    case TEXT_LIST: return json_is_array(b) && same_list(a, b);
    case TEXT_MAP: return json_is_object(b) && same_map(a, b);
    case TEXT_KIND_N: break;
    }
    return false;
}

/* Differences by choice. */
static bool may_differ(const struct report *ours, const json_error_t *theirs, const char *src,
                       size_t size)
{
    if (memchr(src, '\0', size)) /* behind the document it is the end for jansson */
        return true;
    if (size >= 3 && memcmp(src, "\xef\xbb\xbf", 3) == 0)
        return true;
    if (ours->n > 0)
        return strstr(ours->at[0].what, "deep in each other") || strstr(ours->at[0].what, "values");
    return json_error_code(theirs) == json_error_numeric_overflow;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *src = (const char *)data;
    struct arena *arena = arena_create();
    struct report report;
    json_error_t error = { .line = 0 };
    report_init(&report, arena);
    const struct text_node *ours = json_parse(arena, src, size, 0, &report);
    json_t *theirs = json_loadb(src, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    bool accepted = ours && report_ok(&report);
    if (accepted != (theirs != NULL) && !may_differ(&report, &error, src, size))
        BUG("%s accepts it, the other says: %s", accepted ? "muster" : "jansson",
            accepted ? error.text : report.at[0].what);
    if (accepted && theirs && !same_value(ours, theirs))
        BUG("the values differ");
    json_decref(theirs);
    arena_destroy(arena);
    return 0;
}
