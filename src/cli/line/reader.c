/* What all readers of launchers' lines do alike: program names, words that stay, shell text, the
 * shape of the job. */
#include "cli/line/reader.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/shell_word.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

void line_say(struct line_reader *r, const char *fmt, ...)
{
    AUTO_BUF struct buf text = BUF_INIT(2048);
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    if (r->out->said.n < LINE_SAID_MAX)
        r->out->said.at[r->out->said.n++] = arena_strdup(r->arena, buf_str(&text));
}

/* ---- which program ---- */

const char *line_base_name(const char *word)
{
    const char *slash = strrchr(word, '/');
    return slash ? slash + 1 : word;
}

static bool is_python(const char *word)
{
    const char *name = line_base_name(word);
    return strncmp(name, "python", 6) == 0 && name[6 + strspn(name + 6, "0123456789.")] == '\0';
}

/* The program that a launcher of that path would give its ranks: the one beside it. */
static const char *python_beside(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    const char *python = arena_printf(a, "%.*s/python", (int)(slash - path), path);
    return access(python, X_OK) == 0 ? python : NULL;
}

int line_program(struct line_reader *r, const char *name, const char *module, const char **python)
{
    int at = 1;
    *python = NULL;
    if (name && strcmp(line_base_name(r->argv[0]), name) == 0) {
        *python = python_beside(r->arena, r->argv[0]);
        return 1;
    }
    if (!module || !is_python(r->argv[0]))
        return 0;
    while (at < r->argc && strcmp(r->argv[at], "-u") == 0) /* tasks are unbuffered by themselves */
        at++;
    if (at + 1 >= r->argc || strcmp(r->argv[at], "-m") != 0 || strcmp(r->argv[at + 1], module) != 0)
        return 0;
    bool plain = strcmp(r->argv[0], "python") == 0 || strcmp(r->argv[0], "python3") == 0;
    *python = plain ? NULL : r->argv[0];
    return at + 2;
}

/* ---- what each task runs ---- */

uint32_t line_whole(const char *text)
{
    uint64_t n;
    return text && scan_u64(text, 1, LINE_RANKS_MOST, &n) ? (uint32_t)n : 0;
}

void line_keep(struct line_reader *r, const char *const *words, size_t n)
{
    struct words *argv = &r->out->argv;
    argv->at = ARENA_ARRAY(r->arena, r->front.n + n, const char *);
    argv->n = 0;
    for (size_t i = 0; i < r->front.n; i++)
        argv->at[argv->n++] = r->front.at[i];
    for (size_t i = 0; i < n; i++)
        argv->at[argv->n++] = words[i];
}

void line_keep_shell(struct line_reader *r, const char *before, const struct words *words)
{
    AUTO_BUF struct buf text = BUF_INIT(1 << 20);
    buf_puts(&text, before);
    buf_puts(&text, "exec");
    for (size_t i = 0; i < r->front.n + words->n; i++) {
        const char *word = i < r->front.n ? r->front.at[i] : words->at[i - r->front.n];
        buf_putc(&text, ' ');
        if (word[0] == LINE_RAW)
            buf_puts(&text, word + 1);
        else
            shell_word(&text, word);
    }
    r->out->run = arena_strdup(r->arena, buf_str(&text));
}

void line_starts(struct line_reader *r, int at)
{
    struct words *program = &r->out->program;
    program->at = ARENA_ARRAY(r->arena, (size_t)(r->argc - at) + 1, const char *);
    program->n = 0;
    for (int i = at; i < r->argc; i++)
        program->at[program->n++] = r->argv[i];
}

int line_shape(struct line_reader *r, uint32_t nodes, uint32_t ranks, struct err *err)
{
    if (r->asked->replicas && r->asked->replicas != nodes) {
        err_set(err, ERR_INPUT, "--replicas %llu, and the line has %u node%s",
                (unsigned long long)r->asked->replicas, nodes, nodes == 1 ? "" : "s");
        return err_hint(err, "leave --replicas out: each node of the line is one task");
    }
    r->out->kind = LINE_TASKS;
    r->out->min = r->out->max = nodes;
    r->out->ranks = ranks;
    return 0;
}
