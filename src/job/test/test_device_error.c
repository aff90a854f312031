/* What programs print when a device fails (PyTorch, NCCL, the driver's Xid), as classes of errors.
 * Endings that say nothing of a device, or that somebody else caused, are of no class. */
#include "job/device_error.h"

#include "base/mem.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SAYS(text_)                                                                                \
    {                                                                                              \
        .exited = true, .code = 1, .by = BY_ITSELF, .tail = (text_)                                \
    }

static const struct {
    struct ending ending;
    enum device_error error;
} rows[] = {
    { SAYS("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 80.00 GiB."),
      DEVICE_ERROR_MEMORY },
    { SAYS("RuntimeError: CUDA error: out of memory"), DEVICE_ERROR_MEMORY },
    { SAYS("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`"),
      DEVICE_ERROR_MEMORY },
    { SAYS(
          "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
          "allocate 17179869184 bytes."),
      DEVICE_ERROR_MEMORY },
    { SAYS("cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,589,934,592 bytes"),
      DEVICE_ERROR_MEMORY },
    { SAYS(
          "ResourceExhaustedError: OOM when allocating tensor with shape[4096,4096] and type float "
          "on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"),
      DEVICE_ERROR_MEMORY },
    { SAYS("CUDA error at x.cu:66 code=2(cudaErrorMemoryAllocation) \"cudaMalloc(&p, n)\""),
      DEVICE_ERROR_MEMORY },
    { SAYS("thrust::system_error: trivial_device_copy: cudaErrorIllegalAddress"),
      DEVICE_ERROR_ASSERT },
    { SAYS("CUDA error at x.cu:70 code=214(cudaErrorECCUncorrectable)"), DEVICE_ERROR_ECC },
    { SAYS("torch.AcceleratorError: CUDA error: device-side assert triggered"),
      DEVICE_ERROR_ASSERT },
    { SAYS("RuntimeError: CUDA error: an illegal memory access was encountered"),
      DEVICE_ERROR_ASSERT },
    { SAYS("RuntimeError: CUDA error: uncorrectable ECC error encountered"), DEVICE_ERROR_ECC },
    { SAYS("CUDA_ERROR_ECC_UNCORRECTABLE"), DEVICE_ERROR_ECC },
    { SAYS("torch.distributed.DistBackendError: NCCL error in: x.cpp:77, unhandled system error\n"
           "ncclSystemError: System call (e.g. socket, malloc) or external library call failed"),
      DEVICE_ERROR_NCCL },
    { SAYS("torch.distributed.DistBackendError: NCCL error in: x.cpp:77, invalid usage\n"
           "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\n"
           "Last error:\nDuplicate GPU detected : rank 1 and rank 0 both on CUDA device 17000"),
      DEVICE_ERROR_NCCL_USE },
    { { .signal = SIGABRT,
        .by = BY_ITSELF,
        .tail = "[rank1]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5)" },
      DEVICE_ERROR_NCCL },
    { SAYS("NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus."), DEVICE_ERROR_LOST },
    { SAYS("NVRM: Xid (PCI:0000:17:00): 48, pid=1, Double Bit ECC Error"), DEVICE_ERROR_ECC },
    { SAYS("NVRM: Xid (PCI:0000:17:00): 31, pid=1, Ch 8, MMU Fault"), DEVICE_ERROR_ASSERT },
    { SAYS("NVRM: Xid (PCI:0000:17:00): 43, pid=1"), DEVICE_ERROR_NONE },
    { SAYS("ncclUnhandledCudaError\nRuntimeError: CUDA error: uncorrectable ECC error encountered"),
      DEVICE_ERROR_ECC }, /* what broke the collective */
    { SAYS("AssertionError: Torch not compiled with CUDA enabled"), DEVICE_ERROR_NO_CUDA },
    { SAYS(
          "n1 failed the node check: torch: GPU 0 was granted, but torch 2.13.0+cpu in /bin/python "
          "is built without CUDA"),
      DEVICE_ERROR_NO_CUDA },
    { SAYS("n1 failed the node check: torch: GPU 0 was granted, but torch 2.13.0 can use 0 of 1"),
      DEVICE_ERROR_UNUSABLE },
    { SAYS("torch: GPU 7 was granted, but CUDA has no such device: it sees 1 of 2"),
      DEVICE_ERROR_UNUSABLE },
    { SAYS("KeyError: 'lr'"), DEVICE_ERROR_NONE },
    { { .exited = true, .code = 1 }, DEVICE_ERROR_NONE },
    { { .exited = true, .by = BY_ITSELF, .tail = "CUDA out of memory, smaller batch" },
      DEVICE_ERROR_NONE },
    { { .exited = true, .code = 137, .by = BY_ITSELF, .tail = "CUDA out of memory" },
      DEVICE_ERROR_NONE },
    { { .exited = true, .code = 1, .by = BY_USER, .tail = "CUDA out of memory" },
      DEVICE_ERROR_NONE },
    { { .exited = true, .code = 1, .oom = true, .tail = "CUDA out of memory" }, DEVICE_ERROR_NONE },
    { { .lost = true, .tail = "CUDA out of memory" }, DEVICE_ERROR_NONE },
};

static void texts_are_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (device_error_of(&rows[i].ending) != rows[i].error)
            fail_msg("row %zu: %d, not %d", i, (int)device_error_of(&rows[i].ending),
                     (int)rows[i].error);
}

static void errors_have_classes(void **state)
{
    (void)state;
    assert_int_equal(device_error_class(DEVICE_ERROR_MEMORY), END_USER);
    assert_int_equal(device_error_class(DEVICE_ERROR_ASSERT), END_USER);
    assert_int_equal(device_error_class(DEVICE_ERROR_ECC), END_PLATFORM);
    assert_int_equal(device_error_class(DEVICE_ERROR_LOST), END_PLATFORM);
    assert_int_equal(device_error_class(DEVICE_ERROR_NCCL), END_PLATFORM);
    for (int i = DEVICE_ERROR_NONE + 1; i < DEVICE_ERROR_N; i++)
        assert_non_null(device_error_text((enum device_error)i));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(texts_are_known),
                                        cmocka_unit_test(errors_have_classes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
