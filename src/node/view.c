/* The private mount namespace. A short-lived child makes it (as root by unshare alone, else
 * together with a user namespace in which this user keeps his own id), mounts what the launch
 * names, and waits until the agent has opened it by /proc/PID/ns; from then on the agent's
 * descriptors keep it. Everything below / is a slave of the machine's tree, so later mounts of the
 * machine still show. All mounts vanish with the last process and descriptor: nothing has to be
 * unmounted.
 *
 * A task that asked for shared memory has a namespace of its own, made in the same way over that of
 * its agent, with a tmpfs at /dev/shm. */
#include "node/view.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "node/copy.h"
#include "node/hosts_file.h"
#include "node/mount_points.h"
#include "node/runtime/pids.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOSTS_MAX (4u << 20)
#define SHM       "/dev/shm"

#define NO_NAMESPACE "this machine allows no mount namespace"

struct view_point { /* a mount point */
    const char *at;
    bool dir;
};
struct building {
    const struct launch *launch; /* whose mounts and hosts; NULL: none */
    const struct view *base;     /* to be entered first; NULL: the machine's */
    struct task_mounts own;
    const char *tmp; /* shown at /tmp and /var/tmp; NULL: they are the machine's */
    bool job_shm;    /* a /dev/shm for all tasks, of the kernel's usual size */
};
enum view_result { BUILT, BUILT_NO_NAMESPACE, BUILT_NO_HOSTS, BUILT_NO_MOUNT };
struct built_report { /* from the child that builds, through a pipe */
    enum view_result what;
    bool user_ns;
    char text[160];
};

void view_fini(struct view *view)
{
    if (view->pid_ns >= 0)
        close(view->pid_ns);
    if (view->user_ns >= 0)
        close(view->user_ns);
    if (view->mount_ns >= 0)
        close(view->mount_ns);
    if (view->root >= 0)
        close(view->root);
    for (size_t i = 0; i < view->holds.n; i++)
        close(view->holds.at[i]);
    vec_fini(&view->holds);
    *view = VIEW_INIT;
}

/* Does path lie in dir or is it dir? Both absolute. */
static bool lies_in(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/' || n == 1);
}

const struct account *view_account_of(const struct launch *launch, const struct bind_mount *mount)
{
    bool own = lies_in(mount->from, launch->dir) && !file_climbs(mount->from);
    return own ? NULL : launch->account;
}

/* ---- inside the child that builds ---- */

static bool write_text(const char *path, const char *text)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static int enter_new(bool *user_ns)
{
    uid_t user = geteuid();
    gid_t group = getegid();
    *user_ns = false;
    if (unshare(CLONE_NEWNS) == 0)
        return 0;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return -1;
    char map[64];
    *user_ns = true;
    snprintf(map, sizeof map, "%u %u 1", user, user);
    if (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/uid_map", map))
        return -1;
    snprintf(map, sizeof map, "%u %u 1", group, group);
    return write_text("/proc/self/gid_map", map) ? 0 : -1;
}

static int bind_at(const char *from, const char *at, bool read_only)
{
    if (mount(from, at, NULL, MS_BIND | MS_REC, NULL) != 0)
        return -1;
    return read_only ? root_make_read_only(at) : 0;
}

/* What the account itself cannot reach is not shown to it. */
static int open_source(const char *from, const struct account *account)
{
    AS_FS_USER(account_files(account));
    return open(from, O_PATH | O_CLOEXEC);
}

static int bind_source(const struct bind_mount *mount, const struct account *account)
{
    char path[48];
    AUTO_CLOSE int from = open_source(mount->from, account);
    if (from < 0)
        return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", from);
    return bind_at(path, mount->at, mount->read_only);
}

static void failed(struct built_report *out, enum view_result what, const char *doing)
{
    int number = errno;
    out->what = what;
    snprintf(out->text, sizeof out->text, "%s: %s", doing, strerror(number));
}

static void build_launch(const struct launch *launch, struct built_report *out)
{
    char hosts[4096];
    snprintf(hosts, sizeof hosts, "%s/hosts", launch->dir);
    if (launch->n_hosts > 0 && bind_at(hosts, "/etc/hosts", false) != 0)
        failed(out, BUILT_NO_HOSTS, "/etc/hosts cannot be replaced");
    for (size_t i = 0; i < launch->n_mounts; i++) {
        const struct bind_mount *mount = &launch->mounts[i];
        if (bind_source(mount, view_account_of(launch, mount)) == 0)
            continue;
        out->what = BUILT_NO_MOUNT;
        snprintf(out->text, sizeof out->text, "cannot mount %.50s at %.50s: %s", mount->from,
                 mount->at, strerror(errno));
        return;
    }
}

static void build_shm(uint64_t bytes, struct built_report *out)
{
    char options[64];
    snprintf(options, sizeof options, "mode=1777,size=%" PRIu64, bytes);
    if (mount("tmpfs", SHM, "tmpfs", MS_NOSUID | MS_NODEV, options) != 0)
        failed(out, BUILT_NO_MOUNT, "nothing can be mounted there");
}

/* What programs leave there goes with the job, and other users cannot guess their names. */
static void build_own(const struct building *building, struct built_report *out)
{
    static const char *const at[] = { "/tmp", "/var/tmp" };
    for (size_t i = 0; building->tmp && i < ARRAY_LEN(at); i++)
        if (file_is_dir(at[i]) && bind_at(building->tmp, at[i], false) != 0)
            failed(out, BUILT_NO_MOUNT, at[i]);
    if (building->job_shm && file_is_dir(SHM) &&
        mount("tmpfs", SHM, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0)
        failed(out, BUILT_NO_MOUNT, SHM);
}

static void build_memory(const struct memory_dirs *dirs, struct built_report *out)
{
    for (size_t i = 0; dirs && i < dirs->n && out->what == BUILT; i++)
        if (memory_mount(dirs->at[i], dirs) != 0)
            failed(out, BUILT_NO_MOUNT, dirs->at[i]);
}

static void build_inside(const struct building *building, struct built_report *out)
{
    if ((building->base && view_enter(building->base) != 0) || enter_new(&out->user_ns) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0) {
        failed(out, BUILT_NO_NAMESPACE, NO_NAMESPACE);
        return;
    }
    if (building->launch)
        build_launch(building->launch, out);
    build_own(building, out); /* what is mounted may come from there */
    if (building->own.shm)
        build_shm(building->own.shm, out);
    build_memory(building->own.memory, out);
}

static _Noreturn void build_child(const struct building *building, int report, int release)
{
    struct built_report out = { .what = BUILT };
    build_inside(building, &out);
    out.user_ns |= building->base && building->base->user_ns >= 0;
    char done;
    if (write(report, &out, sizeof out) == (ssize_t)sizeof out)
        (void)!read(release, &done, 1); /* until the agent has the namespaces, or is gone */
    _exit(0);
}

/* ---- in the agent ---- */

static int open_of(pid_t pid, const char *what, int flags)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
    return open(path, flags | O_CLOEXEC);
}

static void close_pair(const int pair[2])
{
    close(pair[0]);
    close(pair[1]);
}

static int run_builder(struct view *view, const struct building *building, struct built_report *out,
                       struct err *err)
{
    int report[2], release[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return err_sys(err, "pipe");
    if (pipe2(release, O_CLOEXEC) != 0) {
        close_pair(report);
        return err_sys(err, "pipe");
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(release[1]);
        close(report[0]);
        build_child(building, report[1], release[0]);
    }
    close(report[1]);
    report[1] = -1;
    ssize_t n = pid < 0 ? -1 : read(report[0], out, sizeof *out);
    if (n == (ssize_t)sizeof *out && out->what != BUILT_NO_NAMESPACE) {
        view->mount_ns = open_of(pid, "ns/mnt", O_RDONLY);
        view->root = open_of(pid, "root", O_PATH | O_DIRECTORY);
        view->user_ns = out->user_ns ? open_of(pid, "ns/user", O_RDONLY) : -1;
    }
    close(report[0]);
    close_pair(release);
    if (pid > 0)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    if (n != (ssize_t)sizeof *out)
        return err_set(err, ERR_SYSTEM, "the view of the tasks could not be built");
    return 0;
}

/* In place: the file that is mounted stays the same file. */
static int write_hosts(const struct launch *launch, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(HOSTS_MAX);
    AUTO_FREE char *own = NULL;
    size_t len = 0;
    if (file_read("/etc/hosts", HOSTS_MAX / 2, &own, &len, NULL) != 0)
        len = 0;
    hosts_file_write(&text, own, len, launch);
    AUTO_FREE char *path = mem_printf("%s/hosts", launch->dir);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0 || file_write_all(fd, buf_str(&text), text.len) != 0 ||
        ftruncate(fd, (off_t)text.len) != 0)
        return err_sys(err, "%s", path);
    return 0;
}

static bool holds(const struct view *view, int hold)
{
    struct stat is, other;
    for (size_t i = 0; i < view->holds.n && fstat(hold, &is) == 0; i++)
        if (fstat(view->holds.at[i], &other) == 0 && is.st_dev == other.st_dev &&
            is.st_ino == other.st_ino)
            return true;
    return false;
}

/* Directories for mounts that do not exist yet right below one of these are made for everybody:
 * they are empty, and go away again. */
static bool is_for_mounts(const char *at, bool dir)
{
    static const char *const places[] = { "/", "/mnt/", "/media/", "/srv/" };
    AUTO_FREE char *above = mem_strdup(at);
    for (char *slash = strrchr(above, '/'); slash; slash = strrchr(above, '/')) {
        slash[1] = '\0';
        if (file_is_dir(above))
            break;
        slash[0] = '\0';
    }
    for (size_t i = 0; dir && i < ARRAY_LEN(places); i++)
        if (strcmp(above, places[i]) == 0)
            return true;
    return false;
}

/* account NULL: with the agent's own rights. */
static int hold_point(struct view *view, const struct launch *launch, const struct account *account,
                      const struct view_point *point, struct err *err)
{
    AUTO_CLOSE int hold = -1;
    if (account && is_for_mounts(point->at, point->dir))
        account = NULL;
    AS_FS_USER(account_files(account));
    if (mount_points_hold(account ? launch->user_dir : launch->dir, point->at, point->dir, &hold,
                          err) != 0)
        return -1;
    if (hold >= 0 && !holds(view, hold))
        vec_push(&view->holds, mem_give_fd(&hold));
    return 0;
}

/* ---- places of its own ---- */

static bool really_lies_in(const char *path, const char *dir)
{
    AUTO_FREE char *real = path ? realpath(path, NULL) : NULL;
    return real && lies_in(real, dir);
}

/* What of the job a new mount at dir would cover; NULL: nothing. */
static const char *held_in(const struct launch *launch, const char *dir)
{
    const char *const paths[] = { launch->user_dir, launch->work_dir, launch->code_dir,
                                  launch->output_dir, launch->python };
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        if (really_lies_in(paths[i], dir))
            return paths[i];
    for (size_t i = 0; i < launch->n_mounts; i++)
        if (lies_in(launch->mounts[i].at, dir))
            return launch->mounts[i].at;
    return NULL;
}

/* A job that works in /tmp itself keeps the machine's. *tmp is freed by the caller. */
static int own_places(const struct launch *launch, struct building *building, char **tmp,
                      struct err *err)
{
    building->job_shm = !held_in(launch, SHM);
    if (held_in(launch, "/tmp") || held_in(launch, "/var/tmp"))
        return 0;
    *tmp = mem_printf("%s/tmp", launch->user_dir);
    AS_FS_USER(account_files(launch->account));
    if (file_mkdirs(*tmp, 0700, err) != 0)
        return -1;
    if (chmod(*tmp, 01777) != 0)
        return err_sys(err, "%s", *tmp);
    building->tmp = *tmp;
    return 0;
}

static int look_at_source(const struct launch *launch, const char *from,
                          const struct account *account, struct stat *st, struct err *err)
{
    AS_FS_USER(account_files(account));
    if (stat(from, st) != 0)
        return err_set(err, ERR_INPUT, "cannot show %s of %s: %s", from, launch->node,
                       strerror(errno));
    return 0;
}

static int prepare_mount_points(struct view *view, const struct launch *launch, struct err *err)
{
    for (size_t i = 0; i < launch->n_mounts; i++) {
        const struct bind_mount *mount = &launch->mounts[i];
        const struct account *account = view_account_of(launch, mount);
        struct stat from;
        if (mount->at[0] != '/')
            return err_set(err, ERR_INPUT, "the mount point %s is not absolute", mount->at);
        if (file_climbs(mount->at))
            return err_set(err, ERR_INPUT, "the mount point %s has \"..\" in it", mount->at);
        if (look_at_source(launch, mount->from, account, &from, err) != 0)
            return -1;
        struct view_point point = { .at = mount->at, .dir = S_ISDIR(from.st_mode) };
        if (hold_point(view, launch, account, &point, err) != 0) {
            if (err && err->code == ERR_SYSTEM)
                err->code = ERR_INPUT; /* the same on every node and at every try */
            return -1;
        }
    }
    return 0;
}

int view_write_hosts(const struct launch *launch, struct err *err)
{
    return launch->n_hosts > 0 ? write_hosts(launch, err) : 0;
}

int view_prepare(struct view *view, const struct launch *launch, struct err *err)
{
    if (view_write_hosts(launch, err) != 0)
        return -1;
    if (view->mount_ns >= 0)
        return 0;
    if (launch->n_hosts == 0 && launch->n_mounts == 0 && !launch->code_dir && !launch->account)
        return 0;
    if (prepare_mount_points(view, launch, err) != 0)
        return -1;
    struct building building = { .launch = launch };
    struct built_report report = { .what = BUILT_NO_NAMESPACE };
    AUTO_FREE char *tmp = NULL;
    if (launch->account && own_places(launch, &building, &tmp, err) != 0)
        return -1;
    if (run_builder(view, &building, &report, err) != 0)
        return -1;
    view->hosts = report.what == BUILT;
    snprintf(view->why_not, sizeof view->why_not, "%s", report.text);
    if (report.what == BUILT_NO_MOUNT || (view->mount_ns < 0 && launch->n_mounts > 0)) {
        view_fini(view);
        return err_set(err, ERR_CANNOT, "%s", report.text);
    }
    return 0;
}

int view_enter(const struct view *view)
{
    if (view->user_ns >= 0 && geteuid() != 0 && setns(view->user_ns, CLONE_NEWUSER) != 0)
        return -1;
    if (view->mount_ns < 0)
        return 0;
    /* Entering puts a process at the namespace's own root, out of any chroot the agent lives in. */
    if (setns(view->mount_ns, CLONE_NEWNS) != 0 || fchdir(view->root) != 0)
        return -1;
    return chroot(".");
}

/* ---- paths ---- */

static int hold_memory(struct view *out, const struct launch *launch,
                       const struct memory_dirs *dirs, struct err *err)
{
    for (size_t i = 0; dirs && i < dirs->n; i++) {
        const struct view_point point = { .at = dirs->at[i], .dir = true };
        const char *held = held_in(launch, dirs->at[i]);
        if (held)
            return err_set(err, ERR_INPUT, "%s would lie under it", held);
        if (hold_point(out, launch, launch->account, &point, err) != 0)
            return -1;
    }
    return 0;
}

int view_own(const struct view *base, const struct launch *launch, const struct task_mounts *own,
             struct view *out, struct err *err)
{
    struct building building = { .base = base, .own = *own };
    struct built_report report = { .what = BUILT_NO_NAMESPACE };
    const char *held = own->shm ? held_in(launch, SHM) : NULL;
    if (held)
        return err_set(err, ERR_CANNOT, "%s lies in it", held);
    if (hold_memory(out, launch, own->memory, err) != 0 ||
        run_builder(out, &building, &report, err) != 0) {
        view_fini(out);
        return -1;
    }
    if (report.what == BUILT && out->mount_ns >= 0)
        return 0;
    view_fini(out);
    return err_set(err, ERR_CANNOT, "%s", report.text);
}

/* Whoever is not root is root in there from the beginning. */
static int enter_for_root(const struct ids *ids, int flags)
{
    struct ids_writer writer;
    if (geteuid() == 0)
        return unshare(flags);
    ids_writer_start(&writer, ids, geteuid(), getegid());
    return ids_enter(&writer, flags);
}

int view_leave(const struct ids *ids, bool own_pids, char why[ROOT_WHY])
{
    if (enter_for_root(ids, CLONE_NEWNS | (own_pids ? CLONE_NEWPID : 0)) == 0 &&
        mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0)
        return 0;
    snprintf(why, ROOT_WHY, NO_NAMESPACE ": %s", strerror(errno));
    return -1;
}

int view_enter_root(const struct root *root, bool user_ns, char why[ROOT_WHY])
{
    return root_enter(root, user_ns, why);
}

int view_enter_container(pid_t holder, char why[ROOT_WHY])
{
    bool user_ns = geteuid() != 0;
    struct view view = { .pid_ns = -1,
                         .mount_ns = open_of(holder, "ns/mnt", O_RDONLY),
                         .root = open_of(holder, "root", O_PATH | O_DIRECTORY),
                         .user_ns = user_ns ? open_of(holder, "ns/user", O_RDONLY) : -1 };
    bool open = view.mount_ns >= 0 && view.root >= 0 && (!user_ns || view.user_ns >= 0);
    bool entered = open && view_enter(&view) == 0;
    int number = errno;
    view_fini(&view);
    if (entered)
        return 0;
    snprintf(why, ROOT_WHY, "the container cannot be entered: %s", strerror(number));
    return -1;
}

int view_join(pid_t holder, const struct ids *ids, bool own_pids, char why[ROOT_WHY])
{
    if (geteuid() != 0 && ids_give(holder, ids) != 0) {
        snprintf(why, ROOT_WHY, "no users in the container: %s", strerror(errno));
        return -1;
    }
    if (view_enter_container(holder, why) != 0)
        return -1;
    if (!own_pids || unshare(CLONE_NEWPID) == 0)
        return 0;
    snprintf(why, ROOT_WHY, "no processes of its own in the container: %s", strerror(errno));
    return -1;
}

int view_enter_pids(const struct view *view, bool ended)
{
    if (view->pid_ns < 0)
        return 0;
    if (!ended)
        return setns(view->pid_ns, CLONE_NEWPID) == 0 ? pids_join() : -1;
    if (unshare(CLONE_NEWNS | CLONE_NEWPID) != 0 || pids_begin(NULL) != 0)
        return -1;
    return pids_show("/proc");
}

/* ---- from a task to its agent ---- */

/* As many descriptors as a view has; of the last two the word says which are there. */
union control_message {
    struct cmsghdr head;
    char room[CMSG_SPACE(4 * sizeof(int))];
};
enum { WITH_USER_NS = 1, WITH_PID_NS = 2 };

int view_send(int sock, bool own_pids, bool user_ns)
{
    static const char *const names[] = { "ns/mnt", "root", "ns/user", "ns/pid" };
    const bool has[] = { true, true, user_ns, own_pids };
    int fds[ARRAY_LEN(names)];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) /* all close at exec */
        if (has[i] &&
            (fds[n++] = open_of(getpid(), names[i], i == 1 ? O_PATH | O_DIRECTORY : O_RDONLY)) < 0)
            return -1;
    size_t size = n * sizeof fds[0];
    union control_message passed = { .room = { 0 } };
    char word = (char)((user_ns ? WITH_USER_NS : 0) | (own_pids ? WITH_PID_NS : 0));
    struct iovec body = { .iov_base = &word, .iov_len = 1 };
    struct msghdr message = { .msg_iov = &body,
                              .msg_iovlen = 1,
                              .msg_control = &passed,
                              .msg_controllen = CMSG_SPACE(size) };
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
                              .cmsg_type = SCM_RIGHTS,
                              .cmsg_len = CMSG_LEN(size) };
    memcpy(CMSG_DATA(head), fds, size);
    return sendmsg(sock, &message, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

ssize_t view_receive(int sock, struct view *view, void *other, size_t size)
{
    union control_message passed;
    int fds[4] = { -1, -1, -1, -1 }, *more = fds + 2;
    struct iovec body = { .iov_base = other, .iov_len = size };
    struct msghdr message = { .msg_iov = &body,
                              .msg_iovlen = 1,
                              .msg_control = &passed,
                              .msg_controllen = CMSG_LEN(sizeof fds) }; /* room for no more */
    ssize_t n = recvmsg(sock, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (!head || head->cmsg_type != SCM_RIGHTS)
        return n;
    memcpy(fds, CMSG_DATA(head), head->cmsg_len - CMSG_LEN(0));
    view_fini(view); /* of a task that sends twice */
    view->mount_ns = fds[0];
    view->root = fds[1];
    int with = *(const char *)other;
    view->user_ns = with & WITH_USER_NS ? *more++ : -1;
    view->pid_ns = with & WITH_PID_NS && more < fds + ARRAY_LEN(fds) ? *more++ : -1;
    for (; more < fds + ARRAY_LEN(fds); more++) /* the sender may be anybody's */
        close(*more);
    return VIEW_RECEIVED;
}

char *view_code_at(const char *code_dir, const char *work_dir)
{
    size_t n = strlen(code_dir);
    while (n > 1 && code_dir[n - 1] == '/')
        n--;
    size_t start = n;
    while (start > 0 && code_dir[start - 1] != '/')
        start--;
    return mem_printf("%s/%.*s", work_dir, (int)(n - start), code_dir + start);
}

static int copy_code(const struct launch *launch, const char *at, struct err *err)
{
    AS_FS_USER(account_files(launch->account));
    return copy_read_only(launch->code_dir, at, err);
}

int view_stage_code(struct view *view, const struct launch *launch, const char *work_dir,
                    struct view_code *code, struct err *err)
{
    *code = (struct view_code){ .from = NULL };
    if (!launch->code_dir || lies_in(launch->code_dir, work_dir))
        return 0;
    struct stat from;
    if (look_at_source(launch, launch->code_dir, launch->account, &from, err) != 0)
        return -1;
    AUTO_FREE char *at = view_code_at(launch->code_dir, work_dir);
    if (view->mount_ns < 0)
        return copy_code(launch, at, err);
    struct view_point point = { .at = at, .dir = S_ISDIR(from.st_mode) };
    if (hold_point(view, launch, launch->account, &point, err) != 0)
        return err_in(err, "staging the code");
    code->from = launch->code_dir;
    code->account = launch->account;
    code->at = TAKE(at);
    return 0;
}

int view_show_code(const struct view_code *code)
{
    struct stat from, at;
    if (!code->from)
        return 0;
    const struct bind_mount mount = { .from = code->from, .at = code->at, .read_only = true };
    if (stat(code->from, &from) != 0 || stat(code->at, &at) != 0)
        return -1;
    if (from.st_dev == at.st_dev && from.st_ino == at.st_ino)
        return 0; /* another task of the same view has done it */
    return bind_source(&mount, code->account);
}
