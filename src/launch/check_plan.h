/* What the nodes of a check's group do together: each says what it can, one decides for all. */
#ifndef LAUNCH_CHECK_PLAN_H
#define LAUNCH_CHECK_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECK_DEVICE_MAX 96

/* The numbers are on the wire. NOTHING: no part with torch; CPU: torch, on processors; FAILED: its
 * own part. */
enum check_can {
    CHECK_CAN_UNKNOWN,
    CHECK_CAN_NOTHING,
    CHECK_CAN_CPU,
    CHECK_CAN_CUDA,
    CHECK_CAN_HIP,
    CHECK_CAN_FAILED,
    CHECK_CAN_N
};
struct check_ability {
    enum check_can can;
    bool nccl;                     /* its torch has it (RCCL with HIP) */
    char device[CHECK_DEVICE_MAX]; /* the one it would use: kernel and PCI address; "": unknown */
};

enum check_backend { CHECK_BACKEND_NONE, CHECK_BACKEND_GLOO, CHECK_BACKEND_NCCL, CHECK_BACKEND_N };
enum check_because {
    CHECK_BECAUSE_NOTHING, /* nothing to say */
    CHECK_BECAUSE_FAILED,  /* `who` failed by itself */
    CHECK_BECAUSE_GONE,    /* `who` did not say what it can */
    CHECK_BECAUSE_NO_TORCH,
    CHECK_BECAUSE_NO_GPU,
    CHECK_BECAUSE_KIND, /* `who` and `other` have accelerators of two kinds */
    CHECK_BECAUSE_NO_NCCL,
    CHECK_BECAUSE_ONE_GPU, /* `who` and `other` share a device */
    CHECK_BECAUSE_N
};
struct check_plan {
    enum check_backend backend;
    enum check_because because;
    uint32_t who, other; /* indices in the group */
};
/* NCCL if all can and no two have the same device, else gloo if all have torch, else nothing. */
struct check_plan check_plan_make(const struct check_ability *, size_t n);
/* Does all-reduce belong to what nodes are compared by? Not where gloo stands in for NCCL. */
bool check_plan_counts(const struct check_plan *);

#endif
