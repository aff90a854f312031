/* Reading a job file here, without a server. */
#ifndef CLI_OFFLINE_H
#define CLI_OFFLINE_H

#include "cli/cmd.h"
#include "dialect/dialect.h"

struct offline_request {
    const char *text;
    size_t len;
    const char *from, *name, *queue;
    const struct opt_list *env, *set; /* NULL none */
    bool portable; /* for another place: what stands for this one's directories and user stays */
    bool shown;    /* to be looked at: it is good, also where every server refuses it */
};
struct offline {
    struct site site;
    struct dialect_result result;
    struct report report;
};
/* 0; or -1 with the problems in out->report. Everything lives in cli->arena. */
int offline_read(struct cli *, const struct offline_request *, struct offline *out);

#endif
