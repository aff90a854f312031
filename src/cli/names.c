/* Reading what operands name: "ROLE/INDEX" as a task, and a path as a job file, which is read whole
 * within a bound. Errors say what was expected. */
#include "cli/names.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "cli/output.h"
#include "text/tree.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int names_task(struct arena *a, const char *text, struct task_name *out, struct err *err)
{
    const char *slash = strrchr(text, '/');
    uint64_t index = 0;
    if (slash && (slash == text || !scan_u64(slash + 1, 0, UINT32_MAX, &index))) {
        err_set(err, ERR_INPUT, "\"%.80s\" is not a task", text);
        return err_hint(err, "write role/index, for example worker/0");
    }
    out->role = slash ? arena_strndup(a, text, (size_t)(slash - text)) : arena_strdup(a, text);
    out->has_index = slash != NULL;
    out->index = (uint32_t)index;
    return 0;
}

int names_read_job_file(const char *path, char **text, size_t *len, struct err *err)
{
    struct stat st;
    char size[48];
    if (file_read(path, TEXT_MAX_BYTES, text, len, err) == 0)
        return 0;
    if (err->code == ERR_TOO_LARGE) {
        if (strcmp(path, "-") != 0 && stat(path, &st) == 0)
            err_set(err, ERR_TOO_LARGE, "%s is %s, a job file has at most 4 MiB", path,
                    out_size(size, (uint64_t)st.st_size));
        else
            err_set(err, ERR_TOO_LARGE, "the job on stdin is larger than 4 MiB");
        return err_hint(err, "keep data out of the job file: name it under inputs");
    }
    return -1;
}

int names_need(const char *path, struct err *err)
{
    struct stat st;
    if (strstr(path, "://") || stat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR))
        return 0;
    return err_set(err, ERR_INPUT, "%s: %s", path, strerror(errno));
}
