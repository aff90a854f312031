/* Reads what a registry gave, so every number and list is bounded and every digest is checked for
 * its form: digests become names of files. What is not needed to run an image is not looked at. */
#include "image/document.h"

#include "base/mem.h"
#include "text/json.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PREFIX   "sha256:"
#define SIZE_TOP ((int64_t)1 << 50) /* bytes: more is no size of a layer */

static int wrong(const char *document, const char *why, struct err *err)
{
    return err_set(err, ERR_INPUT, "the image's %s %s", document, why);
}

static const struct text_node *parse(struct arena *arena, const char *document, const char *text,
                                     size_t len, struct err *err)
{
    struct report report;
    report_init(&report, arena);
    const struct text_node *root =
        len > IMAGE_DOCUMENT_MAX ? NULL : json_parse(arena, text, len, 0, &report);
    if (root && root->kind == TEXT_MAP)
        return root;
    wrong(document, len > IMAGE_DOCUMENT_MAX ? "is too large" : "is no JSON object", err);
    return NULL;
}

/* false: it is no SHA-256. */
static bool take_digest(const char *text, char out[IMAGE_DIGEST_LEN + 1])
{
    size_t prefix = strlen(PREFIX);
    if (strncmp(text, PREFIX, prefix) != 0 || strlen(text + prefix) != IMAGE_DIGEST_LEN ||
        strspn(text + prefix, "0123456789abcdef") != IMAGE_DIGEST_LEN)
        return false;
    memcpy(out, text + prefix, IMAGE_DIGEST_LEN + 1);
    return true;
}

static int take_blob(const struct text_node *node, const char *document, struct image_blob *out,
                     struct err *err)
{
    const struct text_node *size = text_get(node, "size");
    if (!take_digest(text_word(node, "digest"), out->digest))
        return wrong(document, "has a part without a SHA-256", err);
    if (!size || size->kind != TEXT_INT || size->integer < 0 || size->integer > SIZE_TOP)
        return wrong(document, "has a part without a size", err);
    out->size = (uint64_t)size->integer;
    return 0;
}

static bool runs_on(const struct text_node *entry, const char *architecture)
{
    const struct text_node *platform = text_get(entry, "platform");
    return strcmp(text_word(platform, "os"), "linux") == 0 &&
           strcmp(text_word(platform, "architecture"), architecture) == 0;
}

/* "it has amd64, arm64". */
static int no_architecture(const struct text_node *list, const char *architecture, struct err *err)
{
    char found[120] = "";
    size_t n = 0;
    for (const struct text_node *one = list->first; one && n + 40 < sizeof found; one = one->next) {
        const char *name = text_word(text_get(one, "platform"), "architecture");
        if (*name && strcmp(name, "unknown") != 0)
            n += (size_t)snprintf(found + n, sizeof found - n, "%s%.30s", n ? ", " : "", name);
    }
    err_set(err, ERR_CANNOT, "the image has nothing for %s, the processor of this node; it has %s",
            architecture, n ? found : "nothing");
    return err_hint(err, "build it for linux/%s", architecture);
}

int image_read_index(struct arena *arena, const char *text, size_t len, const char *architecture,
                     struct image_blob *manifest, struct err *err)
{
    const struct text_node *root = parse(arena, "index", text, len, err);
    const struct text_node *list = root ? text_get(root, "manifests") : NULL;
    struct image_blob found = { .size = 0 };
    if (!root)
        return -1;
    if (!list) {
        *manifest = found;
        return 0;
    }
    const struct text_node *one = list->kind == TEXT_LIST ? list->first : NULL;
    while (one && !runs_on(one, architecture))
        one = one->next;
    if (!one)
        return no_architecture(list, architecture, err);
    if (take_blob(one, "index", &found, err) != 0)
        return -1;
    *manifest = found;
    return 0;
}

/* By the end of its media type: "...tar", "...tar+gzip", "...tar.gzip", "...tar+zstd". */
static int take_packing(const char *type, enum image_packing *out, struct err *err)
{
    static const struct {
        const char *end;
        enum image_packing packing;
    } ends[] = { { "tar+gzip", IMAGE_GZIP },
                 { "tar.gzip", IMAGE_GZIP },
                 { "tar+zstd", IMAGE_ZSTD },
                 { "tar.zstd", IMAGE_ZSTD },
                 { ".tar", IMAGE_PLAIN } };
    size_t n = strlen(type);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        size_t end = strlen(ends[i].end);
        if (n < end || strcmp(type + n - end, ends[i].end) != 0)
            continue;
        *out = ends[i].packing;
        return 0;
    }
    return err_set(err, ERR_INPUT, "the image has a layer of the kind \"%.80s\", which is no tar",
                   type);
}

int image_read_manifest(struct arena *arena, const char *text, size_t len,
                        struct image_manifest *out, struct err *err)
{
    struct image_manifest found = { .n_layers = 0 };
    const struct text_node *root = parse(arena, "manifest", text, len, err);
    const struct text_node *layers = root ? text_get(root, "layers") : NULL;
    const struct text_node *config = root ? text_get(root, "config") : NULL;
    if (!root)
        return -1;
    if (!config || !layers || layers->kind != TEXT_LIST)
        return wrong("manifest", "has no configuration or no layers", err);
    if (layers->count > IMAGE_LAYERS_MAX)
        return wrong("manifest", "has more than 512 layers", err);
    if (take_blob(config, "manifest", &found.config, err) != 0)
        return -1;
    found.layers = ARENA_ARRAY(arena, layers->count, struct image_blob);
    for (const struct text_node *one = layers->first; one; one = one->next) {
        struct image_blob *layer = &found.layers[found.n_layers++];
        if (take_blob(one, "manifest", layer, err) != 0 ||
            take_packing(text_word(one, "mediaType"), &layer->packing, err) != 0)
            return -1;
    }
    *out = found;
    return 0;
}

/* ---- the configuration ---- */

static int take_env(struct arena *arena, const struct text_node *list, struct words *out,
                    struct err *err)
{
    if (!list || list->kind != TEXT_LIST)
        return 0;
    if (list->count > IMAGE_ENV_MAX)
        return wrong("configuration", "has more than 1024 variables", err);
    out->at = ARENA_ARRAY(arena, list->count, const char *);
    for (const struct text_node *one = list->first; one; one = one->next) {
        const char *equals = one->kind == TEXT_STR ? strchr(one->str, '=') : NULL;
        if (!equals || equals == one->str)
            return wrong("configuration", "has a variable that is no NAME=VALUE", err);
        out->at[out->n++] = one->str;
    }
    return 0;
}

static int take_diffs(struct arena *arena, const struct text_node *list, struct words *out,
                      struct err *err)
{
    if (!list || list->kind != TEXT_LIST || list->count > IMAGE_LAYERS_MAX)
        return wrong("configuration", "does not name its layers (rootfs.diff_ids)", err);
    out->at = ARENA_ARRAY(arena, list->count, const char *);
    for (const struct text_node *one = list->first; one; one = one->next) {
        char hex[IMAGE_DIGEST_LEN + 1];
        if (one->kind != TEXT_STR || !take_digest(one->str, hex))
            return wrong("configuration", "names a layer that is no SHA-256", err);
        out->at[out->n++] = arena_strdup(arena, hex);
    }
    return 0;
}

int image_read_config(struct arena *arena, const char *text, size_t len, struct image_config *out,
                      struct err *err)
{
    struct image_config found = { .work_dir = "" };
    const struct text_node *root = parse(arena, "configuration", text, len, err);
    const struct text_node *run = root ? text_get(root, "config") : NULL;
    if (!root)
        return -1;
    found.architecture = text_word(root, "architecture");
    found.os = text_word(root, "os");
    found.user = text_word(run, "User");
    const char *dir = text_word(run, "WorkingDir");
    if (*dir && (*dir != '/' || strlen(dir) >= 1024))
        return wrong("configuration", "has a working directory that is no absolute path", err);
    found.work_dir = dir;
    if (take_env(arena, run ? text_get(run, "Env") : NULL, &found.env, err) != 0 ||
        take_diffs(arena, text_get(text_get(root, "rootfs"), "diff_ids"), &found.diffs, err) != 0)
        return -1;
    *out = found;
    return 0;
}

const char *image_architecture(const char *machine)
{
    static const struct {
        const char *machine, *name;
    } all[] = { { "x86_64", "amd64" },    { "aarch64", "arm64" }, { "armv7l", "arm" },
                { "ppc64le", "ppc64le" }, { "s390x", "s390x" },   { "riscv64", "riscv64" } };
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (strcmp(all[i].machine, machine) == 0)
            return all[i].name;
    return machine;
}
