/* Where torchrun puts files: BASE/RUNID_XXXXXXXX/attempt_N/LOCALRANK/{stdout.log,stderr.log,
 * error.json} and attempt_N/filtered_{stdout,stderr}.log, where BASE is --log-dir or a fresh
 * $TMPDIR/torchelastic_XXXXXXXX. With --log-dir /dev/null there are no files at all. */
#ifndef LAUNCH_STREAM_FILES_H
#define LAUNCH_STREAM_FILES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream_files {
    bool none;       /* --log-dir /dev/null */
    bool temporary;  /* BASE is ours */
    char *base;      /* absolute */
    char *run;       /* BASE/RUNID_XXXXXXXX; NULL until the first attempt */
    char *attempt;   /* RUN/attempt_N; NULL before */
    uint32_t number; /* of the attempt */
    uint32_t ranks;
    const char *log_dir, *run_id;
};
/* Texts are kept, not copied. Makes nothing yet. */
void stream_files_init(struct stream_files *, const char *log_dir, const char *run_id,
                       uint32_t ranks);
/* Empty directories below a temporary base are removed, and the base when it is empty then. */
void stream_files_fini(struct stream_files *);

/* Directories of an attempt; the same number again goes on with the same ones. */
int stream_files_attempt(struct stream_files *, uint32_t number, struct err *);
/* The rank's directory; an error file of an earlier round is gone afterwards. */
int stream_files_rank(struct stream_files *, uint32_t local_rank, struct err *);
/* ATTEMPT/LOCALRANK/NAME; malloc'ed. */
char *stream_files_path(const struct stream_files *, uint32_t local_rank, const char *name);
/* Opens for appending. The descriptor, or -1. */
int stream_files_open(const char *path, struct err *);
/* ATTEMPT/NAME of all ranks together, the same way. */
int stream_files_open_common(const struct stream_files *, const char *name, struct err *);

#endif
