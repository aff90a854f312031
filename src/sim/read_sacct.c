/* What `sacct --parsable2` prints (man sacct): a head row and a row a job, '|' between the fields.
 * Steps of jobs (12.batch, 12.0) are passed over. What the job asked for is shared evenly by its
 * nodes: a node becomes a task. */
#include "sim/reading.h"

#include "base/scan.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define NODES_MOST 65536u

struct columns {
    int id, submit, start, end, elapsed, elapsed_raw, asked, given, cpus, nodes, memory, limit,
        limit_raw, partition, user, priority, state;
};

static int either(const struct sheet *s, const char *a, const char *b, const char *c)
{
    int at = sheet_column(s, a);
    at = at < 0 && b ? sheet_column(s, b) : at;
    return at < 0 && c ? sheet_column(s, c) : at;
}

static bool find(struct sheet *s, struct columns *c)
{
    *c = (struct columns){ .id = either(s, "JobID", "JobIDRaw", NULL),
                           .submit = either(s, "Submit", "Eligible", NULL),
                           .start = sheet_column(s, "Start"),
                           .end = sheet_column(s, "End"),
                           .elapsed = sheet_column(s, "Elapsed"),
                           .elapsed_raw = sheet_column(s, "ElapsedRaw"),
                           .asked = sheet_column(s, "ReqTRES"),
                           .given = sheet_column(s, "AllocTRES"),
                           .cpus = either(s, "ReqCPUS", "AllocCPUS", "NCPUS"),
                           .nodes = either(s, "NNodes", "ReqNodes", "AllocNodes"),
                           .memory = sheet_column(s, "ReqMem"),
                           .limit = sheet_column(s, "Timelimit"),
                           .limit_raw = sheet_column(s, "TimelimitRaw"),
                           .partition = sheet_column(s, "Partition"),
                           .user = sheet_column(s, "User"),
                           .priority = sheet_column(s, "Priority"),
                           .state = sheet_column(s, "State") };
    if (c->submit < 0)
        sheet_lacks(s, "Submit", "when each job came");
    if (c->elapsed < 0 && c->elapsed_raw < 0 && (c->start < 0 || c->end < 0))
        sheet_lacks(s, "Elapsed", "how long each job ran: Elapsed, ElapsedRaw, or Start and End");
    if (c->asked < 0 && c->given < 0 && c->cpus < 0)
        sheet_lacks(s, "ReqTRES", "what each job asked for: ReqTRES, AllocTRES, or ReqCPUS");
    return report_ok(s->report);
}

/* ---- fields ---- */

/* "2026-01-02T03:04:05", as UTC, or seconds since 1970. */
static bool read_time(const char *text, uint64_t *ms)
{
    struct tm tm = { 0 };
    uint64_t seconds;
    if (scan_u64(text, 0, UINT64_MAX / 1000, &seconds)) {
        *ms = seconds * 1000;
        return true;
    }
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    time_t at = rest && !*rest ? timegm(&tm) : -1;
    if (at < 0)
        return false;
    *ms = (uint64_t)at * 1000;
    return true;
}

/* "[DD-]HH:MM:SS", "MM:SS", with parts of a second dropped. */
static bool read_span(const char *text, uint64_t *ms)
{
    uint64_t days = 0, sum = 0, part;
    char copy[SHEET_FIELD];
    size_t len = strcspn(text, ".");
    memcpy(copy, text, len);
    copy[len] = '\0';
    char *at = copy, *dash = strchr(copy, '-'), *save = NULL;
    int parts = 0;
    if (dash) {
        *dash = '\0';
        at = dash + 1;
        if (!scan_u64(copy, 0, 100000, &days))
            return false;
    }
    for (char *word = strtok_r(at, ":", &save); word; word = strtok_r(NULL, ":", &save), parts++) {
        if (!scan_u64(word, 0, 100000000, &part))
            return false;
        sum = sum * 60 + part;
    }
    if (parts < 2 || parts > 3)
        return false;
    *ms = (days * 86400 + sum) * 1000;
    return true;
}

static bool no_time(const char *text)
{
    return !*text || strcasecmp(text, "Unknown") == 0 || strcasecmp(text, "None") == 0;
}

/* How long it ran: 1; 0: it never did; -1: reported. */
static int run_time(struct sheet *s, const struct columns *c, uint64_t *ms)
{
    char text[SHEET_FIELD];
    uint64_t start = 0, end = 0;
    if (c->elapsed_raw >= 0 || c->elapsed >= 0) {
        int column = c->elapsed_raw >= 0 ? c->elapsed_raw : c->elapsed;
        sheet_text(s, column, text);
        if (column == c->elapsed_raw ? scan_u64(text, 0, UINT64_MAX / 1000, ms)
                                     : read_span(text, ms)) {
            *ms *= column == c->elapsed_raw ? 1000 : 1;
            return *ms > 0;
        }
        sheet_bad(s, column,
                  column == c->elapsed ? "a time: [days-]hours:minutes:seconds"
                                       : "seconds: a whole number");
        return -1;
    }
    if (no_time(sheet_text(s, c->start, text)))
        return 0;
    bool ok = read_time(text, &start);
    if (!ok)
        sheet_bad(s, c->start, "a time: 2026-01-02T03:04:05, or seconds since 1970");
    if (no_time(sheet_text(s, c->end, text)))
        return ok ? 0 : -1;
    if (!read_time(text, &end) || end < start) {
        sheet_bad(s, c->end, "a time that is not before Start: 2026-01-02T03:04:05");
        return -1;
    }
    *ms = end - start;
    return ok ? *ms > 0 : -1;
}

/* Minutes, or a span; what says that there is none is no error. */
static uint64_t time_limit(const struct sheet *s, const struct columns *c)
{
    char text[SHEET_FIELD];
    uint64_t value;
    if (scan_u64(sheet_text(s, c->limit_raw, text), 1, 100000000, &value))
        return value * 60000;
    if (read_span(sheet_text(s, c->limit, text), &value))
        return value;
    return 0;
}

/* "64G", "64000M", and of ReqMem "4Gn" (a node) and "2Gc" (a core): the letter behind goes to
 * *each. Slurm's units are powers of two. */
static bool read_memory(const char *text, uint64_t *bytes, char *each)
{
    char copy[SHEET_FIELD + 2];
    size_t len = strlen(text);
    *each = '\0';
    if (len && (text[len - 1] == 'n' || text[len - 1] == 'c'))
        *each = text[--len];
    if (!len)
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (strchr("KMGTPE", copy[len - 1]))
        memcpy(copy + len, "i", sizeof "i");
    else
        memcpy(copy + len, "Mi", sizeof "Mi"); /* a bare number is MiB */
    return scan_size(copy, bytes);
}

/* ---- what it asked for ---- */

struct total {
    uint64_t cpu, nodes, gpus, typed_gpus, memory;
    char type[64];
};

static bool read_tres_item(const char *name, const char *value, struct total *to)
{
    static const char gpu[] = "gres/gpu";
    uint64_t n;
    char each;
    if (strcmp(name, "mem") == 0)
        return read_memory(value, &to->memory, &each);
    bool counted = strcmp(name, "cpu") == 0 || strcmp(name, "node") == 0 ||
                   strncmp(name, gpu, sizeof gpu - 1) == 0;
    if (!counted)
        return true; /* billing, licences, energy: not what a node has */
    if (!scan_u64(value, 0, 10000000, &n))
        return false;
    if (strcmp(name, "cpu") == 0)
        to->cpu = n;
    else if (strcmp(name, "node") == 0)
        to->nodes = n;
    else if (strcmp(name, gpu) == 0)
        to->gpus = n;
    else if (name[sizeof gpu - 1] == ':') {
        to->typed_gpus += n;
        snprintf(to->type, sizeof to->type, "%s", name + sizeof gpu);
    }
    return true;
}

/* "billing=16,cpu=16,gres/gpu=8,gres/gpu:a100=8,mem=64G,node=2" */
static bool read_tres(struct sheet *s, int column, struct total *to)
{
    char text[SHEET_FIELD], *save = NULL;
    sheet_text(s, column, text);
    for (char *item = strtok_r(text, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
        char *eq = strchr(item, '=');
        if (eq)
            *eq = '\0';
        if (!eq || !read_tres_item(item, eq + 1, to)) {
            sheet_bad(s, column, "amounts: cpu=16,mem=64G,node=2,gres/gpu=8");
            return false;
        }
    }
    to->gpus = to->gpus > to->typed_gpus ? to->gpus : to->typed_gpus;
    return true;
}

static bool read_total(struct sheet *s, const struct columns *c, struct total *to)
{
    char text[SHEET_FIELD], each = '\0';
    int tres = *sheet_text(s, c->asked, text) ? c->asked : c->given;
    if (tres >= 0 && !read_tres(s, tres, to))
        return false;
    if (!to->cpu && c->cpus >= 0 && sheet_u64(s, c->cpus, "cores: a whole number", &to->cpu))
        return false;
    if (!to->nodes && c->nodes >= 0 && sheet_u64(s, c->nodes, "nodes: a whole number", &to->nodes))
        return false;
    to->nodes = to->nodes ? to->nodes : 1;
    if (!to->memory && *sheet_text(s, c->memory, text)) {
        if (!read_memory(text, &to->memory, &each)) {
            sheet_bad(s, c->memory, "an amount: 64G, 4000Mn, 2Gc");
            return false;
        }
        to->memory *= each == 'n' ? to->nodes : each == 'c' ? to->cpu : 1;
    }
    if (to->nodes > NODES_MOST) {
        sheet_bad(s, tres >= 0 ? tres : c->nodes, "no more than 65536 nodes");
        return false;
    }
    return true;
}

static uint64_t share(uint64_t all, uint64_t nodes)
{
    return (all + nodes - 1) / nodes;
}

/* ---- rows ---- */

/* "CANCELLED by 1000" */
static bool state_is(const char *state, const char *word)
{
    return strncasecmp(state, word, strlen(word)) == 0;
}

static bool failed(const char *state)
{
    return state_is(state, "FAILED") || state_is(state, "OUT_OF_ME") ||
           state_is(state, "BOOT_FAIL");
}

static void read_row(struct reading *r, struct sheet *s, const struct columns *c)
{
    char id[SHEET_FIELD], text[SHEET_FIELD];
    struct total total = { .type = "" };
    struct arrival arrival = { .code = failed(sheet_text(s, c->state, text)) };
    uint64_t priority = 0;
    if (strchr(sheet_text(s, c->id, id), '.'))
        return;
    int ran = run_time(s, c, &arrival.run_ms);
    if (ran == 0)
        r->left_out++;
    if (ran <= 0 || !read_total(s, c, &total))
        return;
    if (!read_time(sheet_text(s, c->submit, text), &arrival.at_ms)) {
        sheet_bad(s, c->submit, "a time: 2026-01-02T03:04:05, or seconds since 1970");
        return;
    }
    scan_u64(sheet_text(s, c->priority, text), 1, 9, &priority); /* others are Slurm's own scale */
    struct trace_job job = { .tasks = total.nodes,
                             .cpu_milli = share(total.cpu, total.nodes) * 1000,
                             .memory = share(total.memory, total.nodes),
                             .gpu_milli = share(total.gpus, total.nodes) * 1000,
                             .gpu_types = total.type,
                             .priority = priority,
                             .limit_ms = time_limit(s, c) };
    job.queue = reading_word(r, sheet_text(s, c->partition, text));
    arrival.owner = reading_word(r, *sheet_text(s, c->user, text) ? text : "slurm");
    arrival.pattern = reading_trace(r, &job, s);
    if (arrival.pattern != UINT32_MAX)
        reading_arrival(r, &arrival);
}

void read_sacct(struct reading *r)
{
    struct sheet s = { .text = r->text, .len = r->len, .separator = '|', .report = r->report };
    struct columns c;
    sheet_begin(&s);
    if (!find(&s, &c))
        return;
    if (c.asked < 0 && c.given < 0)
        report_warn(r->report, (struct place){ 0 }, "",
                    "neither ReqTRES nor AllocTRES is there: no job has a GPU");
    if (c.limit < 0 && c.limit_raw < 0)
        report_warn(r->report, (struct place){ 0 }, "",
                    "Timelimit is not there: no job has a limit");
    while (sheet_next(&s))
        read_row(r, &s, &c);
}
