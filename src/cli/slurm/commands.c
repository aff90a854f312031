/* Three programs in one file because each is a translation: arguments to those of a verb of muster,
 * its answer to lines of Slurm. The verb runs in a child whose output is read.
 *
 * Inputs: command lines, scripts. Effects: what the verbs do. Caveats: options of sbatch are
 * checked by the dialect, with the script; squeue and scancel know those that scripts use, and
 * refuse others. */
#include "cli/slurm/commands.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "text/json.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SCRIPT_MAX = 4 << 20, ANSWER_MAX = 64 << 20, WORDS_MAX = 512 };
#define MAGIC "#SBATCH"

struct verb { /* words of muster's command line */
    char *at[WORDS_MAX];
    int n;
};

static void add(struct verb *verb, const char *word)
{
    if (verb->n < WORDS_MAX - 1)
        verb->at[verb->n++] = (char *)(uintptr_t)word; /* nothing writes to it */
}

static int fail(const char *name, const char *what, const char *value, const char *hint)
{
    fprintf(stderr, "%s: error: %s%s%s\n", name, what, *value ? " " : "", value);
    if (*hint)
        fprintf(stderr, "%s: %s\n", name, hint);
    return 1;
}

/* Runs the verb with that stdin (-1: nothing); what it prints goes to out. Its exit status. */
static int run_verb(const struct cli_host *host, struct verb *verb, int in, struct buf *out)
{
    int ends[2], status = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return 1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if ((in >= 0 && dup2(in, STDIN_FILENO) < 0) || dup2(ends[1], STDOUT_FILENO) < 0)
            _exit(1);
        int code = cli_main(host, verb->n, verb->at);
        fflush(NULL);
        _exit(code);
    }
    close(ends[1]);
    for (;;) {
        char piece[16384];
        ssize_t n = pid > 0 ? read(ends[0], piece, sizeof piece) : 0;
        if (n <= 0)
            break;
        buf_add(out, piece, (size_t)n);
    }
    close(ends[0]);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* ---- sbatch ---- */

/* Where the first command begins: behind the last line of options that counts. */
static const char *first_command(const char *script)
{
    const char *line = script;
    while (*line) {
        const char *at = line + strspn(line, " \t");
        if (*at && *at != '#' && *at != '\n')
            return line;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return line;
}

void sbatch_insert(struct buf *out, const char *script, char *const *words, size_t n)
{
    const char *command = first_command(script);
    buf_add(out, script, (size_t)(command - script));
    if (command > script && command[-1] != '\n')
        buf_putc(out, '\n');
    for (size_t i = 0; i < n; i++) {
        buf_puts(out, i == 0 ? MAGIC " \"" : " \"");
        for (const char *c = words[i]; *c; c++) {
            if (*c == '"' || *c == '\\')
                buf_putc(out, '\\');
            buf_putc(out, *c == '\n' ? ' ' : *c);
        }
        buf_putc(out, '"');
    }
    if (n > 0)
        buf_putc(out, '\n');
    buf_puts(out, command);
}

/* Letters and names of options of sbatch whose value is the next word. */
static bool takes_next(const char *word)
{
    static const char *const flags[] = {
        "contiguous",    "exclusive", "get-user-env", "help",       "hold",      "ignore-pbs",
        "nice",          "no-kill",   "no-requeue",   "overcommit", "parsable",  "oversubscribe",
        "quiet",         "reboot",    "requeue",      "spread-job", "test-only", "usage",
        "use-min-nodes", "verbose",   "version",      "wait",       "propagate"
    };
    if (word[1] != '-')
        return !strchr("HOsQvVWkh", word[1]) && !word[2];
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        if (strcmp(word + 2, flags[i]) == 0)
            return false;
    return !strchr(word, '=');
}

struct sbatch {
    char *options[WORDS_MAX];
    size_t n;
    const char *script, *wrap;
    int first; /* argument of the script */
    bool parsable;
};

static void read_sbatch(int argc, char **argv, struct sbatch *out)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--parsable") == 0)
            out->parsable = true;
        else if (strncmp(word, "--wrap=", 7) == 0)
            out->wrap = word + 7;
        else if (strcmp(word, "--wrap") == 0 && i + 1 < argc)
            out->wrap = argv[++i];
        else if (out->n + 2 < WORDS_MAX) {
            out->options[out->n++] = argv[i];
            if (takes_next(word) && i + 1 < argc)
                out->options[out->n++] = argv[++i];
        }
    }
    if (i < argc && !out->wrap)
        out->script = argv[i++];
    out->first = i;
}

/* The text, from the file, stdin, or --wrap. */
static int read_script(const struct sbatch *s, char **text, struct err *err)
{
    size_t len;
    if (s->wrap) {
        *text =
            mem_printf("#!/bin/sh\n# This script was created by sbatch --wrap.\n\n%s\n", s->wrap);
        return 0;
    }
    return file_read(s->script ? s->script : "/dev/stdin", SCRIPT_MAX, text, &len, err);
}

static int as_stdin(const struct buf *text)
{
    int fd = memfd_create("script", MFD_CLOEXEC);
    if (fd >= 0 &&
        (write(fd, text->data, text->len) != (ssize_t)text->len || lseek(fd, 0, SEEK_SET) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void add_args(struct verb *verb, struct arena *a, int argc, char **argv, int first)
{
    AUTO_BUF struct buf json = BUF_INIT(SCRIPT_MAX);
    struct text_node *list = text_list(a, NULL, NULL);
    for (int i = first; i < argc; i++)
        text_str(a, list, NULL, argv[i]);
    if (list->count == 0)
        return;
    json_print(list, 0, &json);
    add(verb, "--set");
    add(verb, arena_printf(a, "config.sbatch.args=%s", buf_str(&json)));
}

static bool names_job(const struct buf *text)
{
    return strstr(buf_str(text), "--job-name") || strstr(buf_str(text), "-J");
}

static int submit(const struct cli_host *host, struct arena *a, int argc, char **argv)
{
    struct sbatch s = { .n = 0 };
    struct verb verb = { .n = 0 };
    struct err err = { .code = ERR_NONE };
    AUTO_FREE char *script = NULL;
    AUTO_BUF struct buf text = BUF_INIT(2u * SCRIPT_MAX), answer = BUF_INIT(1 << 16);
    read_sbatch(argc, argv, &s);
    if (read_script(&s, &script, &err) != 0)
        return fail("sbatch", err.what, "", err.hint);
    sbatch_insert(&text, script, s.options, s.n);
    add(&verb, "submit");
    add(&verb, "-q");
    add(&verb, "--from");
    add(&verb, "sbatch");
    const char *slash = s.script ? strrchr(s.script, '/') : NULL;
    if (!names_job(&text)) {
        add(&verb, "--name");
        add(&verb, s.wrap ? "wrap" : slash ? slash + 1 : s.script ? s.script : "sbatch");
    }
    add_args(&verb, a, argc, argv, s.first);
    add(&verb, "-");
    AUTO_CLOSE int in = as_stdin(&text);
    int code = in < 0 ? 1 : run_verb(host, &verb, in, &answer);
    if (code != 0)
        return code;
    printf(s.parsable ? "%.*s\n" : "Submitted batch job %.*s\n",
           (int)strcspn(buf_str(&answer), "\n"), buf_str(&answer));
    return 0;
}

int sbatch_main(const struct cli_host *host, int argc, char **argv)
{
    struct arena *a = arena_create();
    int code = submit(host, a, argc, argv);
    arena_destroy(a);
    return code;
}

/* ---- squeue ---- */

static const struct {
    const char *state, *word, *code;
} states[] = {
    { "queued", "PENDING", "PD" },       { "suspended", "PENDING", "PD" },
    { "starting", "CONFIGURING", "CF" }, { "running", "RUNNING", "R" },
    { "restarting", "REQUEUED", "RQ" },  { "stopping", "COMPLETING", "CG" },
    { "succeeded", "COMPLETED", "CD" },  { "failed", "FAILED", "F" },
    { "stopped", "CANCELLED", "CA" },
};

static size_t state_of(const struct text_node *job)
{
    size_t i = 0;
    while (i + 1 < ARRAY_LEN(states) && strcmp(text_word(job, "state"), states[i].state) != 0)
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
    size_t state = state_of(job);
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
static void add_line(struct buf *out, const char *format, const struct text_node *job)
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
    bool bare, all_states, all_jobs; /* bare: no line of titles */
    const char *format, *ids, *name;
};

/* The value of an option, in its word or the next; NULL: it is another one. */
static const char *value_of(int argc, char **argv, int *i, const char *letter, const char *name)
{
    size_t n = strlen(name);
    if (strncmp(argv[*i], name, n) == 0 && argv[*i][n] == '=')
        return argv[*i] + n + 1;
    if (strncmp(argv[*i], letter, 2) == 0 && argv[*i][1] != '-' && argv[*i][2])
        return argv[*i] + 2;
    if ((strcmp(argv[*i], letter) == 0 || strcmp(argv[*i], name) == 0) && *i + 1 < argc)
        return argv[++*i];
    return NULL;
}

static int read_squeue(int argc, char **argv, struct squeue *q)
{
    *q = (struct squeue){ .format = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R" };
    for (int i = 1; i < argc; i++) {
        const char *value;
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--noheader") == 0)
            q->bare = true;
        else if (strcmp(argv[i], "--me") == 0 || strcmp(argv[i], "-r") == 0 ||
                 value_of(argc, argv, &i, "-u", "--user"))
            continue; /* a program of a job sees its owner's jobs */
        else if ((value = value_of(argc, argv, &i, "-j", "--jobs")) ||
                 (value = value_of(argc, argv, &i, "-j", "--job")))
            q->ids = value;
        else if ((value = value_of(argc, argv, &i, "-o", "--format")))
            q->format = value;
        else if ((value = value_of(argc, argv, &i, "-n", "--name")))
            q->name = value;
        else if ((value = value_of(argc, argv, &i, "-t", "--states")))
            q->all_states = strcasecmp(value, "all") == 0;
        else
            return fail("squeue", "this option is not known here:", argv[i], "muster ls");
    }
    return 0;
}

static bool listed(const char *ids, uint64_t job)
{
    for (const char *at = ids; *at; at += strcspn(at, ","), at += *at == ',')
        if (strtoull(at, NULL, 10) == job)
            return true;
    return false;
}

static bool wanted(const struct squeue *q, const struct text_node *job)
{
    bool ended = text_number(job, "ended_ms") > 0;
    return (!q->ids || listed(q->ids, text_number(job, "number"))) && (!ended || q->all_states) &&
           (!q->name || strcmp(q->name, text_word(job, "name")) == 0);
}

static int list(const struct cli_host *host, struct arena *a, const struct squeue *q)
{
    AUTO_BUF struct buf answer = BUF_INIT(ANSWER_MAX), out = BUF_INIT(ANSWER_MAX);
    struct verb verb = { .n = 0 };
    struct report report;
    add(&verb, "ls");
    add(&verb, "--json");
    add(&verb, q->all_states ? "--all" : "--live");
    int code = run_verb(host, &verb, -1, &answer);
    if (code != 0)
        return code;
    report_init(&report, a);
    const struct text_node *root =
        json_parse(a, buf_str(&answer), answer.len, JSON_ANSWER, &report);
    const struct text_node *jobs = root ? text_get(root, "jobs") : NULL;
    if (!q->bare)
        add_line(&out, q->format, NULL);
    for (const struct text_node *job = jobs ? jobs->first : NULL; job; job = job->next)
        if (wanted(q, job))
            add_line(&out, q->format, job);
    return fputs(buf_str(&out), stdout) < 0;
}

int squeue_main(const struct cli_host *host, int argc, char **argv)
{
    struct squeue q;
    struct arena *a = arena_create();
    int code = read_squeue(argc, argv, &q);
    if (code == 0)
        code = list(host, a, &q);
    arena_destroy(a);
    return code;
}

/* ---- scancel ---- */

/* "12_3" is "12[3]" here. */
static const char *job_of(struct arena *a, const char *text)
{
    size_t n = strcspn(text, "_");
    return text[n] ? arena_printf(a, "%.*s[%s]", (int)n, text, text + n + 1) : text;
}

int scancel_main(const struct cli_host *host, int argc, char **argv)
{
    struct arena *a = arena_create();
    AUTO_BUF struct buf answer = BUF_INIT(1 << 20);
    struct verb verb = { .n = 0 };
    const char *signal = NULL, *value;
    int code = 0, jobs = 0;
    for (int i = 1; i < argc && code == 0; i++)
        if ((value = value_of(argc, argv, &i, "-s", "--signal")))
            signal = value;
    add(&verb, signal ? "signal" : "stop");
    add(&verb, "-q");
    for (int i = 1; i < argc && code == 0; i++) {
        if (value_of(argc, argv, &i, "-s", "--signal") || strcmp(argv[i], "-Q") == 0 ||
            strcmp(argv[i], "-b") == 0 || strcmp(argv[i], "-f") == 0)
            continue;
        if (argv[i][0] == '-')
            code = fail("scancel", "this option is not known here:", argv[i], "muster stop JOB...");
        else if (signal && jobs++)
            code = fail("scancel", "one job at a time gets a signal", "", "");
        else
            add(&verb, job_of(a, argv[i]));
    }
    if (signal)
        add(&verb, signal);
    if (code == 0)
        code = run_verb(host, &verb, -1, &answer);
    arena_destroy(a);
    return code;
}
