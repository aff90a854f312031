/* Fuzz target: any bytes as the error file of a rank, and as what it wrote at its end. What comes
 * out is text for a terminal: no control characters, bounded, and the summary prints it. */
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "launch/error_file.h"
#include "launch/summary.h"
#include "launch/tail.h"

#include <stdint.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TAIL_SIZE = 2048 };

static void check_text(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if ((*at < 0x20 && *at != '\n') || *at == 0x7f)
            BUG("byte %02x on the terminal", *at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLOSE int fd = memfd_create("error", MFD_CLOEXEC);
    AUTO_FREE char *path = mem_printf("/proc/self/fd/%d", fd);
    if (fd < 0 || file_write_all(fd, data, size) != 0)
        return 0;
    struct arena *arena = arena_create();
    struct error_file file = { .message = "" };
    struct buf out = BUF_INIT(1u << 20);
    char tail[TAIL_SIZE];
    (void)error_file_read(path, arena, &file);
    tail_clean((const char *)data, size, size % 2 != 0, tail, sizeof tail);
    check_text(tail);
    struct rdzv_victim death = {
        .death = { .code = 1, .message = file.message, .tail = tail, .error_file = file.callstack }
    };
    struct rdzv_end end = { .kind = RDZV_END_FAILED, .deaths = &death, .n_deaths = 1 };
    struct settings settings = { .script = "train.py", .redirects = { .all = 3 } };
    summary_print(&settings, &end, false, &out);
    if (!out.data || out.overflow)
        BUG("no summary");
    check_text(out.data);
    buf_fini(&out);
    arena_destroy(arena);
    return 0;
}
