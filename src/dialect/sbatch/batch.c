/* Jobs of batch scripts, as this dialect reads them and as others do whose jobs have such a script.
 *
 * Role: each task is a node and runs `muster-step`; the first one runs the script as well. What
 * that program reads (step/node_conf.c) and what env.c makes variables of is written here. Inputs:
 * a job whose roles are known. Effects: the job, its config and extra, in the arena. */
#include "dialect/sbatch/batch.h"

#include "dialect/sbatch/lines.h"

#define RUN "exec muster-step"

void batch_role(struct role *role, bool first)
{
    role->run = RUN;
    role->ports[role->n_ports++] = (struct port_request){ .label = BATCH_PORT, .count = 1 };
    role->done.succeeded = first ? (struct count){ .kind = COUNT_NUMBER, .n = 1 }
                                 : (struct count){ .kind = COUNT_NEVER };
}

struct text_node *batch_job(struct arena *arena, struct job_spec *job, struct text_node *extra,
                            struct text_node **parts)
{
    struct text_node *config = text_map(arena, NULL, NULL);
    *parts = text_list(arena, text_map(arena, extra, BATCH_EXTRA), BATCH_PARTS);
    job->extra = extra;
    job->config = config;
    job->framework = "slurm";
    job->server = SERVER_SUBMIT;
    return text_map(arena, config, BATCH_EXTRA);
}

void batch_set_script(struct arena *arena, struct text_node *config, const char *script)
{
    text_str(arena, config, "script", script);
}

const char *batch_script(const struct job_spec *job)
{
    const struct text_node *ours = job->config ? text_get(job->config, BATCH_EXTRA) : NULL;
    const char *script = ours ? text_word(ours, "script") : "";
    return *script && words_have(&job->conventions, BATCH_CONVENTION) ? script : NULL;
}

bool batch_has_options(struct arena *arena, const char *script)
{
    struct report unheard;
    report_init(&unheard, arena);
    return sb_lines(arena, script, &unheard).n > 0;
}
