/* Errors of accelerators and of what connects them, as PyTorch, CUDA, NCCL and the kernel's driver
 * print them. */
#ifndef JOB_DEVICE_ERROR_H
#define JOB_DEVICE_ERROR_H

#include "job/ending.h"
#include "job/job.h"

/* Name, class of the end, one clause for people. A node's error and one of the network between
 * nodes are the platform's doing. The first that is found counts: what broke a device also breaks
 * the others' collectives. */
#define DEVICE_ERRORS(X)                                                                           \
    X(ECC, PLATFORM, "the memory of its GPU has an error that cannot be corrected (ECC)")          \
    X(LOST, PLATFORM, "its GPU, or a link of it, failed")                                          \
    X(MEMORY, USER, "its GPU ran out of memory")                                                   \
    X(ASSERT, USER, "a kernel of it failed on the GPU (device-side assert or bad address)")        \
    X(NCCL_USE, USER, "it used NCCL wrongly")                                                      \
    X(NCCL, PLATFORM, "communication between GPUs failed (NCCL)")                                  \
    X(NO_CUDA, USER, "its PyTorch is built without CUDA")                                          \
    X(UNUSABLE, PLATFORM, "a GPU that it was given cannot be used")
#define DEVICE_ERROR_ENUM(id, class, text) DEVICE_ERROR_##id,
enum device_error { DEVICE_ERROR_NONE, DEVICE_ERRORS(DEVICE_ERROR_ENUM) DEVICE_ERROR_N };
#undef DEVICE_ERROR_ENUM

/* Of an attempt whose program failed by itself, with a code below 126 or by abort(): what the last
 * lines of its output say. NONE of every other. */
enum device_error device_error_of(const struct ending *);
enum end_class device_error_class(enum device_error);
const char *device_error_text(enum device_error);

#endif
