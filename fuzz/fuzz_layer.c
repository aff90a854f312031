/* Fuzz target: any bytes as two layers of an image, one applied over the other. Whatever names,
 * links and whiteouts say, nothing outside the directory is made, changed or removed, and what was
 * made can be removed again. The documents of an image are read from the same bytes. Each block
 * gets the sum that a header has, which chance would not find. */
#include "base/file.h"
#include "base/mem.h"
#include "node/fetch/layer.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK  512u
#define SUM_AT 148u
#define KEPT   "this stays"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_sums(uint8_t *data, size_t size)
{
    for (uint8_t *block = data; size >= BLOCK; block += BLOCK, size -= BLOCK) {
        unsigned sum = 0;
        memset(block + SUM_AT, ' ', 8);
        for (size_t i = 0; i < BLOCK; i++)
            sum += block[i];
        for (size_t i = 0; i < 6; i++)
            block[SUM_AT + i] = (uint8_t)('0' + (sum >> (15 - 3 * i) & 7));
    }
}

static void apply(const uint8_t *tar, size_t size, int root, struct layer_limits *limits)
{
    struct err err;
    AUTO_CLOSE int in = memfd_create("layer", MFD_CLOEXEC);
    if (in < 0 || file_write_all(in, (const char *)tar, size) != 0 || lseek(in, 0, SEEK_SET) != 0)
        BUG("no place for a layer");
    const struct layer layer = { .fd = in, .packing = IMAGE_PLAIN, .diff = "" };
    if (layer_apply(&layer, root, limits, &err) == 0)
        BUG("a layer without its SHA-256 was taken");
}

static void read_documents(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create();
    struct image_blob one;
    struct image_manifest manifest;
    struct image_config config;
    struct err err;
    AUTO_FREE char *text = mem_new(size + 1);
    memcpy(text, data, size); /* it may have no end */
    size_t len = strlen(text);
    (void)image_read_index(arena, text, len, "amd64", &one, &err);
    (void)image_read_manifest(arena, text, len, &manifest, &err);
    (void)image_read_config(arena, text, len, &config, &err);
    arena_destroy(arena);
}

static void check_outside(const char *top)
{
    AUTO_FREE char *path = mem_printf("%s/kept", top);
    AUTO_FREE char *text = NULL;
    struct stat dir, file;
    size_t len = 0;
    if (stat(top, &dir) != 0 || dir.st_nlink != 3 || lstat(path, &file) != 0 ||
        !S_ISREG(file.st_mode) || file.st_nlink != 1 || (file.st_mode & 07777) != 0600 ||
        file_read(path, 64, &text, &len, NULL) != 0 || strcmp(text, KEPT) != 0)
        BUG("something outside was touched");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char top[] = "/tmp/muster-fuzz-layer.XXXXXX";
    struct layer_limits limits = { .bytes = 1u << 20, .entries = 50 };
    AUTO_FREE uint8_t *tar = mem_new(size + 1);
    read_documents(data, size);
    memcpy(tar, data, size);
    put_sums(tar, size);
    if (!mkdtemp(top))
        BUG("no place to unpack in");
    AUTO_FREE char *inner = mem_printf("%s/in", top);
    AUTO_FREE char *kept = mem_printf("%s/kept", top);
    if (mkdir(inner, 0755) != 0 || file_replace(kept, KEPT, strlen(KEPT), 0600, NULL) != 0)
        BUG("no place to unpack in");
    AUTO_CLOSE int root = open(inner, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t half = size / BLOCK / 2 * BLOCK;
    apply(tar, half, root, &limits);
    apply(tar + half, size - half, root, &limits);
    check_outside(top);
    if (file_remove_tree(top, NULL) != 0)
        BUG("what was made cannot be removed");
    return 0;
}
