/* How figures of a device are printed: a row for each, with its unit and the number it is divided
 * by. A figure that the driver did not say is left out. */
#include "cli/device_text.h"

#include "base/buf.h"
#include "base/mem.h"
#include "cli/output.h"

#include <string.h>

#define TEXT_MAX 4096u

static const struct {
    const char *key, *unit;
    uint64_t by;
    bool quiet; /* nothing is said of none */
} figures[] = {
    { "utilisation", "% busy", 1, false }, { "memory_used", NULL, 1, false },
    { "temperature", " C", 1, false },     { "milliwatts", " W", 1000, false },
    { "sm_clock", " MHz", 1, false },      { "ecc_errors", " ECC errors", 1, true },
};

const char *device_throttle_text(struct arena *arena, const struct text_node *device)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    const struct text_node *list = text_get(device, "throttle");
    for (const struct text_node *why = list ? list->first : NULL; why; why = why->next)
        buf_addf(&out, "%s%s", out.len ? ", " : "", why->str ? why->str : "?");
    return arena_strdup(arena, buf_str(&out));
}

const char *device_figures_text(struct arena *arena, const struct text_node *device)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    char size[48];
    for (size_t i = 0; i < ARRAY_LEN(figures); i++) {
        uint64_t value = text_number(device, figures[i].key);
        if (!text_get(device, figures[i].key) || (figures[i].quiet && !value))
            continue;
        buf_puts(&out, out.len ? ", " : "");
        if (figures[i].unit)
            buf_addf(&out, "%llu%s", (unsigned long long)(value / figures[i].by), figures[i].unit);
        else
            buf_addf(&out, "%s used", out_size(size, value));
    }
    const char *slowed = device_throttle_text(arena, device);
    if (*slowed)
        buf_addf(&out, "%sslowed by %s", out.len ? ", " : "", slowed);
    return arena_strdup(arena, buf_str(&out));
}
