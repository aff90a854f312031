/* Hooks for values in forms that the plain field rows do not take: numbers as texts, loose
 * booleans, affinities, restart policies. Each writes its member or reports the value with what to
 * write. */
#include "dialect/elasticjob/fates.h"

#include "base/buf.h"
#include "base/pairs.h"
#include "text/json.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

enum { TEXT_BYTES = 131071 };

static struct problem *warn(const struct field_context *in, const struct text_node *node,
                            const char *what)
{
    char path[FIELD_PATH_MAX];
    field_path(path, in->at);
    return report_warn(in->report, node->place, path, "%s %s", path, what);
}

static bool scalar(const struct text_node *node)
{
    return node->kind != TEXT_LIST && node->kind != TEXT_MAP;
}

static const char *written(const struct text_node *node)
{
    if (node->kind == TEXT_BOOL)
        return node->boolean ? "true" : "false";
    return node->str ? node->str : "";
}

/* ---- affinity: what is only preferred may be left out ---- */

static const struct text_node *required_in(const struct text_node *node)
{
    if (node->key && strncmp(node->key, "required", 8) == 0)
        return node;
    for (const struct text_node *child = node->first; child; child = child->next) {
        const struct text_node *found = required_in(child);
        if (found)
            return found;
    }
    return NULL;
}

static int decode_affinity(const struct field_context *in, const struct text_node *node, void *base)
{
    (void)base;
    const struct text_node *required = required_in(node);
    if (!required) {
        report_hint(in->report, warn(in, node, "has no effect"),
                    "it only says what is preferred; nodeSelector holds");
        return 0;
    }
    struct problem *p = field_problem(in, required, "has %.80s, which is not read here",
                                      required->key ? required->key : "rules");
    report_hint(in->report, p,
                "say it with nodeSelector; one task per node: --set place.apart=...");
    return -1;
}

const struct field_hooks fate_affinity = { .decode = decode_affinity,
                                           .value = "a map",
                                           .like = FIELD_TREE };

/* ---- maps of texts ---- */

static int decode_texts(const struct field_context *in, const struct text_node *node, void *base)
{
    struct pairs *pairs = (struct pairs *)(void *)((char *)base + in->row->offset);
    if (node->kind != TEXT_MAP) {
        report_hint(in->report,
                    field_bad_value(in, node, "%s, not a map", text_kind_word(node->kind)),
                    "key: value");
        return -1;
    }
    for (const struct text_node *item = node->first; item; item = item->next) {
        AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX_BYTES);
        if (scalar(item))
            buf_puts(&text, written(item));
        else
            json_print(item, 0, &text);
        pairs_set(pairs, in->arena, item->key, buf_str(&text));
    }
    return 0;
}

const struct field_hooks fate_texts = { .decode = decode_texts,
                                        .value = "a map of texts",
                                        .like = FIELD_PAIRS };

/* ---- words ---- */

static int decode_loose_bool(const struct field_context *in, const struct text_node *node,
                             void *base)
{
    static const char *const yes[] = { "true", "yes", "y", "t", "on", "1" };
    static const char *const no[] = { "false", "no", "n", "f", "off", "0" };
    bool *into = (bool *)(void *)((char *)base + in->row->offset);
    const char *word = scalar(node) ? written(node) : "";
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        if (strcasecmp(word, yes[i]) != 0 && strcasecmp(word, no[i]) != 0)
            continue;
        *into = strcasecmp(word, yes[i]) == 0;
        return 0;
    }
    report_hint(in->report, field_bad_value(in, node, "neither true nor false"), "true, or false");
    return -1;
}

/* No init: the default is the reader's to set. */
const struct field_hooks fate_bool = { .decode = decode_loose_bool,
                                       .value = "true or false",
                                       .like = FIELD_BOOL };

static int put_word(const struct field_context *in, const struct text_node *node, void *base)
{
    *(const char **)(void *)((char *)base + in->row->offset) =
        arena_strdup(in->arena, written(node));
    return 0;
}

static int decode_restart(const struct field_context *in, const struct text_node *node, void *base)
{
    static const char *const words[] = { "Always", "OnFailure", "Never" };
    const char *word = scalar(node) ? written(node) : "";
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i]) == 0)
            return put_word(in, node, base);
    report_hint(in->report, field_bad_value(in, node, "\"%.40s\"", word),
                "Always, OnFailure or Never");
    return -1;
}

/* index:count, separated by commas */
static bool budgets(const char *s)
{
    for (;;) {
        size_t index = strspn(s, "0123456789");
        if (index == 0 || s[index] != ':')
            return false;
        s += index + 1;
        size_t count = strspn(s, "0123456789");
        if (count == 0 || (s[count] && s[count] != ','))
            return false;
        if (!s[count])
            return true;
        s += count + 1;
    }
}

static int decode_critical(const struct field_context *in, const struct text_node *node, void *base)
{
    const char *word = scalar(node) ? written(node) : "?";
    if (!*word || strcmp(word, "all") == 0 || strcmp(word, "none") == 0 || budgets(word))
        return put_word(in, node, base);
    report_hint(in->report, field_bad_value(in, node, "\"%.40s\"", word),
                "all, none, or index:count for single tasks: \"0:3,1:3\"");
    return -1;
}

const struct field_hooks fate_restart = { .decode = decode_restart, .value = "a word" };
const struct field_hooks fate_critical = { .decode = decode_critical, .value = "a word" };

/* ---- names ---- */

static bool object_name_ok(const char *s)
{
    static const char inner[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    size_t n = strlen(s);
    return n > 0 && s[strspn(s, inner)] == '\0' && !strchr("-.", s[0]) && !strchr("-.", s[n - 1]) &&
           !strstr(s, "..");
}

const struct field_chars fate_object_name = {
    .ok = object_name_ok,
    .wanted = "lower-case letters, digits, - and .",
};

static bool resource_name_ok(const char *s)
{
    static const char inner[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "._/-";
    return *s && strlen(s) <= 128 && s[strspn(s, inner)] == '\0';
}

const struct field_chars fate_resource_name = {
    .ok = resource_name_ok,
    .wanted = "cpu, memory, ephemeral-storage, or a device: nvidia.com/gpu",
};
