/* Reading the error file of torch's @record: {"message": {"message": TEXT, "extraInfo":
 * {"py_callstack": TEXT, "timestamp": "SECONDS"}}}, or {"message": TEXT} of other writers. The file
 * is what a user's program left: anything may be in its place. */
#include "launch/error_file.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "text/json.h"

#include <sys/stat.h>

#define SIZE_MAX_READ (1u << 20)

static const char *text_at(const struct text_node *map, const char *key)
{
    const struct text_node *node = text_get(map, key);
    return node && node->kind == TEXT_STR ? node->str : NULL;
}

/* torch writes the seconds as text, others as a number. */
static uint64_t seconds_at(const struct text_node *map)
{
    const struct text_node *node = text_get(map, "timestamp");
    uint64_t at = 0;
    if (node && (node->kind == TEXT_STR || node->kind == TEXT_INT))
        scan_u64(node->str, 0, UINT32_MAX, &at);
    return at;
}

static int take(const struct text_node *root, struct error_file *out)
{
    const struct text_node *message = text_get(root, "message");
    if (!message)
        return -1;
    bool plain = message->kind == TEXT_STR;
    const struct text_node *more = text_get(plain ? root : message, "extraInfo");
    const char *text = plain ? message->str : text_at(message, "message");
    const char *stack = text_at(more, "py_callstack");
    if (!text)
        return -1;
    *out = (struct error_file){ .message = text,
                                .callstack = stack ? stack : "",
                                .at_s = seconds_at(more ? more : root) };
    return 0;
}

int error_file_read(const char *path, struct arena *arena, struct error_file *out)
{
    struct stat st;
    struct report report;
    struct err err;
    AUTO_FREE char *data = NULL;
    size_t len;
    /* A pipe in its place would be waited for. */
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
        file_read(path, SIZE_MAX_READ, &data, &len, &err) != 0)
        return -1;
    report_init(&report, arena);
    const struct text_node *root = json_parse(arena, data, len, 0, &report);
    return root ? take(root, out) : -1;
}
