/* Which accelerators this launcher was given: what its node check has to use. */
#ifndef LAUNCH_CHECK_GRANT_H
#define LAUNCH_CHECK_GRANT_H

#include <stdint.h>

#define CHECK_GRANT_NAMES 256

enum check_grant_kind {
    CHECK_GIVEN_NONE,     /* no device here, or a list that is empty */
    CHECK_GIVEN_DECLARED, /* numbers of a declared node: no device of this machine */
    CHECK_GIVEN_LIST,     /* those of CUDA_VISIBLE_DEVICES (HIP_VISIBLE_DEVICES) */
    CHECK_GIVEN_ALL       /* no list: what the machine has */
};
struct check_grant {
    enum check_grant_kind given;
    uint32_t n;                    /* devices of LIST or ALL */
    char names[CHECK_GRANT_NAMES]; /* as they were named, "0,1"; "" for NONE */
};
/* From this process's environment; root: "" (tests give a directory that looks like a machine). */
void check_grant_read(const char *root, struct check_grant *out);

#endif
