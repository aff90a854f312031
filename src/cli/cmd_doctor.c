/* muster doctor: what this machine can do for jobs, and what to do about what it cannot. Looks
 * only; nothing is changed. Each row is a question with a function that answers it. */
#include "cli/cmd.h"

#include "base/file.h"
#include "base/mem.h"
#include "cdi/specs.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/records.h"
#include "cli/running_server.h"
#include "cli/state_dir.h"
#include "cli/table.h"
#include "gpu/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/wait.h>

static const struct opt opts[] = { COMMON_OPTS, OPT_END };

enum verdict { GOOD, LESS, MISSING };
struct finding {
    enum verdict verdict;
    const char *found, *remedy; /* remedy "" when there is nothing to do */
};

static struct finding good(const char *found)
{
    return (struct finding){ .verdict = GOOD, .found = found, .remedy = "" };
}

static struct finding less(const char *found, const char *remedy)
{
    return (struct finding){ .verdict = LESS, .found = found, .remedy = remedy };
}

static struct finding missing(const char *found, const char *remedy)
{
    return (struct finding){ .verdict = MISSING, .found = found, .remedy = remedy };
}

/* The first program of this name that works, when there is a test for that. */
static const char *find_program(struct cli *cli, const char *program,
                                bool (*works)(struct cli *, const char *))
{
    const char *path = getenv("PATH");
    for (const char *at = path ? path : ""; *at;) {
        size_t n = strcspn(at, ":");
        const char *file = arena_printf(cli->arena, "%.*s/%s", (int)n, at, program);
        if (at[0] == '/' && access(file, X_OK) == 0 && (!works || works(cli, file)))
            return file;
        at += n + (at[n] == ':');
    }
    return NULL;
}

static char *first_line(const char *path)
{
    char *text = NULL;
    size_t len;
    if (file_read(path, 1 << 20, &text, &len, NULL) < 0)
        return NULL;
    text[strcspn(text, "\n")] = '\0';
    return text;
}

/* ---- the questions ---- */

static struct finding ask_server(struct cli *cli)
{
    struct err err;
    if (!call_server_lives(cli))
        return less("none runs", out_command(cli, REMEDY_SERVER_START, ""));
    const struct text_node *s = call_get(cli, "/v1/server", &err);
    return good(arena_printf(cli->arena, "pid %llu at %s",
                             (unsigned long long)text_number(s, "pid"),
                             answer_text(s, "address", "its socket")));
}

/* What runs and is in no record: after damage, or with a backup of before. */
static struct finding ask_records(struct cli *cli)
{
    struct err err;
    const struct text_node *s = call_server_lives(cli) ? call_get(cli, "/v1/server", &err) : NULL;
    const struct text_node *list = s ? text_get(s, "strangers") : NULL;
    if (!list || !list->first)
        return good(s ? "nothing runs that they do not know" : "not known without a server");
    return less(arena_printf(cli->arena, "job %s and is not in them%s",
                             records_stranger(cli->arena, list->first),
                             list->first->next ? ", and others" : ""),
                "it is left alone; to end it: kill that process, its keeper");
}

/* What would be lost with the disk of the records. */
static struct finding ask_backup(struct cli *cli)
{
    struct err err;
    const struct text_node *s = call_server_lives(cli) ? call_get(cli, "/v1/server", &err) : NULL;
    const struct text_node *backup = s ? text_get(s, "backup") : NULL;
    if (!backup)
        return good(s ? "none goes on by itself (setting backup_to)"
                      : "not known without a server");
    const char *words = records_shipped(cli, backup);
    if (!text_get(backup, "error"))
        return good(words);
    return less(arena_printf(cli->arena, "%s; it fails: %s", words, text_word(backup, "error")),
                text_word(backup, "hint"));
}

/* Where agents of other machines find the server. Who comes without a token is seen here first. */
static struct finding ask_agents(struct cli *cli)
{
    struct err err;
    const struct text_node *s = call_server_lives(cli) ? call_get(cli, "/v1/server", &err) : NULL;
    const struct text_node *agents = s ? text_get(s, "agents") : NULL;
    if (!agents)
        return good(s ? "none of other machines (setting agents)" : "not known without a server");
    const unsigned long long refused = text_number(agents, "refused");
    const char *words =
        arena_printf(cli->arena, "at %s, pin %s; %llu came, %llu with a resumed session",
                     answer_text(agents, "address", "?"), answer_text(agents, "pin", "?"),
                     (unsigned long long)text_number(agents, "joined"),
                     (unsigned long long)text_number(agents, "resumed"));
    return refused
               ? less(arena_printf(cli->arena, "%s, %llu without a valid token", words, refused),
                      "agents of jobs that ended are refused too; let only nodes reach the port")
               : good(words);
}

/* What a job's program can do to the server and to other users' jobs. */
static struct finding ask_accounts(struct cli *cli)
{
    struct err err;
    const struct text_node *s = call_server_lives(cli) ? call_get(cli, "/v1/server", &err) : NULL;
    const char *how = s ? text_word(s, "jobs_run_as") : "";
    const char *user = s ? text_word(s, "user") : "";
    if (strcmp(how, "owner") == 0)
        return good(arena_printf(cli->arena,
                                 "each job runs as its owner; those of %s can read the "
                                 "server's token",
                                 user));
    if (strcmp(how, "own") == 0)
        return good(
            arena_printf(cli->arena, "only %s submits; a job can read the server's token", user));
    if (strcmp(how, "shared") == 0)
        return less(arena_printf(cli->arena,
                                 "everybody's jobs run as %s, and can do all that %s may", user,
                                 user),
                    "without the setting shared_account each user's jobs are their own");
    return good("not known without a server");
}

/* Without a server as its files say. */
static const char *key_of_files(struct cli *cli)
{
    const char *own = arena_printf(cli->arena, "%s/identity.key", cli->state_dir);
    AUTO_FREE char *path =
        first_line(arena_printf(cli->arena, "%s/" STATE_DIR_KEY_PATH, cli->state_dir));
    if (access(own, F_OK) == 0)
        return own;
    return path ? arena_strdup(cli->arena, path) : "";
}

/* A backup of the state directory is to be of no use to who finds it. */
static struct finding ask_key(struct cli *cli)
{
    struct err err;
    const struct text_node *s = call_server_lives(cli) ? call_get(cli, "/v1/server", &err) : NULL;
    const char *dir = s ? answer_text(s, "state_dir", cli->state_dir) : cli->state_dir;
    const char *key = s ? server_setting(cli, "seal_key") : key_of_files(cli);
    size_t n = strlen(dir);
    if (!*key)
        return good("made with the first server");
    if (strncmp(key, dir, n) != 0 || key[n] != '/')
        return good(arena_printf(cli->arena, "%s; back it up apart from %s", key, dir));
    return less(arena_printf(cli->arena, "%s: who copies the state directory has it too", key),
                "move it while no server runs, and set seal_key to where it is then");
}

static struct finding cgroup_v2(struct cli *cli, const char *own)
{
    const char *path = arena_printf(cli->arena, "/sys/fs/cgroup%s", own);
    AUTO_FREE char *controllers =
        first_line(arena_printf(cli->arena, "%s/cgroup.controllers", path));
    if (access(path, W_OK) != 0 ||
        access(arena_printf(cli->arena, "%s/cgroup.procs", path), W_OK) != 0)
        return less(arena_printf(cli->arena, "v2, %s is not writable: limits by watching", path),
                    "run the server under: systemd-run --user --scope -p Delegate=yes");
    return good(arena_printf(cli->arena, "v2, writable, controllers: %s",
                             controllers ? controllers : "none"));
}

static struct finding ask_cgroup(struct cli *cli)
{
    AUTO_FREE char *own = first_line("/proc/self/cgroup");
    if (access("/sys/fs/cgroup/cgroup.controllers", R_OK) == 0)
        return cgroup_v2(cli, own && strncmp(own, "0::", 3) == 0 ? own + 3 : "");
    if (access("/sys/fs/cgroup/memory", W_OK) == 0)
        return good("v1, writable");
    return less("none is writable: memory limits by watching, no cpu limits",
                "boot with cgroup v2, or run as root");
}

/* In a child: a namespace is for ever. */
static bool can_unshare(int flags)
{
    int status = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(unshare(flags) == 0 ? 0 : 1);
    if (pid > 0)
        waitpid(pid, &status, 0);
    return status == 0;
}

static struct finding ask_namespaces(struct cli *cli)
{
    (void)cli;
    if (geteuid() == 0 && can_unshare(CLONE_NEWNS))
        return good("mount namespaces, as root");
    if (can_unshare(CLONE_NEWUSER | CLONE_NEWNS))
        return good("user and mount namespaces");
    return missing(
        "tasks get no /etc/hosts, mounts and /dev/shm of their own",
        "sysctl kernel.unprivileged_userns_clone=1 (or kernel.apparmor_restrict_unprivileged_userns=0)");
}

static const char *existing_parent(struct arena *a, const char *path)
{
    char *at = arena_strdup(a, path);
    while (*at && access(at, F_OK) != 0) {
        char *slash = strrchr(at, '/');
        if (!slash || slash == at)
            return "/";
        *slash = '\0';
    }
    return at;
}

/* Tasks in images have their layers in there; of another user's server one cannot try. */
static const char *place_of_layers(struct cli *cli)
{
    struct err err;
    const struct text_node *s = call_server_lives(cli) ? call_get(cli, "/v1/server", &err) : NULL;
    const char *dir = s ? answer_text(s, "state_dir", cli->state_dir) : cli->state_dir;
    dir = existing_parent(cli->arena, dir);
    return access(dir, W_OK | X_OK) == 0 ? dir : "/tmp";
}

static struct finding images_run(struct cli *cli, const struct runtime_check *check,
                                 const char *others)
{
    const char *users =
        check->one_user ? ", with one user: in them changing users and owners does nothing" : "";
    const char *text =
        arena_printf(cli->arena, "images can be run by %s%s%s%s%s", runtime_word(check->runtime),
                     users, *check->why ? "; " : "", check->why, others);
    if (check->one_user)
        return less(text, "usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER, "
                          "with a range that nobody has; and the package uidmap");
    return *check->why
               ? less(text, "in a container of Docker: --security-opt systempaths=unconfined")
               : good(text);
}

/* As a task would meet it: by muster-node. Each that runs no images says why. */
static struct finding ask_runtimes(struct cli *cli)
{
    struct err err = { .what = "" };
    struct runtime_checks checks;
    AUTO_BUF struct buf why = BUF_INIT(4096);
    const char *node = cli->host->node_program(cli->arena, &err);
    cli->host->runtimes(cli->arena, node, place_of_layers(cli), &checks);
    enum job_runtime found = runtime_choose(&checks, RUNTIME_AUTO);
    runtime_reasons(&checks, RUNTIME_AUTO, &why);
    const char *others = why.len ? arena_printf(cli->arena, "; not by %s", buf_str(&why)) : "";
    if (found == RUNTIME_SERVER)
        return less(arena_printf(cli->arena,
                                 "jobs that name an image are refused, unless they say runtime: "
                                 "host: %s",
                                 buf_str(&why)),
                    "");
    for (size_t i = 0; i < checks.n; i++)
        if (checks.at[i].runtime == found)
            return images_run(cli, &checks.at[i], others);
    return good(arena_printf(cli->arena, "images can be run by %s%s", runtime_word(found), others));
}

/* "4 NVIDIA devices: NVIDIA H100 80GB HBM3, driver 580.159.04". What is divided is not one. */
static const char *devices_found(struct cli *cli, const struct gpu_report *r)
{
    const char *models = gpu_models(r, cli->arena);
    size_t n = r->n;
    for (size_t i = 0; i < r->n; i++)
        n -= r->at[i].divided;
    return arena_printf(cli->arena, "%zu NVIDIA device%s: %s, driver %s", n, n == 1 ? "" : "s",
                        *models ? models : "none that can be used",
                        *r->driver ? r->driver : "unknown");
}

/* "; device 1: GPU is lost", of each that fails. */
static const char *devices_failing(struct cli *cli, const struct gpu_report *r)
{
    AUTO_BUF struct buf out = BUF_INIT(16 << 10);
    for (size_t i = 0; i < r->n; i++)
        if (*r->at[i].error)
            buf_addf(&out, "; device %u: %s", r->at[i].number, r->at[i].error);
    return arena_strdup(cli->arena, buf_str(&out));
}

static struct finding ask_gpus(struct cli *cli, struct gpu_report *r)
{
    uint32_t usable = gpu_count_visible(r, NULL);
    uint32_t offered = gpu_count_visible(r, getenv("CUDA_VISIBLE_DEVICES"));
    gpu_offer(cli->arena, r, getenv("CUDA_VISIBLE_DEVICES"));
    if (*r->error)
        return missing(r->error,
                       "nvidia-smi says more; the driver and its library have to be of one "
                       "version");
    const char *declare = out_command(cli, REMEDY_TRY_NODES, ""); /* "": elsewhere it cannot be */
    if (r->n == 0)
        return less("none", *declare
                                ? arena_printf(cli->arena, "to try declared devices: %s", declare)
                                : "");
    const char *failing = devices_failing(cli, r);
    if (*failing)
        return missing(arena_printf(cli->arena, "%s%s", devices_found(cli, r), failing),
                       "the others are given out; nvidia-smi and the kernel's log say more");
    if (offered < usable)
        return less(arena_printf(cli->arena, "%s; CUDA_VISIBLE_DEVICES offers %u",
                                 devices_found(cli, r), offered),
                    "");
    return good(devices_found(cli, r));
}

/* What a task would get that has this device alone. */
static int try_spec(struct cli *cli, const struct cdi_specs *specs, const struct gpu_device *device,
                    struct err *err)
{
    struct cdi_edits edits;
    struct gpu_part part = gpu_part_of(device);
    const struct cdi_grant grant = { .minors = &device->minor, .parts = &part, .n = 1 };
    return cdi_find(cli->arena, specs, &grant, &edits, err) == 0
               ? cdi_edits_check(&edits, "/dev", err)
               : -1;
}

static const char *spec_files(struct cli *cli, const struct cdi_specs *specs)
{
    struct words files = { .at = ARENA_ARRAY(cli->arena, specs->n, const char *) };
    for (size_t i = 0; i < specs->n; i++)
        files.at[files.n++] = specs->at[i].spec.file;
    return words_joined(cli->arena, &files, ", ");
}

/* Of each device as tasks in images would meet it. */
static struct finding ask_cdi(struct cli *cli, struct gpu_report *r)
{
    static const char remedy[] = "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml";
    struct cdi_specs specs;
    struct err err;
    char label[GPU_LABEL_MAX];
    cdi_specs_read(cli->arena, cdi_usual_place(), &specs);
    const char *files = spec_files(cli, &specs);
    if (specs.n + specs.problems.n == 0)
        return good("no specification of " CDI_KIND ": muster finds what images need of devices");
    for (size_t i = 0; i < r->n; i++)
        if (!*r->at[i].error && !r->at[i].divided && try_spec(cli, &specs, &r->at[i], &err) != 0)
            return less(arena_printf(cli->arena, "device %s is shown in images without CDI: %s",
                                     gpu_label(&r->at[i], label), err.what),
                        remedy);
    if (specs.problems.n > 0)
        return less(specs.problems.at[0], remedy);
    return good(arena_printf(cli->arena, "images get devices as %s says", files));
}

/* A directory of the hierarchy whose line in /proc/self/cgroup has that part; "": none. */
static const char *group_dir(struct cli *cli, const char *part, const char *mount)
{
    char line[1024];
    const char *dir = "";
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(line, sizeof line, file)) {
        const char *at = strstr(line, part);
        line[strcspn(line, "\n")] = '\0';
        if (at)
            dir = arena_printf(cli->arena, "%s%s", mount, at + strlen(part));
    }
    if (file)
        (void)fclose(file);
    return dir;
}

/* As node/cgroup.c looks for it. */
static bool can_group_devices(struct cli *cli)
{
    const char *dirs[] = { group_dir(cli, ":devices:", "/sys/fs/cgroup/devices"),
                           group_dir(cli, "0::", "/sys/fs/cgroup"),
                           group_dir(cli, "0::", "/sys/fs/cgroup/unified") };
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        if (*dirs[i] && access(arena_printf(cli->arena, "%s/cgroup.procs", dirs[i]), W_OK) == 0)
            return true;
    return false;
}

/* What keeps tasks from devices that they were not given. */
static struct finding ask_devices(struct cli *cli)
{
    static const char nothing[] = "nothing enforces which devices a task uses: "
                                  "CUDA_VISIBLE_DEVICES tells it, and it may change that";
    bool view = can_unshare(CLONE_NEWNS), group = can_group_devices(cli);
    if (call_server_lives(cli) && strcmp(server_setting(cli, "sandbox"), "off") == 0)
        return less(nothing, "the server's setting sandbox is off");
    if (geteuid() != 0)
        return less(nothing, "a server of root's gives each task a /dev of its own");
    if (view && group)
        return good("each task has a /dev and a control group of its own, with its devices");
    if (view)
        return less("each task has a /dev of its own; no control group refuses a device that it "
                    "finds elsewhere",
                    "boot with cgroup v2, or make /sys/fs/cgroup writable");
    if (group)
        return less("a control group refuses other devices; the machine's /dev is seen",
                    "allow mount namespaces");
    return less(nothing, "allow mount namespaces and control groups to root");
}

static struct finding ask_disk(struct cli *cli)
{
    struct statvfs fs;
    char size[48];
    const char *dir = existing_parent(cli->arena, cli->state_dir);
    if (statvfs(dir, &fs) != 0)
        return missing(arena_printf(cli->arena, "%s: %s", dir, strerror(errno)),
                       "--state-dir names another place");
    uint64_t left = (uint64_t)fs.f_bavail * fs.f_frsize;
    const char *found = arena_printf(cli->arena, "%s free at %s", out_size(size, left), dir);
    if (access(dir, W_OK) != 0)
        return missing(arena_printf(cli->arena, "%s is not writable", dir),
                       "--state-dir names another place");
    return left < (1ull << 30) ? less(found, "make room: logs and outputs live there")
                               : good(found);
}

/* The stores of the machine that the server is on. */
static struct finding ask_images(struct cli *cli)
{
    struct err err;
    const struct text_node *answer =
        call_server_lives(cli) ? call_get(cli, "/v1/nodes", &err) : NULL;
    const struct text_node *nodes = answer ? text_get(answer, "nodes") : NULL, *stores = NULL;
    for (const struct text_node *n = nodes ? nodes->first : NULL; n && !stores; n = n->next)
        stores = strcmp(answer_text(n, "engine", ""), "local") == 0 ? text_get(n, "images") : NULL;
    if (!answer)
        return good("not known without a server");
    return good(stores ? out_images(cli->arena, stores, true) : "none are kept yet");
}

static struct finding ask_clock(struct cli *cli)
{
    struct timex now = { .modes = 0 };
    (void)cli;
    int state = adjtimex(&now);
    if (state >= 0 && state != TIME_ERROR && !(now.status & STA_UNSYNC))
        return good("synchronised");
    return less("not synchronised by this kernel",
                "run chrony or systemd-timesyncd (containers: that of the host)");
}

static struct finding ask_files(struct cli *cli)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return missing(strerror(errno), "");
    const char *found =
        arena_printf(cli->arena, "%llu open files", (unsigned long long)files.rlim_max);
    return files.rlim_max < 4096 ? less(found, "ulimit -Hn 65536 for many connections")
                                 : good(found);
}

static size_t read_all(int fd, char *text, size_t size)
{
    size_t len = 0;
    for (ssize_t n = 1; n > 0 && len<size - 1; len += n> 0 ? (size_t)n : 0)
        n = read(fd, text + len, size - 1 - len);
    return len;
}

/* The output of a program, its first line; NULL when it fails. */
static const char *output_of(struct cli *cli, const char *program, const char *flag,
                             const char *text)
{
    int ends[2], status = -1;
    char line[256] = "";
    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(ends[1], STDOUT_FILENO);
        if (null >= 0)
            dup2(null, STDERR_FILENO);
        execl(program, program, flag, text, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    size_t n = pid > 0 ? read_all(ends[0], line, sizeof line) : 0;
    close(ends[0]);
    if (pid > 0)
        waitpid(pid, &status, 0);
    if (n == 0 || status != 0)
        return NULL;
    line[strcspn(line, "\n")] = '\0';
    return arena_strdup(cli->arena, line);
}

static const char *python_version(struct cli *cli, const char *python)
{
    return output_of(cli, python, "-c",
                     "import sys; print(sys.version.split()[0], 'at', sys.executable)");
}

static bool is_python(struct cli *cli, const char *file)
{
    return python_version(cli, file) != NULL;
}

static struct finding ask_python(struct cli *cli)
{
    const char *python = find_program(cli, "python3", is_python);
    if (!python)
        return missing("no working python3 in PATH", "apt-get install python3 python3-venv");
    return good(python_version(cli, python));
}

/* Builds of PyTorch, by the least CUDA that a driver has to run: those of one major version run on
 * drivers of its first minor one too, which the oldest that is still built makes use of. */
static const struct {
    uint32_t cuda;
    const char *name;
} wheels[] = { { 13000, "cu130" }, { 12080, "cu128" }, { 12000, "cu126" }, { 11080, "cu118" } };

/* Which build fits is the driver's to say. */
static const char *install_torch(struct cli *cli, const struct gpu_report *gpus)
{
    const char *name = gpus->n > 0 && gpus->cuda == 0 ? wheels[ARRAY_LEN(wheels) - 1].name : "cpu";
    if (*gpus->error)
        return "first the driver: it says which build fits";
    for (size_t i = ARRAY_LEN(wheels); i > 0 && gpus->n > 0; i--)
        if (wheels[i - 1].cuda <= gpus->cuda)
            name = wheels[i - 1].name;
    return arena_printf(cli->arena,
                        "uv pip install torch --torch-backend=%s; with pip: what the selector on "
                        "PyTorch's page \"Get Started\" prints for %s",
                        name, name);
}

/* Without importing it, which takes seconds: "2.11.0 13.0", or "2.11.0 -" for one without CUDA. */
static const char read_torch[] =
    "import importlib.metadata as m, importlib.util as u, os, runpy;"
    "v = runpy.run_path(os.path.join(os.path.dirname(u.find_spec('torch').origin), 'version.py'));"
    "print(m.version('torch'), v.get('cuda') or v.get('hip') or '-')";

/* With CUDA, on a machine with devices. */
static struct finding ask_torch_of_devices(struct cli *cli, const struct gpu_report *gpus,
                                           const char *python, const char *torch)
{
    const char *count =
        output_of(cli, python, "-c", "import torch; print(torch.cuda.device_count())");
    const char *found = arena_printf(cli->arena, "%s: sees %s of %zu devices", torch,
                                     count ? count : "none", gpus->n);
    return count && strcmp(count, "0") != 0 ? good(found)
                                            : missing(found, install_torch(cli, gpus));
}

static struct finding ask_torch(struct cli *cli, struct gpu_report *gpus)
{
    const char *python = find_program(cli, "python3", is_python);
    const char *said = python ? output_of(cli, python, "-c", read_torch) : NULL;
    if (!said)
        return less("not installed for this python3", install_torch(cli, gpus));
    size_t n = strcspn(said, " ");
    const char *version = arena_strndup(cli->arena, said, n), *cuda = said[n] ? said + n + 1 : "-";
    bool has_cuda = strcmp(cuda, "-") != 0;
    const char *torch = arena_printf(cli->arena, "PyTorch %s, %s%s", version,
                                     has_cuda ? "CUDA " : "without CUDA", has_cuda ? cuda : "");
    if (has_cuda && gpus->n > 0)
        return ask_torch_of_devices(cli, gpus, python, torch);
    if (gpus->n > 0)
        return missing(arena_printf(cli->arena, "%s: it cannot use the GPUs", torch),
                       install_torch(cli, gpus));
    if (*gpus->error)
        return less(arena_printf(cli->arena, "%s: whether it can use the GPUs is not known", torch),
                    install_torch(cli, gpus));
    return good(torch);
}

/* with_gpus: those that are about what the driver says, which is asked once. */
static const struct {
    const char *name;
    struct finding (*ask)(struct cli *);
    struct finding (*with_gpus)(struct cli *, struct gpu_report *);
} questions[] = {
    { .name = "server", .ask = ask_server },       { .name = "records", .ask = ask_records },
    { .name = "backup", .ask = ask_backup },       { .name = "agents", .ask = ask_agents },
    { .name = "accounts", .ask = ask_accounts },   { .name = "key", .ask = ask_key },
    { .name = "cgroups", .ask = ask_cgroup },      { .name = "namespaces", .ask = ask_namespaces },
    { .name = "containers", .ask = ask_runtimes }, { .name = "gpus", .with_gpus = ask_gpus },
    { .name = "cdi", .with_gpus = ask_cdi },       { .name = "devices", .ask = ask_devices },
    { .name = "disk", .ask = ask_disk },           { .name = "images", .ask = ask_images },
    { .name = "clock", .ask = ask_clock },         { .name = "files", .ask = ask_files },
    { .name = "python", .ask = ask_python },       { .name = "torch", .with_gpus = ask_torch },
};

static const char *const words[] = { [GOOD] = "ok", [LESS] = "note", [MISSING] = "missing" };

static int run_doctor(struct cli *cli, const void *o, int argc, char **argv, struct err *err)
{
    static const char *const colors[] = { [GOOD] = "32", [LESS] = "33", [MISSING] = "31" };
    static const struct table_column columns[] = { { .title = "" },
                                                   { .title = "" },
                                                   { .title = "" } };
    struct text_node *root = text_map(cli->arena, NULL, NULL),
                     *list = text_list(cli->arena, root, "checks");
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    struct table table;
    struct gpu_report gpus;
    (void)o;
    (void)argv;
    if (cmd_operands(&cmd_doctor, argc, 0, 0, err) < 0)
        return -1;
    table_init(&table, cli->arena, columns, ARRAY_LEN(columns), true);
    gpu_ask(cli->arena, NULL, &gpus);
    for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
        struct finding f =
            questions[i].ask ? questions[i].ask(cli) : questions[i].with_gpus(cli, &gpus);
        struct text_node *one = text_map(cli->arena, list, NULL);
        text_str(cli->arena, one, "name", questions[i].name);
        text_str(cli->arena, one, "state", words[f.verdict]);
        text_str(cli->arena, one, "found", f.found);
        text_str(cli->arena, one, "remedy", f.remedy);
        const char **row = table_row(&table);
        row[0] = questions[i].name;
        row[1] = words[f.verdict];
        row[2] = *f.remedy ? arena_printf(cli->arena, "%s; %s", f.found, f.remedy) : f.found;
        table_color(&table, 1, colors[f.verdict]);
    }
    if (cli->json) {
        out_json(root);
        return EXIT_OK;
    }
    table_print(&table, 0, cli->color, &out);
    out_buf(&out);
    return EXIT_OK;
}

static const char *const examples[] = { "muster doctor",
                                        "each line: what was found; what to do about it", NULL };
const struct cmd cmd_doctor = {
    .name = "doctor",
    .summary = "what this machine can do, with remedies",
    .operands = "",
    .opts = opts,
    .size = sizeof(struct common_opts),
    .examples = examples,
    .run = run_doctor,
};
