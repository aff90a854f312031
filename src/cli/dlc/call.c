/* The flags of one call of `dlc`. They stay texts until a verb wants a number, because a flag that
 * no verb knows is a parameter of the job, whose dialect reads it. */
#include "cli/dlc/call.h"

#include "base/scan.h"

#include <strings.h>

const char *dlc_flag(const struct dlc_call *c, const char *name, const char *absent)
{
    const struct text_node *node = text_get(c->flags, name);
    return node ? node->str : absent;
}

bool dlc_flag_on(const struct dlc_call *c, const char *name)
{
    return strcasecmp(dlc_flag(c, name, "false"), "true") == 0;
}

int dlc_flag_number(const struct dlc_call *c, const char *name, uint64_t max, uint64_t *value,
                    struct err *err)
{
    const char *text = dlc_flag(c, name, NULL);
    if (!text || scan_u64(text, 1, max, value))
        return 0;
    err_set(err, ERR_INPUT, "--%s: \"%.40s\" is no number of this kind", name, text);
    return err_hint(err, "1 to %llu", (unsigned long long)max);
}
