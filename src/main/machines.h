/* Machines of a server: their engine, those that the records have, what HTTP does with them. */
#ifndef MAIN_MACHINES_H
#define MAIN_MACHINES_H

#include "api/machine_calls.h"
#include "base/err.h"
#include "engine/machines/machines.h"
#include "main/agents.h"
#include "main/fencer.h"
#include "main/packer.h"

struct ctl;

/* One engine of both; *machines is that of machines alone. */
struct engine *machines_beside(struct engine *local, const struct machines_config *,
                               struct engine **machines);
int machines_load(struct engine *machines, struct ctl *, struct err *); /* before recovery */
struct api_machines machines_served(struct engine *machines);           /* but for put_where */

#endif
