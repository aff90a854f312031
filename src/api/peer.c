/* Programs of jobs as peers of the Unix socket: they have their job's rights, whatever their
 * account is. What was found is kept with the connection. */
#include "api/call.h"

#include "access/job_identity.h"

#include <poll.h>
#include <unistd.h>

static bool has_ended(const struct http_process *process)
{
    struct pollfd watched = { .fd = process->fd, .events = POLLIN };
    return process->fd >= 0 && poll(&watched, 1, 0) > 0;
}

static enum peer_kind find(struct call *call, struct generation *of)
{
    struct http_process process;
    if (!http_peer_process(call->request, &process))
        return PEER_OF_NO_JOB;
    int found =
        process.pid ? find_job_of_process(ctl_access(call->api->config.ctl), process.pid, of) : 0;
    /* Only while it lives is its number no other's. */
    bool ended = found < 0 || (found == 0 && has_ended(&process));
    if (process.fd >= 0)
        close(process.fd);
    return ended ? PEER_ENDED : found ? PEER_OF_JOB : PEER_OF_NO_JOB;
}

enum peer_kind peer_look(struct call *call, struct generation *of)
{
    uint64_t *kept = http_kept(call->request); /* the job; what it is, and the generation */
    *of = (struct generation){ .job = 0 };
    if (kept[1] == PEER_NOT_LOOKED) {
        enum peer_kind kind = find(call, of);
        kept[0] = of->job;
        kept[1] = (uint64_t)kind << 32 | of->number;
    }
    *of = (struct generation){ .job = kept[0], .number = (uint32_t)kept[1] };
    return (enum peer_kind)(kept[1] >> 32);
}
