/* What the driver's own program says of a machine's accelerators: the host of a machine is static
 * and cannot load the driver's library. It is a process of its own with a deadline. */
#ifndef NODE_SMI_H
#define NODE_SMI_H

#include "base/arena.h"
#include "wire/host.h"

#include <uv.h>

struct smi_list {
    struct wire_host_device *at;
    uint32_t n;
    const char *error; /* why not all are known; "" when all is well */
};

/* The lines that nvidia-smi prints for SMI_QUERY. Texts are in arena. proc: where the driver shows
 * its devices (SMI_PROC), which says the number of a device's file; where it does not, that is the
 * device's position. */
#define SMI_QUERY "index,pci.bus_id,uuid,memory.total,mig.mode.current,name"
#define SMI_PROC  "/proc/driver/nvidia/gpus"
void smi_read(struct arena *, const char *text, const char *proc, struct smi_list *);

/* Asks once more; an answer that is on its way already is waited for. done: from the loop, once for
 * each call, or not at all when it was destroyed. Without a driver: no devices, and no error. */
struct smi;
struct smi *smi_create(uv_loop_t *, void (*done)(void *arg, const struct smi_list *), void *arg);
void smi_ask(struct smi *);
void smi_destroy(struct smi *); /* NULL-safe */

#endif
