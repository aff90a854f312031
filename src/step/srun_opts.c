/* One row per option; what inside a job has no meaning here is accepted, what would change the
 * result is refused with the reason. Names may be shortened, '_' stands for '-' as in older
 * versions. */
#include "step/srun_opts.h"

#include "base/mem.h"
#include "base/scan.h"
#include "job/slurm_time.h"

#include <stdlib.h>
#include <string.h>

enum arg { ARG_NO, ARG_YES, ARG_MAYBE };
enum fate { FATE_USED, FATE_KNOWN, FATE_REFUSED };
static const struct row {
    const char *name;
    char letter;
    enum arg arg;
    enum fate fate;
    const char *doc;
} rows[SRUN_ID_N] = {
#define SRUN_ROW(id, name_, letter_, arg_, fate_, doc_)                                            \
    [SRUN_##id] = { .name = (name_),                                                               \
                    .letter = (letter_),                                                           \
                    .arg = ARG_##arg_,                                                             \
                    .fate = FATE_##fate_,                                                          \
                    .doc = (doc_) },
    SRUN_OPTIONS(SRUN_ROW)
#undef SRUN_ROW
};

/* Of the environment, where the line says nothing. */
static const struct {
    enum srun_id id;
    const char *variable;
} variables[] = {
    { SRUN_CPUS_PER_TASK, "SRUN_CPUS_PER_TASK" },
    { SRUN_CPU_BIND, "SLURM_CPU_BIND" },
    { SRUN_DISTRIBUTION, "SLURM_DISTRIBUTION" },
    { SRUN_EXPORT, "SLURM_EXPORT_ENV" },
    { SRUN_GPUS_PER_TASK, "SLURM_GPUS_PER_TASK" },
    { SRUN_INPUT, "SLURM_STDINMODE" },
    { SRUN_KILL_ON_BAD_EXIT, "SLURM_KILL_BAD_EXIT" },
    { SRUN_LABEL, "SLURM_LABELIO" },
    { SRUN_MPI, "SLURM_MPI_TYPE" },
    { SRUN_OPEN_MODE, "SLURM_OPEN_MODE" },
    { SRUN_OUTPUT, "SLURM_STDOUTMODE" },
    { SRUN_ERROR, "SLURM_STDERRMODE" },
    { SRUN_OVERLAP, "SLURM_OVERLAP" },
    { SRUN_UNBUFFERED, "SLURM_UNBUFFEREDIO" },
    { SRUN_WAIT, "SLURM_WAIT" },
};

const char *srun_opts_name(enum srun_id id)
{
    return rows[id].name;
}

static bool same(const char *name, const char *said, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (name[i] != (said[i] == '_' ? '-' : said[i]))
            return false;
    return true;
}

static enum srun_id find_long(const char *said, size_t len)
{
    enum srun_id found = SRUN_ID_N;
    size_t fits = 0;
    for (enum srun_id id = 0; id < SRUN_ID_N; id++) {
        if (strlen(rows[id].name) < len || !same(rows[id].name, said, len))
            continue;
        if (strlen(rows[id].name) == len)
            return id;
        found = id;
        fits++;
    }
    if (len == 14 && same("tasks-per-node", said, len))
        return SRUN_NTASKS_PER_NODE;
    return fits == 1 ? found : SRUN_ID_N;
}

static enum srun_id find_letter(char letter)
{
    enum srun_id id = 0;
    while (id < SRUN_ID_N && rows[id].letter != letter)
        id++;
    return id;
}

static int unknown(const char *said, struct err *err)
{
    const char *names[SRUN_ID_N];
    for (enum srun_id id = 0; id < SRUN_ID_N; id++)
        names[id] = rows[id].name;
    const char *near =
        strncmp(said, "--", 2) == 0 ? scan_nearest(said + 2, names, SRUN_ID_N) : NULL;
    err_set(err, ERR_INPUT, "%.60s is no option of srun that is known here", said);
    return err_hint(err, "%s%s", near ? "--" : "options of a site's plug-ins are not",
                    near ? near : "");
}

struct reading {
    struct arena *arena;
    char **argv;
    int argc, next;
    struct srun_opts *part;
    struct err *err;
};

static int put(struct reading *r, enum srun_id id, const char *value)
{
    if (rows[id].fate == FATE_REFUSED) {
        err_set(r->err, ERR_CANNOT, "--%s cannot be had", rows[id].name);
        return err_hint(r->err, "%s", rows[id].doc);
    }
    r->part->at[id] = value;
    return 0;
}

static int put_next(struct reading *r, enum srun_id id)
{
    if (r->next >= r->argc)
        return err_set(r->err, ERR_INPUT, "--%s has no value", rows[id].name);
    return put(r, id, r->argv[r->next++]);
}

static int read_long(struct reading *r, const char *said)
{
    size_t len = strcspn(said + 2, "=");
    enum srun_id id = find_long(said + 2, len);
    const char *value = said[2 + len] ? said + 2 + len + 1 : NULL;
    if (id == SRUN_ID_N)
        return unknown(said, r->err);
    if (value && rows[id].arg == ARG_NO)
        return err_set(r->err, ERR_INPUT, "--%s takes no value", rows[id].name);
    if (!value && rows[id].arg == ARG_YES)
        return put_next(r, id);
    return put(r, id, value ? value : "");
}

static int read_letters(struct reading *r, const char *said)
{
    for (const char *c = said + 1; *c; c++) {
        enum srun_id id = find_letter(*c);
        if (id == SRUN_ID_N)
            return unknown(said, r->err);
        if (rows[id].arg != ARG_NO && c[1])
            return put(r, id, c[1] == '=' ? c + 2 : c + 1);
        if (rows[id].arg == ARG_YES)
            return put_next(r, id);
        if (put(r, id, "") < 0)
            return -1;
    }
    return 0;
}

/* Up to the next ":" word or the end. */
static int read_part(struct reading *r)
{
    struct srun_opts *part = r->part;
    while (r->next < r->argc) {
        const char *word = r->argv[r->next];
        if (word[0] != '-' || !word[1])
            break;
        r->next++;
        if (strcmp(word, "--") == 0)
            break;
        if ((word[1] == '-' ? read_long(r, word) : read_letters(r, word)) < 0)
            return -1;
    }
    part->argv.at = ARENA_ARRAY(r->arena, (size_t)(r->argc - r->next) + 1, const char *);
    while (r->next < r->argc && strcmp(r->argv[r->next], ":") != 0)
        part->argv.at[part->argv.n++] = r->argv[r->next++];
    r->next++;
    return 0;
}

static void fill_in(struct srun_opts *part)
{
    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        const char *value = getenv(variables[i].variable);
        bool flag = rows[variables[i].id].arg == ARG_NO;
        if (!part->at[variables[i].id] && value && *value && !(flag && strcmp(value, "0") == 0))
            part->at[variables[i].id] = value;
    }
}

int srun_opts_read(struct arena *a, int argc, char **argv, struct srun_opts **parts, size_t *n,
                   struct err *err)
{
    struct reading r = { .arena = a, .argv = argv, .argc = argc, .next = 1, .err = err };
    *parts = ARENA_ARRAY(a, (size_t)argc + 1, struct srun_opts);
    *n = 0;
    do {
        r.part = &(*parts)[(*n)++];
        if (read_part(&r) < 0)
            return -1;
        fill_in(r.part);
    } while (r.next < r.argc);
    return 0;
}

/* --time has Slurm's forms, --wait is a number of seconds, as there. */
int srun_opts_limits(const struct srun_opts *part, struct srun_limits *out, struct err *err)
{
    uint64_t minutes = UINT64_MAX;
    uint32_t seconds = 0;
    const char *text = part->at[SRUN_TIME];
    if (text && !slurm_time(text, &minutes)) {
        err_set(err, ERR_INPUT, "--time=%.60s is no time", text);
        return err_hint(err, "minutes, minutes:seconds, hours:minutes:seconds or days-hours");
    }
    if (srun_opts_number(part, SRUN_WAIT, 0, &seconds, err) < 0)
        return -1;
    out->run_ms = minutes == UINT64_MAX ? 0 : minutes * 60000;
    out->wait_ms = seconds * UINT64_C(1000);
    return 0;
}

int srun_opts_number(const struct srun_opts *part, enum srun_id id, uint32_t least, uint32_t *out,
                     struct err *err)
{
    uint64_t n;
    const char *text = part->at[id];
    if (!text)
        return 0;
    if (!scan_u64(text, least, 1u << 20, &n)) {
        err_set(err, ERR_INPUT, "--%s=%.60s is no number", rows[id].name, text);
        return err_hint(err, "%u or more", least);
    }
    *out = (uint32_t)n;
    return 0;
}
