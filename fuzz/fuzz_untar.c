/* Fuzz target: any bytes as a tar archive, looked at and unpacked below a fresh directory. Both say
 * the same, and beside the directory nothing is made. Each block gets the sum that a header has,
 * which chance would not find. */
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/untar.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK  512u
#define SUM_AT 148u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_it(int in, int dir)
{
    const struct untar_limits limits = { 1u << 20, 50 };
    struct untar_summary found;
    struct err err;
    (void)lseek(in, 0, SEEK_SET);
    return untar(in, dir, &limits, &found, &err);
}

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char top[] = "/tmp/muster-fuzz-untar.XXXXXX";
    struct err err;
    struct stat st;
    AUTO_CLOSE int in = memfd_create("tar", MFD_CLOEXEC);
    AUTO_FREE uint8_t *tar = mem_new(size + 1);
    memcpy(tar, data, size);
    put_sums(tar, size);
    if (in < 0 || file_write_all(in, tar, size) != 0 || !mkdtemp(top))
        BUG("no place to unpack in");
    AUTO_FREE char *inner = mem_printf("%s/in", top);
    if (mkdir(inner, 0700) != 0)
        BUG("no place to unpack in");
    AUTO_CLOSE int dir = open(inner, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (read_it(in, -1) != read_it(in, dir))
        BUG("looking and unpacking say different things");
    if (stat(top, &st) != 0 || st.st_nlink != 3)
        BUG("something was made outside");
    (void)file_remove_tree(top, &err);
    return 0;
}
