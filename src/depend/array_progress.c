/* The JSON text in the row of an array: written and read by muster alone, so reading forgives what
 * is missing and complains about nothing. */
#include "depend/array_progress.h"

#include "base/buf.h"
#include "base/mem.h"
#include "text/json.h"

#include <string.h>

#define NOTES_MAX (8u << 20)

/* As rows have them. */
static const char *const command_words[] = {
    [ARRAY_STOP] = "stop",
    [ARRAY_STOP_NOW] = "stop_now",
    [ARRAY_SUSPEND] = "suspend",
    [ARRAY_RESUME] = "resume",
};

const char *array_progress_print(struct arena *arena, const struct array_progress *notes)
{
    AUTO_BUF struct buf out = BUF_INIT(NOTES_MAX);
    struct text_node *map = text_map(arena, NULL, NULL);
    if (notes->left) {
        text_int(arena, map, "left", notes->left);
        text_str(arena, map, "text", notes->text);
        if (notes->live)
            text_str(arena, map, "live", notes->live);
    }
    if (notes->commanded) {
        text_str(arena, map, "verb", command_words[notes->command]);
        text_str(arena, map, "by", notes->by);
        if (notes->told)
            text_int(arena, map, "told", notes->told);
    }
    if (!map->count)
        return NULL;
    json_print(map, 0, &out);
    return arena_strndup(arena, buf_str(&out), out.len);
}

static const char *word(const struct text_node *map, const char *key)
{
    const struct text_node *node = map ? text_get(map, key) : NULL;
    return node && node->kind == TEXT_STR ? node->str : NULL;
}

void array_progress_read(struct arena *arena, const char *text, struct array_progress *notes)
{
    struct report report;
    report_init(&report, arena);
    const struct text_node *map =
        text && *text ? json_parse(arena, text, strlen(text), 0, &report) : NULL;
    const char *verb = word(map, "verb"), *by = word(map, "by"), *first = word(map, "text");
    *notes = (struct array_progress){ .left = (uint32_t)text_number(map, "left"),
                                      .live = word(map, "live"),
                                      .text = first ? first : "",
                                      .by = by ? by : "",
                                      .told = (uint32_t)text_number(map, "told") };
    for (size_t i = 0; verb && i < ARRAY_LEN(command_words); i++)
        if (strcmp(verb, command_words[i]) == 0) {
            notes->commanded = true;
            notes->command = (enum array_command)i;
        }
}
