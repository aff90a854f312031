/* sbatch inside a job: the script goes to the job's server as it is, with the options of the
 * command line behind its own. Options are checked by the dialect, with the script; --wait is done
 * here.
 *
 * Inputs: command line, script. Effects: a job. */
#include "base/file.h"
#include "base/mem.h"
#include "step/ask.h"
#include "step/commands.h"
#include "step/step.h"
#include "text/json.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCRIPT_MAX = 4 << 20, WORDS_MAX = 512 };
#define MAGIC "#SBATCH"

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
    bool parsable, waits;
};

static void read_sbatch(int argc, char **argv, struct sbatch *out)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--parsable") == 0)
            out->parsable = true;
        else if (strcmp(word, "--wait") == 0 || strcmp(word, "-W") == 0)
            out->waits = true;
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

static void add_args(struct buf *path, struct arena *a, int argc, char **argv, int first)
{
    AUTO_BUF struct buf json = BUF_INIT(SCRIPT_MAX);
    struct text_node *list = text_list(a, NULL, NULL);
    for (int i = first; i < argc; i++)
        text_str(a, list, NULL, argv[i]);
    if (list->count == 0)
        return;
    buf_puts(&json, "config.sbatch.args=");
    json_print(list, 0, &json);
    ask_query(path, "set", buf_str(&json));
}

/* Whether an option line has a word that begins so; what commands say is theirs. whole: and ends
 * so. */
static bool has_option(const char *script, const char *option, bool whole)
{
    const char *end = first_command(script);
    const size_t n = strlen(option);
    for (const char *line = script; line < end;
         line += strcspn(line, "\n"), line += *line == '\n') {
        const char *stop = line + strcspn(line, "\n");
        if (strncmp(line, MAGIC, strlen(MAGIC)) != 0)
            continue;
        for (const char *c = line + strlen(MAGIC); c < stop; c++)
            if (strchr(" \t\"'", c[-1]) && strncmp(c, option, n) == 0 &&
                (!whole || !c[n] || strchr(" \t\"'\n", c[n])))
                return true;
    }
    return false;
}

bool sbatch_names_job(const char *script)
{
    return has_option(script, "-J", false) || has_option(script, "--job-name", false);
}

bool sbatch_waits(const char *script)
{
    return has_option(script, "-W", true) || has_option(script, "--wait", true);
}

/* Where it was called, as the server sees it: on another machine this is no directory of the
 * server's, which takes that of the job then. */
static void add_place(struct buf *path)
{
    char here[PATH_MAX];
    if (!ask_is_elsewhere() && getcwd(here, sizeof here))
        ask_query(path, "cwd", here);
}

static int submit(struct arena *a, int argc, char **argv)
{
    struct sbatch s = { .n = 0 };
    struct err err = { .code = ERR_NONE };
    AUTO_FREE char *script = NULL;
    AUTO_BUF struct buf text = BUF_INIT(2u * SCRIPT_MAX), path = BUF_INIT(2u * SCRIPT_MAX);
    read_sbatch(argc, argv, &s);
    if (read_script(&s, &script, &err) != 0)
        return ask_fail("sbatch", err.what, "", err.hint);
    sbatch_insert(&text, script, s.options, s.n);
    buf_puts(&path, "/v1/jobs");
    ask_query(&path, "from", "sbatch");
    const char *slash = s.script ? strrchr(s.script, '/') : NULL;
    if (!sbatch_names_job(buf_str(&text)))
        ask_query(&path, "name",
                  s.wrap     ? "wrap"
                  : slash    ? slash + 1
                  : s.script ? s.script
                             : "sbatch");
    add_args(&path, a, argc, argv, s.first);
    add_place(&path);
    const struct ask ask = {
        .method = "POST", .path = buf_str(&path), .body = buf_str(&text), .len = text.len
    };
    const struct text_node *made = ask_server("sbatch", a, &ask);
    if (!made)
        return 1;
    const uint64_t number = text_number(made, "number");
    printf(s.parsable ? "%llu\n" : "Submitted batch job %llu\n", (unsigned long long)number);
    (void)fflush(stdout);
    return s.waits || sbatch_waits(buf_str(&text)) ? sbatch_wait(number) : 0;
}

int sbatch_main(int argc, char **argv)
{
    struct arena *a = arena_create();
    int code = submit(a, argc, argv);
    arena_destroy(a);
    return code;
}
