/* Options are lines of the script, so that it can be submitted again as it is, also by itself. Each
 * is one word in double quotes, in which Slurm takes a backslash before one of its own signs. */
#include "cli/in_job_script.h"

#include "base/mem.h"
#include "base/shell_word.h"
#include "cli/in_job_sh.h"

#include <stdlib.h>
#include <string.h>

#define MINUTE_MS   60000u
#define WARNING_S   180u
#define LEAST_S     10u
#define MINUTES_MAX (365u * 24u * 60u)

unsigned in_job_warning(uint64_t minutes)
{
    const uint64_t part = minutes * 60 / 4;
    return !minutes || part > WARNING_S ? WARNING_S : part < LEAST_S ? LEAST_S : (unsigned)part;
}

static void put_option(struct buf *out, const char *flag)
{
    buf_puts(out, "#SBATCH \"");
    for (const char *c = flag; *c; c++) {
        if (strchr("\"\\", *c))
            buf_putc(out, '\\');
        buf_putc(out, *c);
    }
    buf_puts(out, "\"\n");
}

static int put_options(const struct in_job_ask *ask, const struct in_job_places *places,
                       struct buf *out, struct err *err)
{
    static const char *const own[] = { "--no-requeue", "--nodes=1",          "--ntasks=1",
                                       "--mem=2G",     "--open-mode=append", "--export=ALL" };
    const uint64_t minutes = (ask->time_ms + MINUTE_MS - 1) / MINUTE_MS;
    if (minutes > MINUTES_MAX)
        return err_set(err, ERR_INPUT, "--time is more than a year");
    put_option(out, "--job-name=" IN_JOB_NAME);
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        put_option(out, own[i]);
    AUTO_FREE char *signal = mem_printf("--signal=B:USR1@%u", in_job_warning(minutes));
    AUTO_FREE char *output = mem_printf("--output=%s/in-job/server.log", places->home);
    AUTO_FREE char *time = mem_printf("--time=%llu", (unsigned long long)minutes);
    AUTO_FREE char *partition =
        ask->partition ? mem_printf("--partition=%s", ask->partition) : NULL;
    put_option(out, signal);
    put_option(out, output);
    if (minutes)
        put_option(out, time);
    if (partition)
        put_option(out, partition);
    for (size_t i = 0; i < ask->n_flags; i++) {
        if (ask->flags[i][0] != '-' || strpbrk(ask->flags[i], "\r\n")) {
            err_set(err, ERR_INPUT, "\"%.60s\" is no flag of sbatch", ask->flags[i]);
            return err_hint(err, "write each as one word: --qos=high");
        }
        if (strncmp(ask->flags[i], "--job-n", 7) == 0 || strncmp(ask->flags[i], "-J", 2) == 0)
            return err_set(err, ERR_INPUT,
                           "its name is how the server is found in Slurm: " IN_JOB_NAME);
        put_option(out, ask->flags[i]);
    }
    return 0;
}

static void assign(struct buf *out, const char *before, const char *name, const char *value)
{
    buf_addf(out, "%s%s=", before, name);
    shell_word(out, value);
    buf_putc(out, '\n');
}

int in_job_script(const struct in_job_ask *ask, const struct in_job_places *places, struct buf *out,
                  struct err *err)
{
    /* Where the next command looks, and the key of the records. */
    static const char *const kept[] = { "XDG_STATE_HOME", "XDG_CONFIG_HOME", "MUSTER_SHARED_HOME",
                                        "MUSTER_SEAL_KEY" };
    buf_puts(out, "#!/bin/sh\n");
    if (put_options(ask, places, out, err) < 0)
        return -1;
    assign(out, "", "home", places->home);
    assign(out, "", "program", places->program);
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        const char *value = getenv(kept[i]);
        if (value && *value)
            assign(out, "export ", kept[i], value);
    }
    buf_add(out, in_job_sh, in_job_sh_len);
    return out->overflow ? err_set(err, ERR_TOO_LARGE, "the batch script is too long") : 0;
}
