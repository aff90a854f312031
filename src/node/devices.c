/* Nodes are bound from the old /dev by descriptors that were opened before it was covered: making
 * new ones needs rights that a user namespace does not give. What the task's view has at /dev/shm
 * stays. */
#include "node/devices.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NAME_SIZE DEVICES_NAME
#define SHOWN_MAX 128
#define CAPS      "nvidia-caps" /* a directory: who may open which instance of MIG */

/* Files and directories of /dev that every task has, where the machine has them. */
static const char *const usual[] = { "null", "zero",       "full",   "random",    "urandom", "tty",
                                     "pts",  "shm",        "mqueue", "hugepages", "log",     "fuse",
                                     "net",  "infiniband", "gdrdrv", "knem",      "xpmem" };
#define ANYWHERE 11u /* of them: up to "log" */
/* What the driver shares between all of its devices: only who has one gets it. */
static const char *const with_gpus[] = {
    "nvidia-caps-imex-channels", "nvidia-fs0",     "nvidiactl", "nvidia-uvm",
    "nvidia-uvm-tools",          "nvidia-modeset", "kfd",       "dri",
    "davinci_manager",           "devmm_svm",      "hisi_hdc"
};
#define OTHER_KINDS 2u /* of them: of which specifications of GPUs say nothing */

static const struct {
    const char *name, *to;
} links[] = { { "fd", "/proc/self/fd" },
              { "stdin", "/proc/self/fd/0" },
              { "stdout", "/proc/self/fd/1" },
              { "stderr", "/proc/self/fd/2" } };

struct device_file {
    char name[NAME_SIZE];
    int fd;
    bool dir;
};
struct device_files {
    struct device_file at[SHOWN_MAX];
    size_t n;
};

static void add(struct device_files *all, const char *name)
{
    char path[NAME_SIZE + 8];
    struct stat st;
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->at[i].name, name) == 0)
            return; /* instances of one device share its file */
    if (all->n == SHOWN_MAX || strlen(name) >= NAME_SIZE)
        return;
    struct device_file *one = &all->at[all->n];
    snprintf(path, sizeof path, "/dev/%s", name);
    one->fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (one->fd < 0)
        return;
    if (fstat(one->fd, &st) != 0 || S_ISLNK(st.st_mode)) {
        close(one->fd);
        return;
    }
    snprintf(one->name, sizeof one->name, "%s", name);
    one->dir = S_ISDIR(st.st_mode);
    all->n++;
}

static void collect_by_number(const struct devices *devices, struct device_files *all)
{
    char name[NAME_SIZE];
    for (size_t i = 0; i < devices->n_gpus; i++) {
        snprintf(name, sizeof name, "nvidia%u", devices->gpus[i]);
        add(all, name);
        snprintf(name, sizeof name, "davinci%u", devices->gpus[i]);
        add(all, name);
        for (uint32_t k = 0; devices->parts && k < devices->parts[i].n_caps; k++) {
            snprintf(name, sizeof name, CAPS "/nvidia-cap%u", devices->parts[i].caps[k]);
            add(all, name);
        }
    }
}

static void collect(const struct devices *devices, struct device_files *all)
{
    const struct words *nodes = devices->nodes;
    for (size_t i = 0; i < ARRAY_LEN(usual); i++)
        add(all, usual[i]);
    for (size_t i = 0; devices->n_gpus > 0 && i < (nodes ? OTHER_KINDS : ARRAY_LEN(with_gpus)); i++)
        add(all, with_gpus[i]);
    for (size_t i = 0; nodes && i < nodes->n; i++)
        add(all, nodes->at[i]);
    if (!nodes)
        collect_by_number(devices, all);
}

/* ---- by number ---- */

struct listing {
    struct device *out;
    size_t n, max;
};

static void list_one(struct listing *l, int dir, const char *name)
{
    struct stat st;
    if (l->n == l->max || fstatat(dir, name, &st, 0) != 0)
        return;
    if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
        l->out[l->n++] = (struct device){ .type = S_ISCHR(st.st_mode) ? 'c' : 'b',
                                          .major = major(st.st_rdev),
                                          .minor = minor(st.st_rdev) };
}

static void list_inside(struct listing *l, int fd)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir && copy >= 0)
        close(copy);
    for (const struct dirent *e; dir && (e = readdir(dir));)
        list_one(l, dirfd(dir), e->d_name);
    if (dir)
        closedir(dir);
}

size_t devices_list(const struct devices *devices, struct device *out, size_t n)
{
    struct listing l = { .out = out, .max = n };
    struct device_files all = { .n = 0 };
    AUTO_CLOSE int dev = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
    collect(devices, &all);
    for (size_t i = 0; i < all.n; i++) {
        const struct device_file *one = &all.at[i];
        if (!one->dir)
            list_one(&l, dev, one->name);
        else if (strcmp(one->name, "shm") != 0 && strcmp(one->name, "pts") != 0)
            list_inside(&l, one->fd); /* what is in those is no device, or any terminal */
        close(one->fd);
    }
    return l.n;
}

/* ---- by name ---- */

size_t devices_names(const struct devices *devices, char (*out)[DEVICES_NAME], size_t n)
{
    struct device_files all = { .n = 0 };
    size_t found = 0;
    collect(devices, &all);
    for (size_t i = 0; i < all.n; i++) {
        bool anywhere = false;
        for (size_t k = 0; k < ANYWHERE; k++)
            anywhere = anywhere || strcmp(all.at[i].name, usual[k]) == 0;
        if (!anywhere && found < n)
            memcpy(out[found++], all.at[i].name, DEVICES_NAME);
        close(all.at[i].fd);
    }
    return found;
}

/* Those that its name has. */
static int make_folders(char *at)
{
    for (char *slash = strchr(at + sizeof "/dev/", '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int rc = mkdir(at, 0755);
        *slash = '/';
        if (rc != 0 && errno != EEXIST)
            return -1;
    }
    return 0;
}

static int show_one(const struct device_file *one)
{
    char from[48], at[NAME_SIZE + 8];
    snprintf(from, sizeof from, "/proc/self/fd/%d", one->fd);
    snprintf(at, sizeof at, "/dev/%s", one->name);
    if (make_folders(at) != 0)
        return -1;
    if (one->dir) {
        if (mkdir(at, 0755) != 0)
            return -1;
    } else {
        AUTO_CLOSE int file = open(at, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (file < 0)
            return -1;
    }
    return mount(from, at, NULL, MS_BIND | MS_REC, NULL);
}

/* Bound from elsewhere ptmx would not find the terminals beside it. A user namespace can make no
 * device, but terminals of its own: then one that comes from outside has no name in there. */
static int make_terminals(void)
{
    static const char options[] = "newinstance,ptmxmode=0666,mode=620";
    if (mknod("/dev/ptmx", S_IFCHR, makedev(5, 2)) == 0)
        return chmod("/dev/ptmx", 0666);
    (void)mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, options);
    return symlink("pts/ptmx", "/dev/ptmx");
}

int devices_show(const struct devices *devices, bool is_private)
{
    struct device_files all = { .n = 0 };
    if (!devices->own || (!is_private && unshare(CLONE_NEWNS) != 0))
        return 0;
    if (!is_private && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
        return -1;
    collect(devices, &all);
    int rc = mount("tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755,size=256k");
    for (size_t i = 0; i < all.n; i++) {
        if (rc == 0)
            rc = show_one(&all.at[i]);
        close(all.at[i].fd);
    }
    if (rc == 0)
        rc = make_terminals();
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(links); i++) {
        char at[NAME_SIZE];
        snprintf(at, sizeof at, "/dev/%s", links[i].name);
        rc = symlink(links[i].to, at);
    }
    return rc;
}
