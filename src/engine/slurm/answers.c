/* Reads what Slurm's commands print. Texts come from other programs, and of jobs of other people:
 * whatever is not of the expected form is left out or refused, never guessed. */
#include "engine/slurm/answers.h"

#include "base/mem.h"
#include "base/scan.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define APART  '@'
#define FIELDS 10u

/* ---- squeue ---- */

static const struct {
    const char *word;
    enum slurm_state state;
} states[] = {
    { "PENDING", SLURM_PENDING },      { "CONFIGURING", SLURM_PENDING },
    { "REQUEUED", SLURM_PENDING },     { "REQUEUE_HOLD", SLURM_PENDING },
    { "REQUEUE_FED", SLURM_PENDING },  { "RESV_DEL_HOLD", SLURM_PENDING },
    { "SPECIAL_EXIT", SLURM_PENDING }, { "RUNNING", SLURM_RUNNING },
    { "RESIZING", SLURM_RUNNING },     { "SIGNALING", SLURM_RUNNING },
    { "STAGE_OUT", SLURM_COMPLETING }, { "COMPLETING", SLURM_COMPLETING },
    { "SUSPENDED", SLURM_STOPPED },    { "STOPPED", SLURM_STOPPED },
    { "COMPLETED", SLURM_DONE },       { "CANCELLED", SLURM_CANCELLED },
    { "REVOKED", SLURM_CANCELLED },    { "FAILED", SLURM_FAILED },
    { "OUT_OF_MEMORY", SLURM_FAILED }, { "TIMEOUT", SLURM_TIMEOUT },
    { "DEADLINE", SLURM_TIMEOUT },     { "PREEMPTED", SLURM_PREEMPTED },
    { "NODE_FAIL", SLURM_LOST },       { "BOOT_FAIL", SLURM_LOST },
};

static enum slurm_state read_state(const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        if (strcmp(states[i].word, word) == 0)
            return states[i].state;
    return SLURM_UNKNOWN;
}

bool slurm_state_is_over(enum slurm_state state)
{
    return state >= SLURM_DONE;
}

static bool read_part(const char *text, size_t len, uint64_t most, uint64_t *out)
{
    char copy[16];
    if (len == 0 || len >= sizeof copy)
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return scan_u64(copy, 0, most, out);
}

bool slurm_read_span(const char *text, uint64_t *ms)
{
    uint64_t days = 0, parts[3] = { 0 };
    size_t n = 0;
    const char *dash = strchr(text, '-');
    if (dash) {
        if (!read_part(text, (size_t)(dash - text), 100000, &days))
            return false;
        text = dash + 1;
    }
    for (const char *at = text; n < ARRAY_LEN(parts); n++) {
        size_t len = strcspn(at, ":");
        if (!read_part(at, len, 1000000, &parts[n]))
            return false;
        at += len;
        if (!*at++) {
            n++;
            break;
        }
        if (n == ARRAY_LEN(parts) - 1)
            return false;
    }
    if (dash && n < ARRAY_LEN(parts))
        return false;
    uint64_t seconds = 0;
    for (size_t i = 0; i < n; i++)
        seconds = seconds * 60 + parts[i];
    *ms = (days * 86400 + seconds) * 1000;
    return true;
}

/* "2026-11-27T07:22:08", in the zone of whoever asks. */
static bool read_date(const char *text, uint64_t *ms)
{
    struct tm tm = { .tm_isdst = -1 };
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    time_t at = end && !*end ? mktime(&tm) : -1;
    if (at < 0)
        return false;
    *ms = (uint64_t)at * 1000;
    return true;
}

static bool read_job(char *line, struct slurm_job *out)
{
    char *fields[FIELDS];
    uint64_t id, n, uid;
    for (size_t i = 0; i + 1 < FIELDS; i++) {
        char *end = strchr(line, APART);
        if (!end)
            return false;
        *end = '\0';
        fields[i] = line;
        line = end + 1;
    }
    fields[FIELDS - 1] = line;
    if (!scan_u64(fields[0], 1, UINT32_MAX, &id) || !scan_u64(fields[4], 0, 1u << 20, &n) ||
        !scan_u64(fields[7], 0, UINT32_MAX, &uid))
        return false;
    *out = (struct slurm_job){ .id = fields[0],
                               .state = read_state(fields[1]),
                               .state_word = fields[1],
                               .n_nodes = (uint32_t)n,
                               .partition = fields[5],
                               .nodes = fields[6],
                               .uid = (uint32_t)uid,
                               .name = fields[8],
                               .reason = fields[9] };
    out->has_left = slurm_read_span(fields[2], &out->left_ms);
    out->has_start = read_date(fields[3], &out->start_ms);
    return true;
}

void slurm_read_jobs(struct arena *arena, const char *text, struct slurm_jobs *out)
{
    char *rest = arena_strdup(arena, text);
    size_t lines = 1;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    *out = (struct slurm_jobs){ .at = ARENA_ARRAY(arena, lines, struct slurm_job) };
    for (char *line; (line = strsep(&rest, "\n"));)
        out->n += read_job(line, &out->at[out->n]);
}

static bool is_wanted(const struct slurm_job *job, const struct slurm_search *wanted)
{
    if (strcmp(job->name, wanted->name) != 0)
        return false;
    return *wanted->id ? strcmp(job->id, wanted->id) == 0
                       : !wanted->uid || job->uid == *wanted->uid;
}

const struct slurm_job *slurm_find_job(const struct slurm_jobs *jobs,
                                       const struct slurm_search *wanted)
{
    for (size_t i = 0; i < jobs->n; i++)
        if (is_wanted(&jobs->at[i], wanted))
            return &jobs->at[i];
    return NULL;
}

/* ---- sbatch, sinfo ---- */

/* What a site's own hooks print may come before it. */
int slurm_read_submitted(struct arena *arena, const char *text, const char **id, struct err *err)
{
    const char *last = text;
    uint64_t number;
    for (const char *at = text, *end; *at; at = *end ? end + 1 : end) {
        end = at + strcspn(at, "\n");
        last = end > at ? at : last;
    }
    const char *word = arena_strndup(arena, last, strcspn(last, ";\n"));
    if (!scan_u64(word, 1, UINT32_MAX, &number))
        return err_set(err, ERR_SYSTEM, "sbatch said \"%.60s\" in place of a job's id", word);
    *id = word;
    return 0;
}

/* ---- what went wrong ---- */

/* Parts of Slurm's own messages (slurm_strerror, job_reason_string, sbatch), which it does not
 * translate. The first that is found counts. limit: which one is reached, for people. */
static const struct known_problem {
    const char *part;
    enum slurm_problem problem;
    const char *limit;
} problems[] = {
    { "unable to accept job", SLURM_PROBLEM_FULL, "MaxJobCount of slurm.conf" },
    { "Slurm job queue full", SLURM_PROBLEM_FULL, "MaxJobCount of slurm.conf" },
    { "AssocMaxSubmitJobLimit", SLURM_PROBLEM_FULL, "MaxSubmitJobs of the association" },
    { "AssocGrpSubmitJobsLimit", SLURM_PROBLEM_FULL, "GrpSubmitJobs of the association" },
    { "QOSMaxSubmitJobPerUserLimit", SLURM_PROBLEM_FULL, "MaxSubmitJobsPerUser of the QOS" },
    { "QOSMaxSubmitJobPerAccountLimit", SLURM_PROBLEM_FULL, "MaxSubmitJobsPerAccount of the QOS" },
    { "QOSGrpSubmitJobsLimit", SLURM_PROBLEM_FULL, "GrpSubmitJobs of the QOS" },
    { "Unable to contact slurm controller", SLURM_PROBLEM_DOWN, NULL },
    { "Socket timed out", SLURM_PROBLEM_DOWN, NULL },
    { "Zero Bytes were transmitted", SLURM_PROBLEM_DOWN, NULL },
    { "Connection refused", SLURM_PROBLEM_DOWN, NULL },
    /* of one that was killed while it was asked */
    { "Connection reset by peer", SLURM_PROBLEM_DOWN, NULL },
    { "Transport endpoint is not connected", SLURM_PROBLEM_DOWN, NULL },
    { "Broken pipe", SLURM_PROBLEM_DOWN, NULL },
    { "Communication connection failure", SLURM_PROBLEM_DOWN, NULL },
    { "in standby mode", SLURM_PROBLEM_DOWN, NULL },
    { "temporarily unable", SLURM_PROBLEM_DOWN, NULL },
    { "If munged is up", SLURM_PROBLEM_DOWN, NULL },
    { "Munge encode failed", SLURM_PROBLEM_DOWN, NULL },
    { "Protocol authentication error", SLURM_PROBLEM_DOWN, NULL },
    { "Access/permission denied", SLURM_PROBLEM_DENIED, NULL },
    { "User not authorized", SLURM_PROBLEM_DENIED, NULL },
    { "Job violates accounting", SLURM_PROBLEM_DENIED, NULL },
    { "Invalid job id", SLURM_PROBLEM_UNKNOWN_JOB, NULL },
    { "already completed", SLURM_PROBLEM_UNKNOWN_JOB, NULL },
    { "Invalid partition", SLURM_PROBLEM_REQUEST, NULL },
    { "invalid partition", SLURM_PROBLEM_REQUEST, NULL },
    { "Requested node configuration", SLURM_PROBLEM_REQUEST, NULL },
    { "Node count specification", SLURM_PROBLEM_REQUEST, NULL },
    { "Invalid account", SLURM_PROBLEM_REQUEST, NULL },
    { "Invalid qos", SLURM_PROBLEM_REQUEST, NULL },
    { "Invalid generic resource", SLURM_PROBLEM_REQUEST, NULL },
    { "Invalid node name", SLURM_PROBLEM_REQUEST, NULL },
    { "Requested time limit", SLURM_PROBLEM_REQUEST, NULL },
    { "Invalid feature", SLURM_PROBLEM_REQUEST, NULL },
    { "Memory specification", SLURM_PROBLEM_REQUEST, NULL },
    { "Invalid --", SLURM_PROBLEM_REQUEST, NULL },
    { "unrecognized option", SLURM_PROBLEM_REQUEST, NULL },
};

static const struct known_problem *find_problem(const char *text)
{
    static const struct known_problem other = { .problem = SLURM_PROBLEM_OTHER };
    for (size_t i = 0; i < ARRAY_LEN(problems); i++)
        if (strstr(text, problems[i].part))
            return &problems[i];
    return &other;
}

enum slurm_problem slurm_read_problem(const char *text)
{
    return find_problem(text)->problem;
}

/* "sbatch: error: Batch job submission failed: Invalid qos" without what stands before. */
static const char *cause_of(const char *line)
{
    static const char *const fronts[] = { "sbatch: ",
                                          "scancel: ",
                                          "squeue: ",
                                          "scontrol: ",
                                          "sinfo: ",
                                          "error: ",
                                          "Batch job submission failed: " };
    for (size_t i = 0; i < ARRAY_LEN(fronts); i++)
        if (strncmp(line, fronts[i], strlen(fronts[i])) == 0)
            line += strlen(fronts[i]);
    return line;
}

int slurm_set_problem(const char *command, const char *text, struct err *err)
{
    static const enum err_code codes[] = {
        [SLURM_PROBLEM_OTHER] = ERR_CANNOT,  [SLURM_PROBLEM_DOWN] = ERR_UNAVAILABLE,
        [SLURM_PROBLEM_FULL] = ERR_FULL,     [SLURM_PROBLEM_DENIED] = ERR_DENIED,
        [SLURM_PROBLEM_REQUEST] = ERR_INPUT, [SLURM_PROBLEM_UNKNOWN_JOB] = ERR_NOT_FOUND
    };
    AUTO_FREE char *copy = mem_strdup(text);
    char *rest = copy;
    const char *said = "it failed and said nothing";
    const struct known_problem *known = find_problem(text);
    if (known->limit)
        return err_set(err, codes[known->problem], "Slurm takes no more jobs now (%s)",
                       known->limit);
    for (char *line; (line = strsep(&rest, "\n"));)
        if (*line && strncmp(line, "Try ", 4) != 0)
            said = line;
    return err_set(err, codes[known->problem], "Slurm (%s): %.180s", command, cause_of(said));
}
