/* Slurm's commands as children beside the loop: each with a deadline, at most one of a kind at a
 * time for each account, no shell. A command that is late is killed, and its answer is "Slurm
 * cannot be asked". */
#ifndef ENGINE_SLURM_COMMANDS_H
#define ENGINE_SLURM_COMMANDS_H

#include "base/err.h"
#include "job/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct account;

enum slurm_command { SLURM_SBATCH, SLURM_SCANCEL, SLURM_SINFO, SLURM_SQUEUE, SLURM_COMMAND_N };
const char *slurm_command_name(enum slurm_command);

struct uv_loop_s;
struct slurm_commands;
#define SLURM_USER "%u" /* in a prefix: the name of the account that the command is to run as */
#define SLURM_AS                                                                                   \
    "run-as" /* how program is called: SLURM_AS "UID GID GROUP ..." HOME COMMAND ...               \
              */
/* prefix: words before the command ("ssh login"), none: it runs here. Behind ssh each word is
 * quoted, because a shell reads them there; any other prefix hands them on as they are. own: what
 * this server's own account is called there. program: by which root runs a command as another
 * account, where there is no prefix (main/as_main.h); NULL: it runs none so. */
struct slurm_site {
    const struct words *prefix;
    const char *own, *program;
};
/* All of it is copied. */
struct slurm_commands *slurm_commands_create(struct uv_loop_s *, const struct slurm_site *);
/* May commands behind it run as other accounts? Where there is none root's may. */
bool slurm_prefix_has_user(const struct words *prefix);
void slurm_commands_destroy(struct slurm_commands *); /* what runs is killed; NULL-safe */

struct slurm_answer {
    const char *text; /* what it printed; NULL: it failed, and err says why */
    const struct err *err;
    bool down;    /* Slurm cannot be asked */
    bool unknown; /* it knows no such job */
    bool full;    /* it takes no more jobs now; one that was being submitted may be there yet */
};
typedef void slurm_answer_fn(void *arg, const struct slurm_answer *);
struct slurm_call {
    enum slurm_command command;
    const char *const *args; /* after its name, ends with NULL */
    const char *input;       /* its stdin; NULL: none. Both only for the call */
    size_t input_len;
    const struct account *as; /* runs as that one, only for the call; NULL: the server's own */
    uint64_t limit_ms;        /* 0: a default */
    slurm_answer_fn *done;    /* from the loop, once, unless all are destroyed before */
    void *arg;
};
bool slurm_is_busy(const struct slurm_commands *, enum slurm_command, const struct account *as);
/* ERR_BUSY while one of the kind runs as that account. */
int slurm_run(struct slurm_commands *, const struct slurm_call *, struct err *);

#endif
