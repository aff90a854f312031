/* The façades of this server, in the order they are asked. A new one is added here and nowhere
 * else.
 */
#include "main/wire.h"

#include "api/dlc/dlc.h"
#include "base/mem.h"

const struct facade *const *wire_facades(size_t *n)
{
    static const struct facade *const all[] = { &dlc_facade, NULL };
    *n = ARRAY_LEN(all) - 1;
    return all;
}
