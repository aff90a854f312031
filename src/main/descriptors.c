/* Numbers, not promises: http/visits.c sees to it that connections stay below the bound, the engine
 * that there are no more agents. */
#include "main/descriptors.h"

#include "base/log.h"

#include <sys/resource.h>

enum {
    OWN = 20,   /* open in every server: records, loop, listening sockets */
    SPARE = 16, /* opened for a moment: files of records, launches and logs, spawning */
    LEAST = 64, /* below that nothing of it would work */
    MOST = 1 << 20,
};

int descriptors_divide(uint64_t limit, struct descriptors *d, struct err *err)
{
    if (limit < LEAST) {
        err_set(err, ERR_CANNOT, "this process may have %llu open files, a server needs %d",
                (unsigned long long)limit, LEAST);
        return err_hint(err, "raise the hard limit (ulimit -Hn, LimitNOFILE of a service): 1024 "
                             "serve a few people, 65536 many");
    }
    const int most = limit < MOST ? (int)limit : MOST, spare = SPARE + most / 64;
    const int room = most - OWN - spare;
    *d = (struct descriptors){
        .limit = limit,
        .bound = most - spare,
        .agents = (unsigned)room / 10 * 3 / 2, /* a connection and a pidfd each */
        .connections = (uint64_t)room / 10 * 7,
    };
    return 0;
}

int descriptors_open(struct descriptors *d, struct err *err)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return err_sys(err, "the limit of open files");
    const rlim_t was = files.rlim_cur;
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0) {
        log_warn("server.files", "limit=%llu", (unsigned long long)was);
        files.rlim_cur = was;
    }
    return descriptors_divide(files.rlim_cur, d, err);
}
