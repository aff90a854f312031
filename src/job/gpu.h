/* What the driver of a machine's accelerators says of them, and which of them are offered to tasks.
 */
#ifndef JOB_GPU_H
#define JOB_GPU_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu_process {
    uint32_t pid;
    uint64_t memory; /* bytes of the device; 0: the driver does not say */
};
struct gpu_device {
    uint32_t number; /* the driver's: ascending by PCI address, as with CUDA_DEVICE_ORDER=PCI_BUS_ID
                      */
    uint32_t minor;  /* of /dev/nvidiaN */
    const char *model, *uuid, *pci; /* "" where the driver does not say */
    uint64_t memory, memory_used;   /* bytes */
    /* Of the last sample: percent of time, degrees Celsius; 0 where the driver does not say. */
    uint32_t utilisation, temperature, milliwatts;
    uint64_t ecc_errors; /* that could not be corrected, since the driver was loaded */
    struct gpu_process *processes;
    size_t n_processes;
    const char *error; /* why it cannot be used; "" when it can */
    bool offered;      /* a node gives it out, as its device number `slot` */
    uint32_t slot;
};
struct gpu_report {
    const char *driver; /* version; "" unknown */
    uint32_t cuda;      /* the newest that it runs: 13000 is 13.0; 0: unknown */
    const char *error;  /* why nothing, or not all, is known; "" when all is well */
    struct gpu_device *at;
    size_t n;
};

/* Offers the devices that work and that `visible` names (the form of CUDA_VISIBLE_DEVICES: numbers
 * or beginnings of UUIDs, up to the first that is neither; NULL: all). How many. */
uint32_t gpu_offer(struct gpu_report *, const char *visible);
/* The device that a node gives out under that number; NULL: none. */
const struct gpu_device *gpu_in_slot(const struct gpu_report *, uint32_t slot);
/* The models of those offered, each once, joined by GPU_MODELS_APART; "" when none is. In arena. */
#define GPU_MODELS_APART " + "
const char *gpu_models(const struct gpu_report *, struct arena *);

#endif
