/* Slurm's commands are children that are waited for. Which allocation is the server's is a file in
 * the home, written by whoever submitted it; what became of it squeue says. A server answers when
 * elsewhere.json names that allocation: what is there of an earlier one is nobody's. */
#include "cli/in_job.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "cli/call.h"
#include "cli/running_server.h"
#include "cli/settings_file.h"
#include "cli/shared_home.h"
#include "cli/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS     200
#define SLURM_MS    2000  /* between two looks at Slurm */
#define ENSURE_MS   60000 /* that a command waits which was not asked to start a server */
#define SAID_MAX    (1u << 20)
#define OUTCOME_MAX 8192u

static const char *own_file(const struct cli *cli, const char *dir, const char *name)
{
    return arena_printf(cli->arena, "%s/%s", dir, name);
}

/* The directory in-job/ of a home that machines share; NULL with err: this is none. */
static const char *find_dir(const struct cli *cli, struct err *err)
{
    AUTO_FREE char *shared = cli->named_dir ? NULL : state_dir_shared(cli->state_dir);
    if (shared)
        return arena_printf(cli->arena, "%s/in-job", shared);
    err_set(err, ERR_INPUT, "%s is in the place of no home that machines share", cli->state_dir);
    err_hint(err, "a server in an allocation is found by such a home: leave out --state-dir and "
                  "MUSTER_STATE_DIR; MUSTER_SHARED_HOME=yes says that the nodes of Slurm have this "
                  "home as well");
    return NULL;
}

const char *in_job_dir(const struct cli *cli)
{
    AUTO_FREE char *shared = cli->named_dir ? NULL : state_dir_shared(cli->state_dir);
    AUTO_FREE char *dir = shared ? shared_home_job_dir(shared) : NULL;
    return dir ? arena_strdup(cli->arena, dir) : NULL;
}

/* ---- Slurm ---- */

/* Little of this environment: Slurm keeps it in clear. */
static char *const *slurm_env(struct arena *a)
{
    static const char *const kept[] = { "PATH",  "HOME",       "USER",           "LOGNAME", "TZ",
                                        "SHELL", "SLURM_CONF", "SLURM_CLUSTERS", "LANG" };
    char **env = ARENA_ARRAY(a, ARRAY_LEN(kept) + 2, char *);
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        const char *value = getenv(kept[i]);
        if (value)
            env[n++] = arena_printf(a, "%s=%s", kept[i], value);
    }
    env[n] = arena_strdup(a, "LC_ALL=C");
    return env;
}

/* What it says, in arena; errors go to the terminal as they are. NULL with err. */
static char *run_slurm(struct cli *cli, const char *const *argv, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(SAID_MAX);
    char *const *env = slurm_env(cli->arena);
    char piece[4096];
    int ends[2], status = -1;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        err_sys(err, "pipe");
        return NULL;
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execvpe(argv[0], (char **)(uintptr_t)argv, env);
        _exit(errno == ENOENT ? 127 : 126);
    }
    close(ends[1]);
    for (ssize_t n; pid > 0 && ((n = read(ends[0], piece, sizeof piece)) > 0 || errno == EINTR);)
        buf_add(&out, piece, n > 0 ? (size_t)n : 0);
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return arena_strdup(cli->arena, buf_str(&out));
    bool missing = pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127;
    err_set(err, missing ? ERR_CANNOT : ERR_UNAVAILABLE,
            missing ? "there is no %s here" : "%s failed: what it said is above", argv[0]);
    if (missing)
        err_hint(err, "Slurm's commands have to be in the PATH");
    return NULL;
}

enum progress { OVER, WAITS, RUNS };

static enum progress progress_of(const char *state)
{
    static const char *const running[] = { "RUNNING", "CONFIGURING", "SUSPENDED",
                                           "STOPPED", "RESIZING",    "STAGE_OUT" };
    if (strcmp(state, "PENDING") == 0)
        return WAITS;
    for (size_t i = 0; i < ARRAY_LEN(running); i++)
        if (strcmp(state, running[i]) == 0)
            return RUNS;
    return OVER;
}

/* Slurm gives out numbers again that it forgot: the name counts too. Of all allocations that this
 * user has; why: Slurm's reason, in arena. -1 with err. */
static int look(struct cli *cli, const char *id, enum progress *progress, const char **why,
                struct err *err)
{
    static const char *const argv[] = { "squeue", "--me",      "-h", "-t",       "all",
                                        "-n",     IN_JOB_NAME, "-o", "%i|%T|%r", NULL };
    char *text = *id ? run_slurm(cli, argv, err) : arena_strdup(cli->arena, "");
    *progress = OVER;
    *why = "";
    if (!text)
        return -1;
    for (char *line; (line = strsep(&text, "\n"));) {
        const char *its = strsep(&line, "|"), *state = line ? strsep(&line, "|") : NULL;
        if (!state || strcmp(its, id) != 0)
            continue;
        *progress = progress_of(state);
        *why = line ? line : "";
    }
    return 0;
}

/* ---- which allocation ---- */

static const char *allocation_of(struct cli *cli, const char *dir)
{
    AUTO_FREE char *text = NULL;
    size_t len;
    if (file_read(own_file(cli, dir, "allocation"), 64, &text, &len, NULL) < 0)
        return "";
    text[strcspn(text, "\n")] = '\0';
    return arena_strdup(cli->arena, text);
}

static const char *submit(struct cli *cli, const char *dir, struct err *err)
{
    const char *const argv[] = { "sbatch", "--parsable", own_file(cli, dir, "start.sh"), NULL };
    char *id = run_slurm(cli, argv, err);
    uint64_t number;
    if (!id)
        return NULL;
    id[strcspn(id, ";\n")] = '\0'; /* "12;cluster" */
    if (!scan_u64(id, 1, UINT64_MAX, &number)) {
        err_set(err, ERR_SYSTEM, "sbatch says \"%.60s\", which is no number of a job", id);
        return NULL;
    }
    const char *line = arena_printf(cli->arena, "%s\n", id);
    if (file_replace(own_file(cli, dir, "outcome"), "", 0, 0600, err) < 0 ||
        file_replace(own_file(cli, dir, "allocation"), line, strlen(line), 0600, err) < 0)
        return NULL;
    return id;
}

/* ---- waiting for it ---- */

static bool answers(struct cli *cli, const char *id)
{
    call_find_server(cli);
    return cli->found && strcmp(cli->found->allocation, id) == 0 && call_server_lives(cli);
}

static int say_ended(struct cli *cli, const char *dir, const char *id, struct err *err)
{
    const char *log = own_file(cli, dir, "server.log");
    AUTO_FREE char *said = NULL;
    size_t len;
    if (file_read(own_file(cli, dir, "outcome"), OUTCOME_MAX, &said, &len, NULL) == 0 && len &&
        strcmp(said, "ok\n") != 0)
        return server_start_why(cli, said, log, err);
    err_set(err, ERR_UNAVAILABLE, "allocation %s of Slurm ended, and no server came of it", id);
    return err_hint(err, "%s says why", log);
}

static void say_waiting(struct cli *cli, const char *id, const char *why, const char **said)
{
    if (cli->quiet || cli->json || (*said && strcmp(*said, why) == 0))
        return;
    fprintf(stderr, "allocation %s waits in Slurm (%s)\n", id, why);
    *said = why;
}

static int say_late(const char *id, enum progress progress, const char *why, struct err *err)
{
    if (progress == WAITS)
        err_set(err, ERR_UNAVAILABLE, "your server waits in Slurm (allocation %s: %s)", id, why);
    else
        err_set(err, ERR_UNAVAILABLE, "your server does not answer yet (allocation %s runs)", id);
    return err_remedy(err, REMEDY_SERVER_STATUS);
}

static int ask_slurm(struct cli *cli, const char *dir, bool before, struct err *err)
{
    const char *id = submit(cli, dir, err);
    if (id && before && !cli->quiet)
        fprintf(stderr,
                "your server had an allocation of Slurm, which is over: asked for another one "
                "(%s)\n",
                id);
    return id ? 0 : -1;
}

/* By the allocation that there is, else by another one. One that ends now is waited for: it packs
 * what the next one goes on from. most_ms 0: as long as it takes. */
static int need(struct cli *cli, const char *dir, uint64_t most_ms, struct err *err)
{
    enum progress progress = WAITS;
    const char *why = "", *said = NULL;
    bool asked = false;
    for (uint64_t ms = 0;; ms += LOOK_MS) {
        const char *id = allocation_of(cli, dir); /* it may name the next one by itself */
        if (answers(cli, id))
            return 0;
        if (ms % SLURM_MS == 0 && look(cli, id, &progress, &why, err) < 0)
            return -1;
        if (progress == OVER && asked)
            return say_ended(cli, dir, id, err);
        if (progress == OVER) {
            if (ask_slurm(cli, dir, *id, err) < 0)
                return -1;
            asked = true;
            progress = WAITS;
        }
        if (progress == WAITS && ms >= SLURM_MS)
            say_waiting(cli, id, why, &said);
        if (most_ms && ms >= most_ms)
            return say_late(id, progress, why, err);
        poll(NULL, 0, LOOK_MS);
    }
}

/* ---- with settings ---- */

/* What a server has in an allocation unless somebody says otherwise: its node is no place for
 * jobs, and it is given back when there are none. */
static int keep_settings(struct cli *cli, const char *dir, const struct pairs *given,
                         struct err *err)
{
    const struct pair usual[] = {
        { "nodes", "name=server,0.01cpu,1Mi" },
        { "engine", "slurm" },
        { "agents", "0.0.0.0:0" },
        { "idle_exit", "1h" },
        { "backup_to", own_file(cli, dir, "backup") },
        { "backup_every", "2s" },
    };
    struct pairs all = { .n = 0 }, kept = { .n = 0 };
    if (settings_file_read(cli->arena, dir, &kept, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(usual); i++)
        if (!pairs_get(&kept, usual[i].name))
            pairs_set(&all, cli->arena, usual[i].name, usual[i].value);
    for (size_t i = 0; i < given->n; i++) {
        if (!settings_file_is(given->at[i].name)) {
            err_set(err, ERR_INPUT, "%s is not kept, and the server is not started here",
                    given->at[i].name);
            return err_hint(err, "leave it out");
        }
        pairs_set(&all, cli->arena, given->at[i].name, given->at[i].value);
    }
    return settings_file_add(cli->arena, dir, &all, err);
}

int in_job_ensure(struct cli *cli, struct err *err)
{
    const char *dir = in_job_dir(cli);
    const struct pairs none = { .n = 0 };
    if (!dir || call_server_lives(cli))
        return 0;
    return keep_settings(cli, dir, &none, err) < 0 ? -1 : need(cli, dir, ENSURE_MS, err);
}

static int write_script(struct cli *cli, const char *dir, const struct in_job_ask *ask,
                        struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(IN_JOB_SCRIPT_MAX);
    char program[4096];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n <= 0)
        return err_sys(err, "/proc/self/exe");
    program[n] = '\0';
    const struct in_job_places places = { .home = arena_strndup(cli->arena, dir,
                                                                (size_t)(strrchr(dir, '/') - dir)),
                                          .program = program };
    if (in_job_script(ask, &places, &text, err) < 0 ||
        file_mkdirs(own_file(cli, dir, "backup"), 0700, err) < 0)
        return -1;
    return file_replace(own_file(cli, dir, "start.sh"), text.data, text.len, 0600, err);
}

static int start(struct cli *cli, const char *dir, const struct in_job_ask *ask,
                 const struct pairs *given, struct err *err)
{
    bool lives = call_server_lives(cli);
    if (lives && !in_job_dir(cli)) {
        err_set(err, ERR_CONFLICT, "a server of yours runs already, in no allocation");
        return err_remedy(err, REMEDY_SERVER_STOP);
    }
    int changes = lives ? server_count_new(cli, given, err) : 0;
    if (changes < 0 || (ask && write_script(cli, dir, ask, err) < 0) ||
        keep_settings(cli, dir, given, err) < 0)
        return -1;
    if (lives && !changes) {
        if (!cli->json && !cli->quiet)
            fputs("a server runs already\n", stderr);
        return 0;
    }
    if (changes && server_end(cli, err) < 0)
        return -1;
    return need(cli, dir, 0, err);
}

int in_job_start(struct cli *cli, const struct in_job_ask *ask, const struct pairs *given,
                 struct err *err)
{
    const char *dir = find_dir(cli, err), *path = dir ? own_file(cli, dir, "settings.json") : NULL;
    AUTO_FREE char *before = NULL;
    size_t len = 0;
    if (!dir)
        return -1;
    bool had = file_read(path, SAID_MAX, &before, &len, NULL) == 0;
    if (start(cli, dir, ask, given, err) == 0)
        return 0;
    /* With these none may ever start; what is lacking then is added to the next one. */
    if (!had)
        (void)unlink(path);
    else
        (void)file_replace(path, before, len, 0600, NULL);
    return -1;
}

/* ---- of one that does not answer ---- */

int in_job_cancel(struct cli *cli, const char **id, struct err *err)
{
    const char *dir = in_job_dir(cli), *why;
    enum progress progress = OVER;
    *id = dir ? allocation_of(cli, dir) : "";
    if (look(cli, *id, &progress, &why, err) < 0)
        return -1;
    if (progress == OVER)
        return 0;
    const char *const argv[] = { "scancel", "--name=" IN_JOB_NAME, *id, NULL };
    return run_slurm(cli, argv, err) ? 1 : -1;
}

void in_job_explain(struct cli *cli, struct err *err)
{
    const char *dir = in_job_dir(cli), *id = dir ? allocation_of(cli, dir) : "", *why;
    enum progress progress;
    if (!*id || look(cli, id, &progress, &why, NULL) < 0)
        return;
    if (progress == WAITS)
        err_set(err, ERR_UNAVAILABLE, "your server waits in Slurm (allocation %s: %s)", id, why);
    else if (progress == RUNS)
        err_set(err, ERR_UNAVAILABLE, "allocation %s runs, and your server there does not answer",
                id);
    else
        err_set(err, ERR_UNAVAILABLE,
                "your server has no allocation: the last one, %s, is over; any command asks Slurm "
                "for another one",
                id);
    if (progress == RUNS)
        err_hint(err, "%s says why", own_file(cli, dir, "server.log"));
    else
        err_remedy(err, REMEDY_SERVER_START);
}
