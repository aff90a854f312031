/* Since when an agent is silent is known in memory alone: a server that starts anew has not heard
 * any, and gives them the time that they take to come back. */
#include "live/silence_bound.h"

#include "base/scan.h"

#include <stdio.h>
#include <string.h>

#define COME_BACK_MS 10000u /* to a server that was started anew */

uint64_t silence_bound(const struct live_job *job, const struct live_agent *agent)
{
    uint64_t bound = job->spec->health.silent_after_ms;
    return agent->unheard && bound && bound < COME_BACK_MS ? COME_BACK_MS : bound;
}

bool silence_past_bound(const struct live_job *job, const struct live_agent *agent, uint64_t now_ms)
{
    uint64_t bound = agent && agent->silent_ms ? silence_bound(job, agent) : 0;
    return bound && now_ms >= agent->silent_ms + bound;
}

void silence_end(struct live_job *job, const char *node)
{
    struct live_agent *agent = live_agent(job, node);
    if (!agent || !agent->silent_ms)
        return;
    agent->silent_ms = 0;
    job->silent--;
    for (uint32_t flat = 0; flat < job->row.tasks; flat++)
        if (strcmp(job->tasks[flat].place.node, node) == 0)
            job->tasks[flat].left = false;
}

const char *silence_text(char out[SILENCE_TEXT_MAX], const struct live_agent *agent,
                         uint64_t now_ms)
{
    char time[FMT_MAX];
    uint64_t ms = now_ms - agent->silent_ms;
    snprintf(out, SILENCE_TEXT_MAX, "its machine has been silent for %s",
             fmt_duration(time, ms >= 1000 ? ms / 1000 * 1000 : ms));
    return out;
}
