/* Why something happens to a job or a task, as data: what the core decides is handed on in this
 * form. wording.h makes sentences of it, for rows and events. */
#ifndef LIVE_REASON_H
#define LIVE_REASON_H

#include <stdint.h>

struct bundle_answer;
struct depend_answer;
struct ending;
struct job_row;
struct live_job;
struct sentence;
struct verdict;

enum reason_kind {
    REASON_SAID, /* text: words of others: an engine, a front end, a launcher */
    /* by whom: text */
    REASON_STOPPED,
    REASON_SUSPENDED,
    REASON_RESUMED,
    REASON_RESTARTED,
    REASON_FAILED,
    REASON_PRIORITY, /* n: it has this one now */
    /* where it begins: text is a directory or an archive; n: 1 when it is held until then */
    REASON_IN_COPY,
    REASON_WITH_CODE,
    REASON_IN_DIRECTORY,
    REASON_FRESH,
    /* another job: other */
    REASON_REPLACED,
    REASON_MAKES_ROOM,
    REASON_DEPENDS, /* depend */
    REASON_BUNDLE,  /* bundle */
    /* waiting and places */
    REASON_BEHIND,          /* n jobs are before it */
    REASON_SLOT,            /* its array runs n at a time */
    REASON_ASKS_ALLOCATION, /* of its own */
    REASON_AGENT_ROOM,      /* the server has none for its agents */
    REASON_BID,             /* below the price */
    REASON_CUT_OFF,         /* its places were not all recorded */
    REASON_PLACED,          /* job: the places that it has */
    REASON_UP,              /* n of most tasks */
    REASON_VERDICT,         /* verdict, of job */
    /* limits */
    REASON_RAN_LONG,    /* ms: its limit */
    REASON_WAITED_LONG, /* said: what it waited for */
    REASON_SPENT,       /* n: restarts that it had; after what because says */
    REASON_UNREADABLE,  /* its record */
    /* tasks: job, flat */
    REASON_STARTED,     /* n: its process */
    REASON_ENDED,       /* ending: of an attempt; text: what others remark of it, or NULL */
    REASON_AGAIN,       /* because; ms: later; n: the next attempt, of most, 0: of any number */
    REASON_FIRST,       /* the first of the job that died, or several */
    REASON_AVOIDS,      /* n: its failures on its node */
    REASON_LEFT_ENOUGH, /* the same, and most: nodes were left */
    REASON_OTHER_PORT,  /* n: which of its port ranges is another than the preferred one */
    REASON_N
};

struct reason {
    enum reason_kind kind;
    const char *text;
    const struct reason *because;
    const struct job_row *other;
    const struct depend_answer *depend;
    const struct bundle_answer *bundle;
    const struct sentence *said;
    const struct live_job *job;
    const struct ending *ending;
    const struct verdict *verdict;
    uint64_t ms;
    uint32_t flat, n, most;
};

#endif
