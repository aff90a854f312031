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

/* Numbers that a driver may or may not say, with their key in lines and answers. Those of the last
 * sample: percent of time, degrees Celsius, MHz, bits of NVML's clocks event reasons; memory errors
 * count since the driver was loaded. Then what a device is: the node of the processors that are
 * near, and of an instance of MIG its position on its device, the ids of its GPU instance and
 * compute instance, and the minors of the files in /dev/nvidia-caps that open them. */
#define GPU_FIGURES(X)                                                                             \
    X(MEMORY_USED, "memory_used")                                                                  \
    X(UTILISATION, "utilisation")                                                                  \
    X(TEMPERATURE, "temperature")                                                                  \
    X(POWER, "milliwatts")                                                                         \
    X(SM_CLOCK, "sm_clock")                                                                        \
    X(MEMORY_CLOCK, "memory_clock")                                                                \
    X(THROTTLE, "throttle_bits")                                                                   \
    X(ECC, "ecc_errors")                                                                           \
    X(ECC_CORRECTED, "ecc_corrected")                                                              \
    X(NUMA, "numa_node")                                                                           \
    X(MIG, "instance")                                                                             \
    X(MIG_GI, "gpu_instance")                                                                      \
    X(MIG_CI, "compute_instance")                                                                  \
    X(CAP_GI, "gpu_instance_cap")                                                                  \
    X(CAP_CI, "compute_instance_cap")
enum gpu_figure {
#define GPU_FIGURE_ENUM(name_, key_) GPU_##name_,
    GPU_FIGURES(GPU_FIGURE_ENUM)
#undef GPU_FIGURE_ENUM
        GPU_FIGURE_N
};
const char *gpu_figure_key(enum gpu_figure);
struct gpu_number {
    bool has;
    uint64_t value;
};

/* How two devices of a machine reach each other. */
struct gpu_link {
    uint32_t to;      /* number of the other device */
    uint32_t nvlinks; /* between them, directly or through a switch */
    bool has_path;
    uint32_t path; /* NVML's nvmlGpuTopologyLevel_t: 0 one board ... 40 one NUMA node, 50 across */
};

struct gpu_device {
    /* The driver's, of an instance of MIG that of its device: ascending by PCI address, as with
     * CUDA_DEVICE_ORDER=PCI_BUS_ID. */
    uint32_t number;
    uint32_t minor;                 /* of /dev/nvidiaN */
    const char *model, *uuid, *pci; /* "" where the driver does not say */
    uint64_t memory;                /* bytes */
    struct gpu_number figures[GPU_FIGURE_N];
    struct gpu_process *processes;
    size_t n_processes;
    struct gpu_link *links;
    size_t n_links;
    const char *error; /* why it cannot be used; "" when it can */
    bool divided;      /* in MIG mode: its instances are given out instead */
    bool gone;         /* the driver does not list it any more, its number may be another's */
    bool offered;      /* a node has it, as its device number `slot` */
    bool barred;       /* an earlier server offered it, this one may not */
    uint32_t slot;
};
struct gpu_report {
    const char *driver; /* version; "" unknown */
    uint32_t cuda;      /* the newest that it runs: 13000 is 13.0; 0: unknown */
    const char *error;  /* why nothing, or not all, is known; "" when all is well */
    struct gpu_device *at;
    size_t n;
    /* Of each pair of slots, a row of n_slots for each: how near they are, more is nearer. NULL:
     * not known, or the same for all. */
    uint32_t *near;
    uint32_t n_slots;
};

/* Gives a slot to each device that `visible` names (the form of CUDA_VISIBLE_DEVICES: numbers or
 * beginnings of UUIDs, up to the first that is neither; NULL: all) and that has none yet, also to
 * one that fails now. A divided device stands for its instances. How many slots there are. */
uint32_t gpu_offer(struct arena *, struct gpu_report *, const char *visible);
/* Of devices that an earlier server gave slots to: marks those that `visible` leaves out. To be
 * asked once, before numbers have changed. */
void gpu_bar(struct gpu_report *, const char *visible);
/* How many devices that work `visible` names. */
uint32_t gpu_count_visible(const struct gpu_report *, const char *visible);
/* The device that a node gives out under that number; NULL: none. */
const struct gpu_device *gpu_in_slot(const struct gpu_report *, uint32_t slot);
/* As people name it: "0", of an instance "0:1". */
#define GPU_LABEL_MAX 32u
const char *gpu_label(const struct gpu_device *, char text[GPU_LABEL_MAX]);
/* The models of those offered, each once, joined by GPU_MODELS_APART; "" when none is. In arena. */
#define GPU_MODELS_APART " + "
const char *gpu_models(const struct gpu_report *, struct arena *);

/* What slows a device down, by the bits of GPU_THROTTLE: NULL after the last of them. Being idle is
 * none. */
const char *gpu_throttle(uint64_t bits, size_t *at);

/* What of a device a task opens besides /dev/nvidiaN: of an instance of MIG. */
struct gpu_part {
    bool is; /* else the whole device */
    uint32_t gi, ci;
    uint32_t caps[2]; /* minors of /dev/nvidia-caps/nvidia-capN */
    uint32_t n_caps;
};
struct gpu_part gpu_part_of(const struct gpu_device *);

#endif
