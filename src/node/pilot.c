/* Joins, then looks after the host: one that dies is started again, and finds its runs. It is the
 * subreaper of all that, so whoever ends the allocation finds everything below it, also where Slurm
 * follows parents alone. Its directory goes with it, and the copy of this program that was brought
 * to this node. Where the server and Slurm are both gone for
 * good nobody ends it: it ends all below it a day after the time limit of the allocation. */
#include "node/pilot.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "node/conf.h"
#include "node/earlier.h"
#include "node/joining.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CONF_MAX     32768u
#define PROGRAM_MAX  (64u << 20)
#define AGAIN_NS     500000000 /* until a host that died is started again */
#define STATUS_NEVER 3         /* it did not join */
#define DAY_S        86400
#define FOREVER_S    INT64_C(0x7fffffff) /* no limit is known */
#define CHILDREN_MAX 65536u
#define ASK_MS       60000u /* for an answer about other nodes */

/* ---- what the environment says ---- */

int pilot_read(struct pilot_site *site, struct err *err)
{
    const struct {
        const char *name, **to;
        bool may_miss;
    } rows[] = {
        { "MUSTER_PILOT_TCP", &site->tcp, false },
        { "MUSTER_PILOT_PIN", &site->pin, false },
        { "MUSTER_PILOT_JOIN", &site->join, false },
        { "MUSTER_PILOT_FOLLOW", &site->follow, true },
        { "MUSTER_PILOT_DIRS", &site->dirs, false },
        { "SLURMD_NODENAME", &site->node, false },
        { "SLURM_JOB_ID", &site->allocation, false },
        { "SLURM_CPUS_ON_NODE", &site->cpus, true },
        { "SLURM_MEM_PER_NODE", &site->memory, true },
        { "SLURM_MEM_PER_CPU", &site->memory_per_cpu, true },
        { "SLURM_STEP_GPUS", &site->gpus, true },
        { "MUSTER_PILOT_LEFT", &site->left, true },
        { "MUSTER_PILOT_COPY", &site->copy, true },
        { "MUSTER_PILOT_AGAIN", &site->again, true },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *value = getenv(rows[i].name);
        *rows[i].to = value && *value ? value : NULL;
        if (!*rows[i].to && !rows[i].may_miss)
            return err_set(err, ERR_INPUT, "%s is not set: this is started by a batch script",
                           rows[i].name);
        if (value && strchr(value, '\n'))
            return err_set(err, ERR_INPUT, "%s has more than one line", rows[i].name);
    }
    if (!site->gpus)
        site->gpus = getenv("SLURM_JOB_GPUS");
    return 0;
}

/* Slurm counts in MiB; 0: all of the node, which can be seen. */
static uint64_t memory_of(const struct pilot_site *site)
{
    uint64_t mib = 0, cpus = 1;
    if (site->memory && scan_u64(site->memory, 1, 1ull << 40, &mib))
        return mib << 20;
    if (site->memory_per_cpu && scan_u64(site->memory_per_cpu, 1, 1ull << 30, &mib) && site->cpus)
        (void)scan_u64(site->cpus, 1, 1u << 20, &cpus);
    return (mib * cpus) << 20;
}

void pilot_configure(const struct pilot_site *site, const char *name, const char *token,
                     struct buf *out)
{
    uint64_t memory = memory_of(site), cpus;
    buf_addf(out, "tcp=%s\npin=%s\ntoken=%s\nnode=%s\noutlive_term=on\n", site->tcp, site->pin,
             token, name);
    if (site->follow)
        buf_addf(out, "follow=%s\n", site->follow);
    if (site->cpus && scan_u64(site->cpus, 1, 1u << 20, &cpus))
        buf_addf(out, "cpus=%llu\n", (unsigned long long)cpus);
    if (memory)
        buf_addf(out, "memory=%llu\n", (unsigned long long)memory);
    buf_addf(out, "gpus=%s\n", site->gpus && *site->gpus ? site->gpus : "none");
    buf_addf(out, "label=slurm/job=%s\nlabel=slurm/node=%s\n", site->allocation, site->node);
}

/* What is started below is no step of Slurm's: mpirun, for one, looks. */
static void forget_slurm(void)
{
    static const char *const fronts[] = { "SLURM",
                                          "SBATCH_",
                                          "SRUN_",
                                          "PMI",
                                          "MUSTER_PILOT_",
                                          "CUDA_VISIBLE_DEVICES=",
                                          "GPU_DEVICE_ORDINAL=",
                                          "ROCR_VISIBLE_DEVICES=" };
    for (size_t i = 0; environ[i];) {
        bool goes = false;
        for (size_t j = 0; j < ARRAY_LEN(fronts) && !goes; j++)
            goes = strncmp(environ[i], fronts[j], strlen(fronts[j])) == 0;
        AUTO_FREE char *name = mem_strndup(environ[i], strcspn(environ[i], "="));
        if (!goes || unsetenv(name) != 0)
            i++;
    }
}

/* ---- its directory ---- */

/* A folder of this user's own in that one, where programs may run. */
static char *find_folder(const char *in, size_t len)
{
    AUTO_FREE char *folder = earlier_folder(in, len);
    struct statvfs fs;
    struct stat st;
    if (len == 0 || *in != '/' || (mkdir(folder, 0700) < 0 && errno != EEXIST))
        return NULL;
    if (lstat(folder, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & 077) || access(folder, W_OK | X_OK) < 0 || statvfs(folder, &fs) < 0 ||
        (fs.f_flag & ST_NOEXEC))
        return NULL;
    return TAKE(folder);
}

static char *make_dir(const struct pilot_site *site, struct err *err)
{
    for (const char *at = site->dirs; *at; at += strcspn(at, ":"), at += *at == ':') {
        AUTO_FREE char *folder = find_folder(at, strcspn(at, ":"));
        AUTO_FREE char *dir =
            folder ? mem_printf("%s/%s.%s.XXXXXX", folder, site->allocation, site->node) : NULL;
        if (dir && mkdtemp(dir)) /* another cluster may have the same numbers and names */
            return TAKE(dir);
    }
    err_set(err, ERR_CANNOT, "no directory of %s lets programs run", site->dirs);
    return NULL;
}

char *pilot_take_program(const char *dir, const char *copy)
{
    AUTO_FREE char *path = file_join(dir, "muster-node");
    AUTO_FREE char *text = NULL;
    size_t len;
    if (link(copy, path) == 0 || (file_read(copy, PROGRAM_MAX, &text, &len, NULL) == 0 &&
                                  file_replace(path, text, len, 0700, NULL) == 0))
        return TAKE(path);
    return NULL;
}

static int write_conf(const struct pilot_site *site, const char *dir, const char *name,
                      const char *token, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(CONF_MAX);
    AUTO_FREE char *path = file_join(dir, "host.conf");
    pilot_configure(site, name, token, &text);
    int rc = file_replace(path, text.data, text.len, 0600, err);
    memset(text.data, 0, text.len);
    return rc;
}

static int join(const struct pilot_site *site, const char *dir, struct err *err)
{
    unsigned char token[JOINING_TOKEN];
    char hex[2 * JOINING_TOKEN + 1];
    struct joining_answer answer;
    if (write_conf(site, dir, site->node, site->join, err) < 0)
        return -1;
    if (getrandom(token, sizeof token, 0) != (ssize_t)sizeof token)
        return err_sys(err, "making a token");
    for (size_t i = 0; i < sizeof token; i++)
        snprintf(hex + 2 * i, 3, "%02x", token[i]);
    const struct joining what = {
        .dir = dir, .node = site->node, .allocation = site->allocation, .own = token
    };
    int rc = joining_run(&what, &answer, err);
    if (rc == 0)
        rc = write_conf(site, dir, answer.name, hex, err);
    memset(token, 0, sizeof token);
    memset(hex, 0, sizeof hex);
    return rc;
}

/* Its tasks are found there, and the server knows it by that token: nobody has to ask. */
static int take_over(const struct pilot_site *site, const char *dir, struct err *err)
{
    struct conf conf;
    int rc = conf_read_host(dir, &conf, err);
    if (rc == 0)
        rc = write_conf(site, dir, conf.node, conf.token, err);
    explicit_bzero(conf.token, sizeof conf.token);
    return rc;
}

int pilot_print_again(void)
{
    static const unsigned char no_token[JOINING_TOKEN] = { 0 };
    struct pilot_site site;
    struct joining_answer answer;
    struct err err = { .what = "" };
    AUTO_FREE char *dir = pilot_read(&site, &err) == 0 ? make_dir(&site, &err) : NULL;
    const struct joining what = {
        .dir = dir, .node = "", .allocation = site.allocation, .own = no_token, .limit_ms = ASK_MS
    };
    bool ready = dir && write_conf(&site, dir, site.node, site.join, &err) == 0;
    bool named = ready && joining_run(&what, &answer, &err) == 0;
    if (named)
        printf("%s %s\n", answer.name, answer.reason);
    else
        log_info("pilot.again", "%s", err.what);
    if (dir)
        (void)file_remove_tree(dir, NULL);
    return ready ? 0 : 2;
}

/* ---- the host ---- */

static pid_t start_host(const char *dir, const char *program)
{
    pid_t self = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == self)
        execl(program ? program : "/proc/self/exe", "muster-node", "host", dir, (char *)NULL);
    _exit(127);
}

static int64_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec;
}

/* "1-02:03:04", "9:40": each part counts what is behind it by its own measure. */
int64_t pilot_bound(const char *left)
{
    static const int64_t worth[] = { 1, 60, 3600 };
    const char *dash = left ? strchr(left, '-') : NULL;
    AUTO_FREE char *copy = mem_strdup(!left ? "" : dash ? dash + 1 : left);
    uint64_t days = 0, part;
    int64_t sum = 0;
    size_t n = 0;
    if (dash) {
        AUTO_FREE char *front = mem_strndup(left, (size_t)(dash - left));
        if (!scan_u64(front, 0, 100000, &days))
            return FOREVER_S;
    }
    for (char *colon; n < ARRAY_LEN(worth); *colon = '\0') {
        colon = strrchr(copy, ':');
        if (!scan_u64(colon ? colon + 1 : copy, 0, 1000000, &part))
            return FOREVER_S;
        sum += (int64_t)part * worth[n++];
        if (!colon)
            return sum + (int64_t)days * DAY_S + DAY_S;
    }
    return FOREVER_S;
}

/* Kills the children; what these leave comes to this process, which is its subreaper. */
void pilot_end_children(void)
{
    AUTO_FREE char *path = mem_printf("/proc/self/task/%d/children", (int)getpid());
    for (;;) {
        AUTO_FREE char *text = NULL;
        size_t len;
        uint64_t pid;
        char *rest;
        if (file_read(path, CHILDREN_MAX, &text, &len, NULL) == 0) {
            rest = text;
            for (char *word; (word = strsep(&rest, " "));)
                if (scan_u64(word, 2, INT32_MAX, &pid))
                    kill((pid_t)pid, SIGKILL);
        }
        if (waitpid(-1, NULL, 0) < 0 && errno == ECHILD)
            return;
    }
}

/* Reaps all that comes to it. true: the host ended in good order, or it is not to come again. */
static bool wait_for(pid_t host, const sigset_t *set, int64_t until_s)
{
    for (bool told = false;;) {
        int status;
        for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
            if (pid == host)
                return told || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
        const int64_t now = now_s();
        const struct timespec left = { .tv_sec = until_s > now ? until_s - now : 0 };
        told = sigtimedwait(set, NULL, &left) == SIGTERM || told; /* the host was told as well */
        if (now_s() < until_s)
            continue;
        log_warn("pilot.bound", "note=\"its time was over a day ago, and nobody ended it\"");
        pilot_end_children();
        return true;
    }
}

static void look_after(const char *dir, const char *program, int64_t bound_s)
{
    const int64_t until_s = now_s() + bound_s;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (bool over = false; !over;) {
        pid_t host = start_host(dir, program);
        over = host < 0 || wait_for(host, &set, until_s);
        if (over)
            continue;
        log_warn("host.died", "dir=%s note=\"it is started again\"", dir);
        sigset_t term;
        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        over = sigtimedwait(&term, NULL, &(struct timespec){ .tv_nsec = AGAIN_NS }) == SIGTERM;
    }
}

static enum earlier find_earlier(const struct pilot_site *site, char **dir, int *lock)
{
    const struct earlier_search search = { .dirs = site->dirs,
                                           .allocation = site->allocation,
                                           .node = site->node,
                                           .token_hash = site->again };
    return site->again ? earlier_find(&search, dir, lock) : EARLIER_NONE;
}

static int run_site(const struct pilot_site *site, struct err *err)
{
    AUTO_FREE char *dir = NULL;
    AUTO_CLOSE int lock = -1;
    const enum earlier earlier = find_earlier(site, &dir, &lock);
    if (earlier == EARLIER_LIVES) {
        log_info("pilot.lives", "node=%s note=\"the one before it does, or may\"", site->node);
        return 0;
    }
    if (earlier == EARLIER_NONE && (dir = make_dir(site, err)))
        lock = earlier_lock(dir, err);
    AUTO_FREE char *program = dir && site->copy ? pilot_take_program(dir, site->copy) : NULL;
    int rc = lock < 0                  ? -1
             : earlier == EARLIER_NONE ? join(site, dir, err)
                                       : take_over(site, dir, err);
    const int64_t bound_s = pilot_bound(site->left);
    if (rc == 0) {
        forget_slurm();
        look_after(dir, program, bound_s);
    }
    if (dir)
        (void)file_remove_tree(dir, NULL);
    return rc;
}

int pilot_run(void)
{
    struct pilot_site site;
    struct err err = { .what = "" };
    if (pilot_read(&site, &err) < 0) {
        log_error("pilot.failed", "%s", err.what);
        return 2;
    }
    AUTO_FREE char *copy = site.copy ? mem_strdup(site.copy) : NULL;
    int rc = run_site(&site, &err);
    if (rc < 0)
        log_error("pilot.failed", "node=%s %s", site.node, err.what);
    if (copy)
        (void)unlink(copy);
    return rc == 0 ? 0 : STATUS_NEVER;
}
