/* Eight digits for a chain and for a segment of it, so that names sort as numbers do. Pure: no file
 * is looked at. */
#include "ship/chain_name.h"

#include "base/scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *chain_file(struct arena *a, uint64_t chain, uint64_t number)
{
    return number ? arena_printf(a, "%08" PRIu64 "/%08" PRIu64 ".tar", chain, number)
                  : arena_printf(a, "%08" PRIu64 "/base.tar", chain);
}

bool chain_of_name(const char *name, uint64_t *chain)
{
    return strlen(name) == CHAIN_DIGITS && scan_u64(name, 1, UINT32_MAX, chain);
}

bool chain_of_path(const char *path, uint64_t *chain)
{
    char name[CHAIN_DIGITS + 1];
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n < CHAIN_DIGITS || (n > CHAIN_DIGITS && path[n - CHAIN_DIGITS - 1] != '/'))
        return false;
    snprintf(name, sizeof name, "%.*s", CHAIN_DIGITS, path + n - CHAIN_DIGITS);
    return chain_of_name(name, chain);
}
