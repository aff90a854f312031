/* What one launcher was told to do: flags, PET_* defaults and the job it is in, decided and
 * checked. Made once (settings_make.h); read-only afterwards; texts live in its arena or argv. */
#ifndef LAUNCH_SETTINGS_H
#define LAUNCH_SETTINGS_H

#include "flags/flags.h"
#include "job/job.h"
#include "job/rendezvous.h"

#include <sys/resource.h>

enum rdzv_backend {
    RDZV_BACKEND_ALONE,    /* one node, or --standalone: the rendezvous is inside this process */
    RDZV_BACKEND_ENDPOINT, /* --rdzv-endpoint: whoever can listen there leads */
    RDZV_BACKEND_STATIC,   /* --node-rank/--master-addr/--master-port: node rank 0 leads at that
                            * address;   its first round's store answers on the same port */
    RDZV_BACKEND_AGENT /* inside a muster job: the server leads, reached through the agent's socket
                        */
};
enum program_kind { PROGRAM_SCRIPT, PROGRAM_MODULE, PROGRAM_BARE, PROGRAM_RUN_PATH };
enum binding { BIND_NONE, BIND_NODE, BIND_SOCKET, BIND_EXCLUSIVE, BIND_CORE_COMPLEX };
/* Where a rank's stream goes: bits for stdout (1) and stderr (2), per local rank or all. */
struct std_choice {
    uint8_t all;
    const struct std_rank {
        uint32_t local_rank;
        uint8_t bits;
    } * some;
    size_t n_some;
};

struct settings {
    enum launch_name name;
    enum rdzv_backend backend;
    struct rdzv_settings rdzv;
    const char *run_id; /* decided: given, the job's, a random UUID, or "none" (static) */
    const char *token;  /* $MUSTER_RDZV_TOKEN or --rdzv-conf token=...; NULL: none */
    const char *host;   /* endpoint or master address; NULL when alone or inside a job */
    uint16_t port;
    const char *agent_socket, *agent_cookie; /* inside a muster job */
    const char *local_addr;                  /* NULL: found out */
    uint32_t node_rank;                      /* or RDZV_ANY_RANK */
    uint32_t ranks;                          /* of this node, auto/cpu/gpu counted */
    const char *role;
    bool strict_quorum;
    bool count_per_agent; /* TORCHELASTIC_RESTART_COUNT is this launcher's, as torchrun's */

    enum program_kind kind;
    const char *python; /* interpreter: $PYTHON_EXEC, else python3/python of PATH */
    const char *script; /* file, module or program as given */
    struct words args;  /* of the script */

    bool stderr_direct;  /* --no-stderr-tail: ranks have the launcher's own stderr */
    const char *log_dir; /* NULL: a temporary directory when one is needed */
    struct std_choice redirects, tee;
    struct words out_filters, err_filters; /* duplicate-std*-filters */
    const uint32_t *shown;                 /* --local-ranks-filter; NULL: all */
    size_t n_shown;
    bool events_on_console; /* --event-log-handler=console */
    bool no_stderr_tail; /* ranks have the launcher's own stderr; the summary has no last lines */

    const char *signals_said; /* the list as it was given: ranks see it so */
    int signals[32];          /* forwarded to the ranks, then the launcher ends */
    size_t n_signals;
    uint64_t shutdown_ms;   /* between SIGTERM and SIGKILL */
    const char *timer_file; /* pipe of the hang watchdog; NULL: none was asked for */
    bool virtual_local_rank;
    enum binding binding;
    bool warm;
    const char *preload; /* modules, comma separated; NULL: those found in a running rank */
    uint32_t beat_ms, silence_ms;
    struct rlimit files; /* RLIMIT_NOFILE as it was: ranks get it back; all 0: unchanged */
    /* dlrover-run's own */
    const char *accelerator, *membind;
    uint32_t training_port;
};

#endif
