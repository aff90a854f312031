/* Lists of hosts, as launchers take them: how many there are, and how many slots they have. */
#ifndef CLI_LINE_HOSTS_H
#define CLI_LINE_HOSTS_H

#include "base/arena.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct line_host {
    const char *name;
    uint32_t slots; /* 0: not said */
};
struct line_hosts {
    struct line_host *at;
    size_t n, cap;
};
/* "a:4,b:4"; a host named twice has the slots of both. Adds to *hosts. */
int line_hosts_list(struct arena *, const char *option, const char *text, struct line_hosts *,
                    struct err *err);
/* A file of lines HOST, HOST:4 or HOST slots=4. */
int line_hosts_file(struct arena *, const char *option, const char *path, struct line_hosts *,
                    struct err *err);

#endif
