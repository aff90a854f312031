/* Concrete façades, in the order in which they are asked whose a request is. A new one is added
 * here and nowhere else. Apart from wire.c, which programs without a server use too. */
#include "main/wire.h"

#include "api/dlc/dlc.h"
#include "api/k8s/k8s.h"
#include "api/openpai/openpai.h"
#include "base/mem.h"

const struct facade *const *wire_facades(size_t *n)
{
    static const struct facade *const all[] = { &dlc_facade, &openpai_facade, &k8s_facade };
    *n = ARRAY_LEN(all);
    return all;
}
