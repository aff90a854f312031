/* What the first component says of the job as a whole: name, admission, times, what it waits for.
 *
 * Inputs: values. Effects: members of the job, problems in the report. What has no canonical field
 * and concerns the running script goes to the job's config, which the script's node reads. */
#include "dialect/sbatch/script.h"
#include "dialect/sbatch/values.h"

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/scan.h"
#include "job/slurm_time.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    KILL_WAIT_MS = 30000,
    REQUEUES = 3,
    NICE_PRIORITY = 4,
    MINUTE_MS = 60000,
    MOUNTS_MAX = 64,
};

static const struct sb_part *first_of(const struct sb_reader *r)
{
    return &r->parts[0];
}

/* ---- who ---- */

/* What only Slurm can honour: an allocation of the job's own is asked for it
 * (engine/slurm/request.h). */
static void read_labels(struct sb_reader *r, const struct sb_part *part)
{
    static const struct {
        enum sb_id id;
        const char *label;
    } rows[] = {
        { SBO_CONSTRAINT, "constraint" },   { SBO_LICENSES, "licenses" }, { SBO_QOS, "qos" },
        { SBO_RESERVATION, "reservation" }, { SBO_WCKEY, "wckey" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (sb_has(part, rows[i].id) && *sb_text(part, rows[i].id))
            pairs_set(&r->job->labels, r->arena, rows[i].label, sb_text(part, rows[i].id));
}

static void read_name(struct sb_reader *r)
{
    const struct sb_part *part = first_of(r);
    r->job->name = "sbatch"; /* as Slurm calls a script that comes without a file */
    if (sb_has(part, SBO_JOB_NAME) && *sb_text(part, SBO_JOB_NAME)) {
        AUTO_BUF struct buf name = BUF_INIT(JOB_NAME_MAX + 1);
        for (const char *c = sb_text(part, SBO_JOB_NAME); *c; c++)
            buf_putc(&name, *c == '/' ? '_' : *c);
        r->job->name = arena_strdup(r->arena, buf_str(&name));
        if (strchr(sb_text(part, SBO_JOB_NAME), '/'))
            sb_warn(r, part, SBO_JOB_NAME, "becomes %.60s: a name has no /", r->job->name);
    }
    if (sb_has(part, SBO_ACCOUNT))
        r->job->project = sb_text(part, SBO_ACCOUNT);
    if (sb_has(part, SBO_COMMENT))
        r->job->description = sb_text(part, SBO_COMMENT);
    read_labels(r, part);
}

static void read_queue(struct sb_reader *r)
{
    const struct sb_part *part = first_of(r);
    const char *text = sb_text(part, SBO_PARTITION);
    if (!text || !*text)
        return;
    size_t n = strcspn(text, ",");
    r->job->queue = arena_strndup(r->arena, text, n);
    if (text[n])
        sb_warn(r, part, SBO_PARTITION, "are several, the job goes to %.40s", r->job->queue);
    for (size_t i = 1; i < r->n_parts; i++) {
        const char *other = sb_text(&r->parts[i], SBO_PARTITION);
        if (other && strcmp(other, text) != 0)
            sb_warn(r, &r->parts[i], SBO_PARTITION,
                    "is another one than the first component's, and a job has one queue");
    }
}

/* ---- when ---- */

static void read_times(struct sb_reader *r)
{
    const struct sb_part *part = first_of(r);
    struct sb_signal signal;
    uint64_t minutes;
    r->job->limits.grace_ms = KILL_WAIT_MS;
    if (sb_has(part, SBO_TIME)) {
        if (!slurm_time(sb_text(part, SBO_TIME), &minutes))
            report_hint(r->report, sb_fail(r, part, SBO_TIME, "is no time"),
                        "minutes, H:M:S, D-H or D-H:M:S");
        else if (minutes != UINT64_MAX)
            r->job->limits.run_time_ms = (struct opt_u64){ true, minutes * MINUTE_MS };
    }
    if (sb_has(part, SBO_BEGIN) && strcasecmp(sb_text(part, SBO_BEGIN), "now") != 0)
        report_hint(r->report, sb_fail(r, part, SBO_BEGIN, "is a start time, and a job has none"),
                    "submit it then, for example by at or cron");
    if (!sb_has(part, SBO_SIGNAL))
        return;
    if (!sb_signal(sb_text(part, SBO_SIGNAL), &signal)) {
        report_hint(r->report, sb_fail(r, part, SBO_SIGNAL, "is no signal"),
                    "[B:]USR1[@60]: a name or number, and seconds before the time limit");
        return;
    }
    if (!r->job->limits.run_time_ms.has)
        sb_warn(r, part, SBO_SIGNAL, "has no effect without --time");
    struct text_node *map = text_map(r->arena, r->config, "signal");
    text_int(r->arena, map, "number", signal.number);
    text_int(r->arena, map, "seconds", signal.seconds);
    text_bool(r->arena, map, "batch", signal.batch);
}

static void read_turn(struct sb_reader *r)
{
    const struct sb_part *part = first_of(r);
    const char *nice = sb_text(part, SBO_NICE);
    r->job->suspend = sb_has(part, SBO_HOLD);
    if (nice && *nice == '-')
        sb_warn(r, part, SBO_NICE, "has no effect: only --set priority raises a job");
    else if (nice && (!*nice || strspn(nice, "0") != strlen(nice)))
        r->job->priority = NICE_PRIORITY;
}

static void read_retry(struct sb_reader *r)
{
    const struct sb_part *part = first_of(r);
    struct retry *retry = &r->job->retry;
    const struct sb_value *no = &part->at[SBO_NO_REQUEUE], *yes = &part->at[SBO_REQUEUE];
    bool last_no = no->text && (!yes->text || no->place.offset > yes->place.offset);
    retry->scope = RETRY_SCOPE_JOB;
    retry->platform = last_no ? (struct count){ .kind = COUNT_NEVER }
                              : (struct count){ .kind = COUNT_NUMBER, .n = REQUEUES };
}

/* ---- what for ---- */

static void read_array(struct sb_reader *r)
{
    const struct sb_part *part = first_of(r);
    bool form;
    if (!sb_has(part, SBO_ARRAY))
        return;
    if (r->n_parts > 1)
        sb_fail(r, part, SBO_ARRAY, "and hetjob exclude each other");
    if (sb_array(sb_text(part, SBO_ARRAY), &r->job->array, &form))
        return;
    struct problem *p =
        form ? sb_fail(r, part, SBO_ARRAY, "has indices without equal steps")
             : sb_fail(r, part, SBO_ARRAY, "is no array of at most %u jobs", JOB_ARRAY_MAX);
    report_hint(r->report, p, "%s", form ? "one range, as 0-30:5; or several arrays" : "0-15:4%%2");
}

/* "afterok:1:2" */
static bool add_after(struct sb_reader *r, const char *text, size_t len)
{
    static const struct {
        const char *word, *ended, *match;
    } kinds[] = { { "afterok", "well", "all" },
                  { "afternotok", "badly", "all" },
                  { "afterany", "any", "all" },
                  { "aftercorr", "well", "index" } };
    const struct sb_part *part = first_of(r);
    const char *copy = arena_strndup(r->arena, text, len);
    size_t word = strcspn(copy, ":"), k = 0;
    if (strcasecmp(copy, "singleton") == 0 && r->job->n_after < JOB_AFTER_MAX) {
        r->job->after[r->job->n_after++] =
            (struct job_dependency){ .ended = "any", .match = "every" };
        return true;
    }
    while (k < ARRAY_LEN(kinds) &&
           (strlen(kinds[k].word) != word || strncasecmp(copy, kinds[k].word, word) != 0))
        k++;
    if (k == ARRAY_LEN(kinds)) {
        const bool known = strncasecmp(copy, "after", word) == 0;
        report_hint(r->report,
                    sb_fail(r, part, SBO_DEPENDENCY,
                            known ? "has %.40s, which jobs do not wait for"
                                  : "has %.40s, no kind of dependency",
                            copy),
                    "afterok, afternotok, afterany or aftercorr with numbers of jobs, or "
                    "singleton");
        return false;
    }
    for (const char *at = copy + word; *at == ':'; at += strcspn(at, ":")) {
        uint64_t job;
        const char *number = arena_strndup(r->arena, at + 1, strcspn(at + 1, ":"));
        at++;
        if (r->job->n_after == JOB_AFTER_MAX || !scan_u64(number, 1, INT64_MAX, &job)) {
            report_hint(
                r->report,
                sb_fail(r, part, SBO_DEPENDENCY, "has \"%.40s\", no number of a job", number),
                "afterok:12:13, with the numbers of jobs here");
            return false;
        }
        r->job->after[r->job->n_after++] =
            (struct job_dependency){ .job = job, .ended = kinds[k].ended, .match = kinds[k].match };
    }
    return true;
}

static void read_dependency(struct sb_reader *r)
{
    const struct sb_part *part = first_of(r);
    const char *at = sb_text(part, SBO_DEPENDENCY);
    if (!at || !*at)
        return;
    if (strchr(at, '?')) {
        report_hint(r->report,
                    sb_fail(r, part, SBO_DEPENDENCY,
                            "has ?: a job waits for all of them, not for "
                            "one"),
                    "a comma between them");
        return;
    }
    r->job->after = ARENA_ARRAY(r->arena, JOB_AFTER_MAX, struct job_dependency);
    for (; *at; at += strcspn(at, ","), at += *at == ',')
        if (!add_after(r, at, strcspn(at, ",")))
            return;
}

/* ---- where ---- */

static struct words host_names(struct sb_reader *r, const struct sb_part *part, enum sb_id id)
{
    struct words words = { .n = 0 };
    struct err err;
    if (sb_has(part, id) &&
        hostlist_read(r->arena, sb_text(part, id), &words.at, &words.n, &err) < 0)
        report_hint(r->report, sb_fail(r, part, id, "is no list of nodes"), "n[1-3],m7");
    return words;
}

/* Of several components the lists are joined: which of them gets which node is not said. */
static void read_places(struct sb_reader *r)
{
    struct placing *placing = &r->job->placing;
    size_t all = 0;
    for (size_t i = 0; i < r->n_parts; i++)
        all += sb_has(&r->parts[i], SBO_NODELIST);
    for (size_t i = 0; i < r->n_parts; i++) {
        struct words words = host_names(r, &r->parts[i], SBO_NODELIST);
        if (words.n && all == r->n_parts) {
            const char **at = ARENA_ARRAY(r->arena, placing->nodes.n + words.n, const char *);
            if (placing->nodes.n)
                memcpy(at, placing->nodes.at, placing->nodes.n * sizeof *at);
            memcpy(at + placing->nodes.n, words.at, words.n * sizeof *at);
            placing->nodes = (struct words){ .at = at, .n = placing->nodes.n + words.n };
        }
        if (words.n && r->n_parts > 1)
            sb_warn(r, &r->parts[i], SBO_NODELIST,
                    all == r->n_parts ? "counts for all components together"
                                      : "has no effect: other components name none");
    }
    placing->avoid = host_names(r, first_of(r), SBO_EXCLUDE);
    const char *switches = sb_text(first_of(r), SBO_SWITCHES);
    if (switches && switches[0] == '1' && (!switches[1] || switches[1] == '@'))
        placing->within = "switch";
    else if (switches)
        sb_warn(r, first_of(r), SBO_SWITCHES, "has no effect: only 1 is looked at");
}

/* ---- environment ---- */

static void read_export(struct sb_reader *r, struct pairs *env)
{
    const struct sb_part *part = first_of(r);
    const char *at = sb_text(part, SBO_EXPORT);
    if (!at || strcasecmp(at, "NONE") == 0 || strcasecmp(at, "NIL") == 0)
        return;
    for (; *at; at += strcspn(at, ","), at += *at == ',') {
        const char *one = arena_strndup(r->arena, at, strcspn(at, ","));
        const char *eq = strchr(one, '=');
        if (eq && eq > one)
            pairs_set(env, r->arena, arena_strndup(r->arena, one, (size_t)(eq - one)), eq + 1);
        else if (strcasecmp(one, "ALL") == 0)
            report_hint(r->report,
                        sb_warn(r, part, SBO_EXPORT, "passes no variable of the submitter's shell"),
                        "--export all on the line of muster does");
        else if (*one)
            report_hint(r->report,
                        sb_warn(r, part, SBO_EXPORT,
                                "names %.60s, whose value only the "
                                "submitter's shell knows",
                                one),
                        "--env %.60s on the line of muster passes it", one);
    }
}

/* "/a:/b:ro,/c" */
static void read_mounts(struct sb_reader *r)
{
    const struct sb_part *part = first_of(r);
    struct inputs *inputs = &r->job->inputs;
    const char *at = sb_text(part, SBO_CONTAINER_MOUNTS);
    if (!at)
        return;
    inputs->data = ARENA_ARRAY(r->arena, MOUNTS_MAX, struct mount);
    for (; *at && inputs->n_data < MOUNTS_MAX; at += strcspn(at, ","), at += *at == ',') {
        char *from = arena_strndup(r->arena, at, strcspn(at, ",")), *to = strchr(from, ':');
        if (to)
            *to++ = '\0';
        char *flags = to ? strchr(to, ':') : NULL;
        if (flags)
            *flags++ = '\0';
        if (*from)
            inputs->data[inputs->n_data++] =
                (struct mount){ .from = from,
                                .at = to && *to ? to : from,
                                .read_only = flags && strstr(flags, "ro"),
                                .place = part->at[SBO_CONTAINER_MOUNTS].place };
    }
    if (*at)
        sb_fail(r, part, SBO_CONTAINER_MOUNTS, "has more than %d mounts", MOUNTS_MAX);
}

/* ---- files ---- */

static void put_config(struct sb_reader *r, enum sb_id id, const char *key)
{
    const char *text = sb_text(first_of(r), id);
    if (text && *text)
        text_str(r->arena, r->config, key, text);
}

static void read_files(struct sb_reader *r)
{
    const struct sb_part *part = first_of(r);
    const char *mode = sb_text(part, SBO_OPEN_MODE);
    put_config(r, SBO_OUTPUT, "output");
    put_config(r, SBO_ERROR, "error");
    put_config(r, SBO_INPUT, "input");
    put_config(r, SBO_CHDIR, "chdir");
    if (mode && strcasecmp(mode, "append") == 0)
        text_bool(r->arena, r->config, "append", true);
    else if (mode && strcasecmp(mode, "truncate") != 0)
        report_hint(r->report, sb_fail(r, part, SBO_OPEN_MODE, "is no mode"), "append or truncate");
}

void sb_jobwide(struct sb_reader *r)
{
    struct pairs env = { .n = 0 };
    read_name(r);
    read_queue(r);
    read_times(r);
    read_turn(r);
    read_retry(r);
    read_array(r);
    read_dependency(r);
    read_places(r);
    read_export(r, &env);
    read_mounts(r);
    read_files(r);
    for (size_t i = 0; i < r->job->n_roles; i++) {
        r->job->roles[i].env = env;
        r->job->roles[i].image = sb_text(first_of(r), SBO_CONTAINER_IMAGE);
    }
}
