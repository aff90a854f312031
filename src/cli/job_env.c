/* Reading variables. "all" leaves out what describes this shell and not the user's work, and what
 * tells a task of a job its place in that job: the new job's own would be hidden by it. */
#include "cli/job_env.h"

#include "base/file.h"
#include "base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define FILE_MAX (1u << 20)

static const char *const left_out[] = {
    /* of the shell */
    "_", "OLDPWD", "PWD", "SHLVL", "VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT", "PYTHONHOME",
    /* of a task of another job; "*" stands for any end */
    "MUSTER_*", "PAI_*", "SLURM_*", "PMI_*", "PMIX_*", "OMPI_*", "TORCHELASTIC_*", "PET_*",
    "CONDA_*", "RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE",
    "ROLE_WORLD_SIZE", "GROUP_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "NODE_RANK", "TF_CONFIG",
    "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"
};

static bool is_left_out(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(left_out); i++) {
        size_t n = strcspn(left_out[i], "*");
        if (strncmp(name, left_out[i], n) == 0 && (left_out[i][n] || !name[n]))
            return true;
    }
    return false;
}

static bool is_name(const char *name, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_')
            return false;
    return n > 0 && !isdigit((unsigned char)*name);
}

static void export_all(struct cli *cli, struct pairs *out)
{
    for (char **one = environ; one && *one; one++) {
        size_t n = strcspn(*one, "=");
        const char *name = arena_strndup(cli->arena, *one, n);
        if ((*one)[n] == '=' && is_name(name, n) && !is_left_out(name)) /* no shell's functions */
            pairs_set(out, cli->arena, name, *one + n + 1);
    }
}

/* NAME=VALUE, or NAME for its value here; of: the option or the line it stands in. */
static int set_one(struct cli *cli, const char *of, const char *text, struct pairs *out,
                   struct err *err)
{
    size_t n = strcspn(text, "=");
    const char *name = arena_strndup(cli->arena, text, n);
    const char *value = text[n] ? text + n + 1 : getenv(name);
    if (n == 0) {
        err_set(err, ERR_INPUT, "%s: a value without a name", of);
        return err_hint(err, "NAME=VALUE, or NAME for the value it has here");
    }
    if (!value) {
        err_set(err, ERR_INPUT, "%s: %.80s is not set here", of, name);
        return err_hint(err, "%.80s=VALUE, or export it first", name);
    }
    pairs_set(out, cli->arena, name, value);
    return 0;
}

static int export_words(struct cli *cli, const char *text, struct pairs *out, struct err *err)
{
    for (const char *at = text; *at; at += *at == ',') {
        size_t n = strcspn(at, ",");
        const char *word = arena_strndup(cli->arena, at, n);
        at += n;
        if (strcasecmp(word, "all") == 0)
            export_all(cli, out);
        else if (strcasecmp(word, "none") != 0 && strcasecmp(word, "nil") != 0 &&
                 set_one(cli, "--export", word, out, err) < 0)
            return -1;
    }
    return 0;
}

/* A value in quotes is what is inside them; nothing else is special. */
static char *unquote(char *value)
{
    size_t n = strlen(value);
    if (n >= 2 && (*value == '"' || *value == '\'') && value[n - 1] == *value) {
        value[n - 1] = '\0';
        return value + 1;
    }
    return value;
}

static int read_file(struct cli *cli, const char *file, struct pairs *out, struct err *err)
{
    AUTO_FREE char *text = NULL;
    size_t len, number = 1;
    if (file_read(file, FILE_MAX, &text, &len, err) < 0) {
        err->code = ERR_INPUT;
        return err_in(err, "--env-file");
    }
    for (char *at = text, *next; at; at = next, number++) {
        next = strchr(at, '\n');
        if (next)
            *next++ = '\0';
        at[strcspn(at, "\r")] = '\0';
        at += strspn(at, " \t");
        if (strncmp(at, "export", 6) == 0 && (at[6] == ' ' || at[6] == '\t'))
            at += 6 + strspn(at + 6, " \t");
        if (*at == '\0' || *at == '#')
            continue;
        char *value = strchr(at, '=');
        const char *of = arena_printf(cli->arena, "%s:%zu", file, number);
        const char *line =
            value ? arena_printf(cli->arena, "%.*s=%s", (int)(value - at), at, unquote(value + 1))
                  : at;
        if (set_one(cli, of, line, out, err) < 0)
            return -1;
    }
    return 0;
}

int job_env_read(struct cli *cli, const struct job_env *from, struct pairs *out, struct err *err)
{
    *out = (struct pairs){ .n = 0 };
    if (from->export && export_words(cli, from->export, out, err) < 0)
        return -1;
    for (size_t i = 0; i < from->files.n; i++)
        if (read_file(cli, from->files.at[i], out, err) < 0)
            return -1;
    for (size_t i = 0; i < from->env.n; i++)
        if (set_one(cli, "--env", from->env.at[i], out, err) < 0)
            return -1;
    return 0;
}
