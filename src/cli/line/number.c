/* The number of an option. A launcher's own message about a wrong one is never seen, because the
 * line is read before any launcher is started. */
#include "cli/line/number.h"

#include "base/scan.h"

int line_number(const char *option, const char *text, uint64_t least, uint64_t most, uint32_t *n,
                struct err *err)
{
    uint64_t value;
    if (!text || !scan_u64(text, least, most, &value)) {
        err_set(err, ERR_INPUT, "%.60s is \"%.60s\"", option, text ? text : "");
        return err_hint(err, "a whole number from %llu to %llu", (unsigned long long)least,
                        (unsigned long long)most);
    }
    *n = (uint32_t)value;
    return 0;
}
