/* Reading and writing the error file of torch's @record: {"message": {"message": TEXT, "extraInfo":
 * {"py_callstack": TEXT, "timestamp": "SECONDS"}}}, or {"message": TEXT} of other writers. The file
 * is what a user's program left: anything may be in its place. */
#include "launch/error_file.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "text/json.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE_MAX_READ  (1u << 20)
#define SIZE_MAX_WRITE (8u << 20) /* escapes make it longer */

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

/* NULL: no file, or none that can be read. A pipe in its place would be waited for. */
static const struct text_node *read_tree(const char *path, struct arena *arena)
{
    struct stat st;
    struct report report;
    struct err err;
    AUTO_FREE char *data = NULL;
    size_t len;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
        file_read(path, SIZE_MAX_READ, &data, &len, &err) != 0)
        return NULL;
    report_init(&report, arena);
    return json_parse(arena, data, len, 0, &report);
}

int error_file_read(const char *path, struct arena *arena, struct error_file *out)
{
    const struct text_node *root = read_tree(path, arena);
    return root ? take(root, out) : -1;
}

const char *error_file_text(const char *path, struct arena *arena)
{
    AUTO_BUF struct buf out = BUF_INIT(SIZE_MAX_WRITE);
    const struct text_node *root = read_tree(path, arena);
    if (!root)
        return NULL;
    json_print(root, 0, &out);
    return out.overflow ? NULL : arena_strdup(arena, buf_str(&out));
}

/* ---- the launcher's own ---- */

static int write_own(const struct text_node *root, struct err *err)
{
    const char *path = getenv("TORCHELASTIC_ERROR_FILE");
    AUTO_BUF struct buf out = BUF_INIT(SIZE_MAX_WRITE);
    if (!path || !*path)
        return 0;
    json_print(root, 0, &out);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0644);
    if (fd < 0 || file_write_all(fd, out.data, out.len) != 0)
        return err_sys(err, "TORCHELASTIC_ERROR_FILE %s", path);
    return 0;
}

/* torch's own format; the time is text there. */
static struct text_node *make_tree(struct arena *arena, const char *message, const char *callstack,
                                   uint64_t at_s)
{
    struct text_node *root = text_map(arena, NULL, NULL);
    struct text_node *inner = text_map(arena, root, "message");
    (void)text_str(arena, inner, "message", message);
    struct text_node *more = text_map(arena, inner, "extraInfo");
    (void)text_str(arena, more, "py_callstack", callstack);
    (void)text_str(arena, more, "timestamp", arena_printf(arena, "%llu", (unsigned long long)at_s));
    return root;
}

/* A copy that says how the rank ended: a program that a signal ended could not. A file whose
 * message is plain text stays as it is, as with torchrun. */
static const struct text_node *add_code(struct arena *arena, const struct text_node *from, int code)
{
    struct text_node *root = text_map(arena, NULL, NULL);
    for (const struct text_node *at = from->first; at; at = at->next) {
        if (strcmp(at->key, "message") != 0 || at->kind != TEXT_MAP) {
            (void)text_copy(arena, root, at->key, at);
            continue;
        }
        struct text_node *inner = text_map(arena, root, "message");
        for (const struct text_node *part = at->first; part; part = part->next)
            if (strcmp(part->key, "errorCode") != 0)
                (void)text_copy(arena, inner, part->key, part);
        (void)text_int(arena, inner, "errorCode", code);
    }
    return root;
}

static const struct text_node *tree_of_death(struct arena *arena, const struct rdzv_end *end)
{
    const struct rdzv_death *death = &end->deaths[0].death;
    int code = death->signal > 0 ? -(int)death->signal : (int)death->code;
    const struct text_node *own = read_tree(death->error_file, arena);
    struct error_file known;
    if (!own || take(own, &known) != 0)
        own = make_tree(arena, *death->message ? death->message : end->text, death->tail,
                        death->at_s);
    return add_code(arena, own, code);
}

int error_file_of_end(const struct rdzv_end *end, struct err *err)
{
    if (end->n_deaths == 0)
        return error_file_of_launcher(end->text, err);
    struct arena *arena = arena_create();
    int outcome = write_own(tree_of_death(arena, end), err);
    arena_destroy(arena);
    return outcome;
}

int error_file_of_launcher(const char *message, struct err *err)
{
    struct arena *arena = arena_create();
    int outcome = write_own(make_tree(arena, message, "", clock_wall_ms() / 1000u), err);
    arena_destroy(arena);
    return outcome;
}
