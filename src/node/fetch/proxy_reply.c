/* {"success": true, "value": ..., "pipeid": 1, "error": ""}: what a value is depends on the
 * question, so it is read as each kind that is used. Whoever sends it may be of any version, so
 * members that are not known are passed over, and one that is missing is as an empty one. */
#include "node/fetch/proxy_reply.h"

#include "base/arena.h"
#include "base/scan.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

static uint64_t number_of(const struct text_node *value)
{
    return value && value->kind == TEXT_INT && value->integer > 0 ? (uint64_t)value->integer : 0;
}

/* "0.2.3" */
static void take_version(const struct text_node *value, unsigned out[2])
{
    char text[32];
    uint64_t parts[2] = { 0, 0 };
    if (!value || value->kind != TEXT_STR || strlen(value->str) >= sizeof text)
        return;
    snprintf(text, sizeof text, "%s", value->str);
    char *rest = text;
    for (size_t i = 0; i < 2; i++) {
        const char *word = strsep(&rest, ".");
        if (!word || !scan_u64(word, 0, 1000000, &parts[i]))
            return;
    }
    for (size_t i = 0; i < 2; i++)
        out[i] = (unsigned)parts[i];
}

int proxy_reply_read(const char *text, size_t len, struct proxy_reply *out, struct err *err)
{
    struct proxy_reply found = { .good = false };
    struct report report;
    struct arena *arena = arena_create();
    report_init(&report, arena);
    const struct text_node *root = json_parse(arena, text, len, 0, &report);
    const struct text_node *good = text_get(root, "success");
    bool is_reply = good && good->kind == TEXT_BOOL;
    if (is_reply) {
        const struct text_node *value = text_get(root, "value");
        const char *error = text_word(root, "error");
        uint64_t pipe = number_of(text_get(root, "pipeid"));
        size_t n = strlen(error);
        found.good = good->boolean;
        found.number = number_of(value);
        found.pipe = pipe <= UINT32_MAX ? (uint32_t)pipe : 0;
        take_version(value, found.version);
        snprintf(found.error, sizeof found.error, "%s",
                 error + (n >= sizeof found.error ? n - sizeof found.error + 1 : 0));
        *out = found;
    }
    arena_destroy(arena);
    return is_reply ? 0 : err_set(err, ERR_SYSTEM, "skopeo gave an answer that is none");
}
