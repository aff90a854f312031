/* The root of a task in an image, entered for real: in a mount namespace as root, in a user
 * namespace as anybody else; skipped with the reason where neither is to be had. */
#include "node/runtime/root.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define NO_NAMESPACE 77

struct scene {
    char dir[40];
    char *tree, *own, *at;
    bool jailed; /* what enters it is in a chroot, as in some build systems */
};

static void make_dir(const char *top, const char *name)
{
    struct err err;
    AUTO_FREE char *path = mem_printf("%s/%s", top, name);
    assert_int_equal(file_mkdirs(path, 0755, &err), 0);
}

static void make_file(const char *top, const char *name, const char *text)
{
    AUTO_FREE char *path = mem_printf("%s/%s", top, name);
    struct err err;
    assert_int_equal(file_replace(path, text, strlen(text), 0644, &err), 0);
}

/* Over an overlay, as the file system of a container often is, no overlay can be mounted. */
static const char *place(void)
{
    enum { OVERLAYFS = 0x794c7630 };
    struct statfs fs;
    return statfs("/tmp", &fs) == 0 && fs.f_type == OVERLAYFS ? "/dev/shm" : "/tmp";
}

static int set_up(void **state)
{
    static const char *const dirs[] = { "tree/etc", "tree/usr/bin", "own/up",
                                        "own/work", "at",           "data" };
    struct scene *scene = mem_new(sizeof *scene);
    snprintf(scene->dir, sizeof scene->dir, "%s/muster-root.XXXXXX", place());
    assert_non_null(mkdtemp(scene->dir));
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        make_dir(scene->dir, dirs[i]);
    make_file(scene->dir, "tree/etc/hosts", "of the image\n");
    make_file(scene->dir, "tree/usr/bin/tool", "tool\n");
    make_file(scene->dir, "data/f", "data\n");
    make_file(scene->dir, "hosts", "of the job\n");
    scene->tree = mem_printf("%s/tree", scene->dir);
    AUTO_FREE char *dangling = mem_printf("%s/etc/dangling", scene->tree);
    assert_int_equal(symlink("../run/no/such", dangling), 0);
    scene->own = mem_printf("%s/own", scene->dir);
    scene->at = mem_printf("%s/at", scene->dir);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(file_remove_tree(scene->dir, NULL), 0);
    free(scene->tree);
    free(scene->own);
    free(scene->at);
    free(scene);
    return 0;
}

/* ---- inside ---- */

static bool write_text(const char *path, const char *text)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool enter_namespace(bool *user_ns)
{
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();
    *user_ns = unshare(CLONE_NEWNS) != 0;
    if (*user_ns) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            return false;
        snprintf(map, sizeof map, "%u %u 1", uid, uid);
        if (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/uid_map", map))
            return false;
        snprintf(map, sizeof map, "%u %u 1", gid, gid);
        if (!write_text("/proc/self/gid_map", map))
            return false;
    }
    return mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0;
}

/* The same files, from a root that is not that of the namespace. */
static bool enter_chroot(const struct scene *scene)
{
    AUTO_FREE char *jail = mem_printf("%s/jail", scene->dir);
    return mkdir(jail, 0755) == 0 && mount("/", jail, NULL, MS_BIND | MS_REC, NULL) == 0 &&
           chroot(jail) == 0 && chdir("/") == 0;
}

static bool has(const char *path, const char *text)
{
    char found[64] = "";
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, found, sizeof found - 1) >= 0 && strcmp(found, text) == 0;
}

/* Runs in a child that has entered; what it returns is a number of its own for what is wrong. */
typedef int look(const struct scene *);

static int run_inside(const struct scene *scene, const struct root *root, look *inside,
                      char why[ROOT_WHY])
{
    int told[2], status;
    assert_int_equal(pipe(told), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char text[ROOT_WHY] = "";
        bool user_ns;
        if (!enter_namespace(&user_ns) || (scene->jailed && !enter_chroot(scene)))
            _exit(NO_NAMESPACE);
        int rc = root_enter(root, user_ns, text) == 0 ? inside(scene) : 100;
        (void)!write(told[1], text, sizeof text);
        _exit(rc);
    }
    close(told[1]);
    ssize_t n = read(told[0], why, ROOT_WHY);
    close(told[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_NAMESPACE) {
        print_message("no mount namespace can be had here\n");
        skip();
    }
    assert_int_equal(n, ROOT_WHY);
    return WEXITSTATUS(status);
}

static int look_at_all(const struct scene *scene)
{
    struct statvfs fs;
    AUTO_FREE char *own = mem_printf("%s/own", scene->dir);
    if (!has("/usr/bin/tool", "tool\n") || !has("/etc/hosts", "of the job\n") ||
        !has("/etc/dangling", "of the job\n"))
        return 1;
    if (access("/proc/self/status", F_OK) != 0 || access("/dev/null", F_OK) != 0)
        return 2;
    if (!has("/mnt/deep/data/f", "data\n") || !write_text("/mnt/deep/data/f", "DATA\n"))
        return 3;
    if (access("/ro/f", F_OK) != 0 || open("/ro/new", O_WRONLY | O_CREAT, 0600) >= 0 ||
        errno != EROFS)
        return 4;
    if (access(own, F_OK) == 0 || access("/missing", F_OK) == 0)
        return 5;
    if (statvfs("/dev/shm", &fs) != 0 || fs.f_blocks * fs.f_frsize != 1u << 20)
        return 6;
    if (open("/usr/bin/new", O_WRONLY | O_CREAT, 0600) < 0 || unlink("/usr/bin/tool") != 0)
        return 7;
    return 0;
}

static void a_task_sees_the_image_and_what_it_is_shown(void **state)
{
    struct scene *scene = *state;
    char why[ROOT_WHY];
    AUTO_FREE char *hosts = mem_printf("%s/hosts", scene->dir);
    AUTO_FREE char *data = mem_printf("%s/data", scene->dir);
    const struct root_bind binds[] = {
        { .from = hosts, .at = "/etc/hosts" },
        { .from = data, .at = "/mnt/deep/data/" },
        { .from = data, .at = "/ro", .read_only = true },
        { .from = hosts, .at = "/etc/dangling" },
        { .from = "/no/such/file", .at = "/missing", .may_miss = true },
        { .from = hosts, .at = "/usr/bin/deep/hosts" },
    };
    const struct root root = { .tree = scene->tree,
                               .dir = scene->own,
                               .at = scene->at,
                               .binds = binds,
                               .n_binds = ARRAY_LEN(binds),
                               .shm = 1u << 20 };
    int rc = run_inside(scene, &root, look_at_all, why);
    if (rc != 0)
        fail_msg("%d %s", rc, why);
    /* What the task wrote is its own; the image is as it was. */
    AUTO_FREE char *tool = mem_printf("%s/usr/bin/tool", scene->tree);
    AUTO_FREE char *new = mem_printf("%s/up/usr/bin/new", scene->own);
    AUTO_FREE char *file = mem_printf("%s/f", data);
    assert_true(has(tool, "tool\n"));
    assert_int_equal(access(new, F_OK), 0);
    assert_true(has(file, "DATA\n"));
    /* What mounts needed is not in the layer. */
    static const char *const points[] = { "mnt", "ro", "proc", "etc/dangling", "usr/bin/deep" };
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        AUTO_FREE char *point = mem_printf("%s/up/%s", scene->own, points[i]);
        if (access(point, F_OK) == 0)
            fail_msg("%s was made in the task's layer", points[i]);
    }
}

static int look_for_way_out(const struct scene *scene)
{
    int top = open("/", O_RDONLY | O_DIRECTORY);
    (void)mkdir("/x", 0755);
    /* The usual escape from a chroot: one's directory stays above the new root. */
    if (chroot("/x") == 0)
        for (int i = 0; i < 64; i++)
            (void)!chdir("..");
    (void)!chroot(".");
    if (top < 0 || access(scene->dir, F_OK) == 0)
        return 1;
    return has("/usr/bin/tool", "tool\n") ? 0 : 2;
}

static void there_is_no_way_back(void **state)
{
    struct scene *scene = *state;
    char why[ROOT_WHY];
    const struct root root = { .tree = scene->tree, .dir = scene->own, .at = scene->at };
    int rc = run_inside(scene, &root, look_for_way_out, why);
    if (rc != 0)
        fail_msg("%d %s", rc, why);
}

static void nor_out_of_a_chroot(void **state)
{
    struct scene *scene = *state;
    scene->jailed = true;
    there_is_no_way_back(state);
}

static int look_at_nothing(const struct scene *scene)
{
    (void)scene;
    return 0;
}

/* An image with links where something is to be mounted: it lands inside. */
static void links_of_the_image_lead_nowhere_else(void **state)
{
    struct scene *scene = *state;
    char why[ROOT_WHY];
    if (strcmp(place(), "/tmp") != 0)
        skip(); /* a root has a /dev/shm of its own, which its links lead to */
    AUTO_FREE char *link = mem_printf("%s/mnt", scene->tree);
    AUTO_FREE char *victim = mem_printf("%s/victim", scene->dir);
    AUTO_FREE char *data = mem_printf("%s/data", scene->dir);
    AUTO_FREE char *inner = mem_printf("%s%s", scene->tree, victim);
    struct err err;
    assert_int_equal(mkdir(victim, 0755), 0);
    assert_int_equal(file_mkdirs(inner, 0755, &err), 0);
    assert_int_equal(symlink(victim, link), 0);
    const struct root_bind binds[] = { { .from = data, .at = "/mnt/made" } };
    const struct root root = {
        .tree = scene->tree, .dir = scene->own, .at = scene->at, .binds = binds, .n_binds = 1
    };
    int rc = run_inside(scene, &root, look_at_nothing, why);
    if (rc != 0)
        fail_msg("%d %s", rc, why);
    assert_int_equal(rmdir(victim), 0); /* nothing was made in it */
}

/* As in a container, where the state directory lies on an overlay. */
static void a_layer_on_an_overlay_is_named(void **state)
{
    const struct scene *scene = *state;
    char why[ROOT_WHY], options[200], on[60]; /* on the stack: a skip frees nothing */
    make_dir(scene->dir, "over/up");
    make_dir(scene->dir, "over/work");
    make_dir(scene->dir, "over/on");
    snprintf(on, sizeof on, "%s/over/on", scene->dir);
    snprintf(options, sizeof options, "lowerdir=%s,upperdir=%s/over/up,workdir=%s/over/work",
             scene->own, scene->dir, scene->dir);
    if (mount("overlay", on, "overlay", 0, options) != 0) {
        print_message("no overlay can be mounted here\n");
        skip();
    }
    const struct root root = { .tree = scene->tree, .dir = on, .at = scene->at };
    int rc = run_inside(scene, &root, look_at_nothing, why);
    assert_int_equal(umount(on), 0);
    assert_int_equal(rc, 100);
    assert_string_equal(why, "no image can run from a state directory on overlayfs: "
                             "put it on a volume or another disk");
}

static void what_cannot_be_shown_is_named(void **state)
{
    struct scene *scene = *state;
    char why[ROOT_WHY];
    const struct root_bind binds[] = { { .from = "/no/such/data", .at = "/data" } };
    const struct root root = {
        .tree = scene->tree, .dir = scene->own, .at = scene->at, .binds = binds, .n_binds = 1
    };
    assert_int_equal(run_inside(scene, &root, look_at_nothing, why), 100);
    assert_string_equal(why, "cannot show /no/such/data: No such file or directory");
    const struct root gone = { .tree = "/no/such/tree", .dir = scene->own, .at = scene->at };
    assert_int_equal(run_inside(scene, &gone, look_at_nothing, why), 100);
    assert_string_equal(why, "the image's tree is gone: No such file or directory");
}

int main(void)
{
    alarm(600);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_task_sees_the_image_and_what_it_is_shown, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(there_is_no_way_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nor_out_of_a_chroot, set_up, tear_down),
        cmocka_unit_test_setup_teardown(links_of_the_image_lead_nowhere_else, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_shown_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_layer_on_an_overlay_is_named, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("node/runtime/root", tests, NULL, NULL);
}
