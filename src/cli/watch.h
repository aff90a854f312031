/* Following one job to its end on the terminal: its phases and its output, merged, through server
 * restarts, with Ctrl-C. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "cli/cmd.h"

struct watch {
    uint64_t number;
    uint64_t tasks;
    const char *work_dir;
    bool to_stderr; /* phases and output go there: stdout is kept for a document */
    bool silent;    /* neither is shown */
    bool raw;       /* output as it is, also on a terminal */
    /* run -i: what is typed goes to this task, whose output goes to task_out; NULL: nobody types
     */
    const char *typed;
    int task_out; /* a descriptor */
    bool tty;     /* the task is on a terminal */
};
enum watch_end { WATCH_ENDED, WATCH_HELD, WATCH_LEFT /* Ctrl-C: the job goes on */ };
int watch_job(struct cli *, const struct watch *, enum watch_end *, struct err *err);

#endif
