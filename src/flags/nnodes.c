/* MIN[:MAX], as torch.distributed.run parses --nnodes (parse_min_max_nnodes), with its mistakes
 * told apart. */
#include "flags/flags.h"

#include "base/scan.h"

#include <string.h>

int flags_nnodes(const struct flags *flags, struct arena *a, uint32_t most, uint32_t *least,
                 uint32_t *all, struct err *err)
{
    const char *text = flags_text(flags, "nnodes"), *colon = strchr(text, ':');
    const char *source = flags_source(flags, a, "nnodes");
    const char *first = colon ? arena_strndup(a, text, (size_t)(colon - text)) : text;
    uint64_t min, max;
    if (!scan_u64(first, 0, UINT32_MAX, &min) ||
        !scan_u64(colon ? colon + 1 : first, 0, UINT32_MAX, &max)) {
        err_set(err, ERR_LATE, "%s is \"%.60s\"", source, text);
        return err_hint(err, "a number of nodes, or the fewest and the most: 4, or 2:4");
    }
    if (min == 0) {
        err_set(err, ERR_LATE, "%s=%s: a job has at least one node", source, text);
        return err_hint(err, max ? "--nnodes=1:%llu" : "--nnodes=1", (unsigned long long)max);
    }
    if (min > max) {
        err_set(err, ERR_LATE, "%s=%s: the fewest are more than the most", source, text);
        return err_hint(err, "--nnodes=%llu:%llu", (unsigned long long)max,
                        (unsigned long long)min);
    }
    if (max > most) {
        err_set(err, ERR_LATE, "%s=%s: %llu nodes are too many", source, text,
                (unsigned long long)max);
        return err_hint(err, "at most %u", most);
    }
    *least = (uint32_t)min;
    *all = (uint32_t)max;
    return 0;
}
