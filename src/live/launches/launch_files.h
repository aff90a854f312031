/* What lies on the server's machine for a launch: directories of the account, and files beside it
 * that are mounted or read. */
#ifndef LIVE_LAUNCHES_LAUNCH_FILES_H
#define LIVE_LAUNCHES_LAUNCH_FILES_H

#include "base/err.h"
#include "dialect/dialect.h"
#include "job/launch.h"
#include "live/launches/launch_server.h"

#define LAUNCH_CONFIG "config.json" /* the job's own settings, in the launch's user_dir */

struct launch_files {
    struct dialect_task job;       /* its spec, place and site; whichever task */
    const struct account *account; /* whose they are; NULL: the server's own */
    const char *code_dir;          /* shown where the job says; NULL: none */
    const char *work_dir;          /* relative URIs of data lead from there */
    bool there;                    /* an earlier launch of the round made the same ones */
};
/* Where the account's tasks make what they make, apart from the server's own. 0 or -1. */
int launch_files_make_dirs(const struct launch_server *, const struct account *,
                           const struct launch *, struct err *err);
/* Makes the files and adds what is mounted: data, code, files of the job's conventions. In arena. 0
 * or -1. */
int launch_files_add(const struct launch_server *, const struct launch_files *, struct arena *,
                     struct launch *, struct err *err);

#endif
