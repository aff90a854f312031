/* What a store may answer, and what a file of credentials may hold: read without a fault, inside of
 * what is there. */
#include "ship/s3_credentials.h"
#include "ship/s3_xml.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_answer(struct xml_span all)
{
    char key[32];
    struct xml_span rest = all, one;
    while (xml_next(&rest, "Contents", &one)) {
        if (one.at < all.at || one.at + one.len > rest.at || rest.at + rest.len != all.at + all.len)
            abort();
        xml_text(one, "Key", key, sizeof key);
        if (strlen(key) >= sizeof key)
            abort();
    }
    xml_text(all, "Code", key, sizeof key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct s3_credentials found = { .key = NULL };
    char *copy = malloc(size + 1);
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    read_answer((struct xml_span){ .at = copy, .len = size }); /* it has no 0 behind it */
    copy[size] = '\0';
    struct arena *arena = arena_create();
    s3_read_profile(arena, copy, "default", &found);
    if (found.key && !*found.key)
        abort();
    arena_destroy(arena);
    free(copy);
    return 0;
}
