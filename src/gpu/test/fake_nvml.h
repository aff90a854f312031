/* A driver library whose answers a test sets (fake_nvml.c). */
#ifndef GPU_TEST_FAKE_NVML_H
#define GPU_TEST_FAKE_NVML_H

struct fake_pci { /* nvmlPciInfo_t */
    char short_id[16];
    unsigned domain, bus, device, ids, sub_ids;
    char id[32];
};
enum { FAKE_INSTANCES = 3 };
struct fake_nvml {
    int init, count_rc, handle_rc, memory_rc, memory_v2_rc, processes_rc; /* what they return */
    unsigned count, shut_down;
    const char *name, *instance_name;
    const char *pci; /* of device N, its last digit is N */
    unsigned long long used, process_memory;
    unsigned processes;
    int mig[FAKE_INSTANCES]; /* instances at these positions */
    unsigned links;          /* NVLinks that work */
    int link_type;           /* 2: to a switch */
    char link_to[32];        /* where the others end; not terminated where it is full */
    int path;                /* < 0: the driver does not say */
};
extern struct fake_nvml fake_nvml;

#endif
