/* squeue inside a job: the jobs of its owner, a line each in the form that scripts ask for. It
 * knows the options that scripts use, and refuses others.
 *
 * Inputs: command line, the server's list. Effects: none. */
#include "base/mem.h"
#include "step/ask.h"
#include "step/commands.h"
#include "step/step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OUT_MAX (64u << 20)
#define OPTIONS "known are -h, -j JOBS, -o FORMAT, -n NAME, -t STATES, -u USER, --me"
#define PAGE    "1000" /* the server gives no more at once */

static const struct {
    const char *state, *word, *code;
} states[] = {
    { "queued", "PENDING", "PD" },       { "suspended", "PENDING", "PD" },
    { "starting", "CONFIGURING", "CF" }, { "running", "RUNNING", "R" },
    { "restarting", "REQUEUED", "RQ" },  { "stopping", "COMPLETING", "CG" },
    { "succeeded", "COMPLETED", "CD" },  { "failed", "FAILED", "F" },
    { "stopped", "CANCELLED", "CA" },
};

/* Words of Slurm for what no job here is in. */
static const char *const others[] = { "BOOT_FAIL",
                                      "BF",
                                      "DEADLINE",
                                      "DL",
                                      "NODE_FAIL",
                                      "NF",
                                      "OUT_OF_MEMORY",
                                      "OOM",
                                      "PR",
                                      "PREEMPTED",
                                      "RD",
                                      "RESV_DEL_HOLD",
                                      "RF",
                                      "REQUEUE_FED",
                                      "REQUEUE_HOLD",
                                      "RH",
                                      "RESIZING",
                                      "RS",
                                      "REVOKED",
                                      "RV",
                                      "S",
                                      "SUSPENDED",
                                      "SE",
                                      "SPECIAL_EXIT",
                                      "SIGNALING",
                                      "SI",
                                      "STAGE_OUT",
                                      "SO",
                                      "STOPPED",
                                      "ST",
                                      "TIMEOUT",
                                      "TO" };

static size_t state_of(const char *state)
{
    size_t i = 0;
    while (i + 1 < ARRAY_LEN(states) && strcmp(state, states[i].state) != 0)
        i++;
    return i;
}

void squeue_time(struct buf *out, uint64_t seconds)
{
    uint64_t days = seconds / 86400, hours = seconds / 3600 % 24, minutes = seconds / 60 % 60;
    unsigned s = (unsigned)(seconds % 60), m = (unsigned)minutes, h = (unsigned)hours;
    if (days)
        buf_addf(out, "%llu-%02u:%02u:%02u", (unsigned long long)days, h, m, s);
    else if (hours)
        buf_addf(out, "%u:%02u:%02u", h, m, s);
    else
        buf_addf(out, "%u:%02u", m, s);
}

static void add_elapsed(struct buf *out, const struct text_node *job)
{
    uint64_t started = text_number(job, "started_ms"), ended = text_number(job, "ended_ms");
    uint64_t now = ended ? ended : (uint64_t)time(NULL) * 1000;
    squeue_time(out, started && now > started ? (now - started) / 1000 : 0);
}

/* false: no such letter. */
static bool add_field(struct buf *out, const struct text_node *job, char letter)
{
    size_t state = state_of(text_word(job, "state"));
    switch (letter) {
    case 'i':
    case 'A':
    case 'F': buf_addf(out, "%llu", (unsigned long long)text_number(job, "number")); return true;
    case 'P': buf_puts(out, text_word(job, "queue")); return true;
    case 'j': buf_puts(out, text_word(job, "name")); return true;
    case 'u': buf_puts(out, text_word(job, "owner")); return true;
    case 't': buf_puts(out, states[state].code); return true;
    case 'T': buf_puts(out, states[state].word); return true;
    case 'M': add_elapsed(out, job); return true;
    case 'D': buf_addf(out, "%llu", (unsigned long long)text_number(job, "tasks")); return true;
    case 'R':
    case 'r': buf_addf(out, "(%s)", state == 0 ? text_word(job, "reason") : "None"); return true;
    default: return false;
    }
}

/* "%.18i %.9P": a point right-aligns, the number is the width and the most. */
void squeue_line(struct buf *out, const char *format, const struct text_node *job)
{
    static const struct {
        char letter;
        const char *title;
    } titles[] = { { 'i', "JOBID" },
                   { 'A', "JOBID" },
                   { 'F', "ARRAY_JOB_ID" },
                   { 'P', "PARTITION" },
                   { 'j', "NAME" },
                   { 'u', "USER" },
                   { 't', "ST" },
                   { 'T', "STATE" },
                   { 'M', "TIME" },
                   { 'D', "NODES" },
                   { 'R', "NODELIST(REASON)" },
                   { 'r', "REASON" } };
    for (const char *c = format; *c; c++) {
        AUTO_BUF struct buf field = BUF_INIT(4096);
        char *end;
        if (*c != '%' || !c[1]) {
            buf_putc(out, *c);
            continue;
        }
        bool right = c[1] == '.';
        int width = (int)strtol(c + 1 + right, &end, 10);
        c = end;
        if (!*c) /* a width without a letter */
            break;
        for (size_t i = 0; !job && i < ARRAY_LEN(titles); i++)
            if (titles[i].letter == *c)
                buf_puts(&field, titles[i].title);
        if (job && !add_field(&field, job, *c))
            buf_puts(&field, "N/A");
        if (width <= 0)
            buf_puts(out, buf_str(&field));
        else
            buf_addf(out, right ? "%*.*s" : "%-*.*s", width, width, buf_str(&field));
    }
    buf_putc(out, '\n');
}

struct squeue {
    bool bare; /* no line of titles */
    const char *format, *ids, *name;
    const char *states; /* "PD,RUNNING", "all"; NULL: of those that have not ended */
};

static bool listed(const char *ids, uint64_t job)
{
    for (const char *at = ids; *at; at += strcspn(at, ","), at += *at == ',')
        if (strtoull(at, NULL, 10) == job)
            return true;
    return false;
}

static bool is_word(const char *at, size_t n, const char *word)
{
    return n == strlen(word) && strncasecmp(at, word, n) == 0;
}

bool squeue_lists(const char *list, const char *state)
{
    size_t i = state_of(state), n;
    for (const char *at = list; *at; at += n, at += *at == ',') {
        n = strcspn(at, ",");
        if (is_word(at, n, "all") || is_word(at, n, states[i].word) ||
            is_word(at, n, states[i].code))
            return true;
    }
    return false;
}

static bool is_state(const char *at, size_t n)
{
    bool found = is_word(at, n, "all");
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        found = found || is_word(at, n, states[i].word) || is_word(at, n, states[i].code);
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        found = found || is_word(at, n, others[i]);
    return found;
}

bool squeue_knows(const char *list)
{
    size_t n;
    for (const char *at = list;; at += n + 1) {
        n = strcspn(at, ",");
        if (!is_state(at, n))
            return false;
        if (!at[n])
            return true;
    }
}

static bool wanted(const struct squeue *q, const struct text_node *job)
{
    return (!q->ids || listed(q->ids, text_number(job, "number"))) &&
           (!q->states || squeue_lists(q->states, text_word(job, "state"))) &&
           (!q->name || strcmp(q->name, text_word(job, "name")) == 0);
}

static int read_squeue(int argc, char **argv, struct squeue *q)
{
    *q = (struct squeue){ .format = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R" };
    for (int i = 1; i < argc; i++) {
        const char *value;
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--noheader") == 0)
            q->bare = true;
        else if (strcmp(argv[i], "--me") == 0 || strcmp(argv[i], "-r") == 0 ||
                 option_value(argc, argv, &i, "-u", "--user"))
            continue; /* a program of a job sees its owner's jobs */
        else if ((value = option_value(argc, argv, &i, "-j", "--jobs")) ||
                 (value = option_value(argc, argv, &i, "-j", "--job")))
            q->ids = value;
        else if ((value = option_value(argc, argv, &i, "-o", "--format")))
            q->format = value;
        else if ((value = option_value(argc, argv, &i, "-n", "--name")))
            q->name = value;
        else if ((value = option_value(argc, argv, &i, "-t", "--states")))
            q->states = value;
        else
            return ask_fail("squeue", "this option is not known here:", argv[i], OPTIONS);
    }
    if (q->states && !squeue_knows(q->states))
        return ask_fail("squeue", "no states of jobs are", q->states,
                        "all, or some of PD,CF,R,RQ,CG,CD,F,CA");
    return 0;
}

#define LIVE "suspended,queued,starting,running,restarting,stopping"

static int list(struct arena *a, const struct squeue *q)
{
    AUTO_BUF struct buf out = BUF_INIT(OUT_MAX);
    const char *before = NULL;
    if (!q->bare)
        squeue_line(&out, q->format, NULL);
    do {
        AUTO_BUF struct buf path = BUF_INIT(4096);
        buf_puts(&path, "/v1/jobs");
        ask_query(&path, "limit", PAGE);
        ask_query(&path, "state", q->states ? NULL : LIVE);
        ask_query(&path, "before", before);
        const struct text_node *page =
            ask_server("squeue", a, &(struct ask){ .method = "GET", .path = buf_str(&path) });
        if (!page)
            return 1;
        const struct text_node *jobs = text_get(page, "jobs");
        for (const struct text_node *job = jobs ? jobs->first : NULL; job; job = job->next)
            if (wanted(q, job))
                squeue_line(&out, q->format, job);
        before = jobs && jobs->first ? text_word(page, "next") : "";
    } while (*before);
    return fputs(buf_str(&out), stdout) < 0;
}

int squeue_main(int argc, char **argv)
{
    struct squeue q;
    struct arena *a = arena_create();
    int code = read_squeue(argc, argv, &q);
    if (code == 0)
        code = list(a, &q);
    arena_destroy(a);
    return code;
}
