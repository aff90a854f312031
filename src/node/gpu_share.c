/* Writes gpu_share.py where Python finds it as sitecustomize: in a directory of the job's own, so
 * that nothing of it lies where other jobs would share it. */
#include "node/gpu_share.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "node/gpu_share_py.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool gpu_share_has(const struct pairs *env)
{
    const char *share = pairs_get(env, GPU_SHARE);
    return share && *share;
}

char *gpu_share_dir(const char *user_dir)
{
    return file_join(user_dir, "gpu_share");
}

const char *gpu_share_lacks_mps(const struct pairs *env)
{
    const char *dir = pairs_get(env, "CUDA_MPS_PIPE_DIRECTORY");
    char *text = NULL;
    size_t len;
    uint64_t pid = 0;
    struct err err;
    struct stat st;
    if (!gpu_share_has(env) || !dir)
        return NULL;
    AUTO_FREE char *path = file_join(dir, "nvidia-cuda-mps-control.pid"); /* the daemon's */
    AUTO_FREE char *control = file_join(dir, "control"); /* older ones write no pid */
    /* Never a pipe, which would hold up the agent: the directory may be the account's. */
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || file_read(path, 64, &text, &len, &err) < 0)
        return access(control, F_OK) == 0 ? NULL : dir;
    text[strcspn(text, " \n")] = '\0';
    bool read = scan_u64(text, 2, INT32_MAX, &pid);
    free(text);
    return read && (kill((pid_t)pid, 0) == 0 || errno == EPERM) ? NULL : dir;
}

int gpu_share_make(const char *dir, struct err *err)
{
    AUTO_FREE char *path = file_join(dir, "sitecustomize.py");
    if (file_mkdirs(dir, 0755, err) < 0)
        return -1;
    return file_replace(path, node_gpu_share_py, node_gpu_share_py_len, 0644, err);
}
