/* Processes of a scene, and what is looked at afterwards: what readers find, and whether the copies
 * are the logs. */
#include "node/test/logs/scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "node/keeper.h"
#include "node/test/logs/cut.h"
#include "node/test/logs/server.h"
#include "wire/log_reader.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 120000u

struct scene *scene_create(uint64_t seed)
{
    struct scene *scene = mem_new(sizeof *scene);
    struct err err;
    scene->arena = arena_create();
    scene->seed = seed;
    snprintf(scene->dir, sizeof scene->dir, "/tmp/muster-logs-XXXXXX");
    assert_non_null(mkdtemp(scene->dir));
    scene->records = mmap(NULL, sizeof *scene->records, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(scene->records != MAP_FAILED);
    char *agent = arena_printf(scene->arena, "%s/agent", scene->dir);
    assert_int_equal(file_mkdirs(agent, 0700, &err), 0);
    scene->launch =
        (struct launch){ .generation = SERVER_GENERATION,
                         .seq = 1,
                         .node = "n1",
                         .job_name = "test",
                         .dir = agent,
                         .grace_ms = 5000,
                         .tasks = ARENA_ARRAY(scene->arena, SCENE_TASKS, struct launch_task) };
    return scene;
}

struct launch_task *scene_task(struct scene *scene, const char *run)
{
    uint32_t index = (uint32_t)scene->launch.n_tasks;
    assert_true(index < SCENE_TASKS);
    struct launch_task *task = &scene->launch.tasks[scene->launch.n_tasks++];
    *task = (struct launch_task){ .ref = { .index = index },
                                  .role = "worker",
                                  .attempt = 1,
                                  .run = arena_strdup(scene->arena, run) };
    return task;
}

void scene_start(struct scene *scene, uint64_t leave_ms)
{
    AUTO_FREE char *path = mem_printf("%s/agent/agent.conf", scene->dir);
    AUTO_FREE char *text =
        mem_printf("socket=%s/%s\ntoken=" SERVER_TOKEN "\njob=%u\ngeneration=1\n"
                   "node=n1\ncookie=%s\nsandbox=on\nlogs=send\nleave_ms=%llu\n",
                   scene->dir, scene->faults.no_wire ? "server.sock" : "sock", SERVER_JOB,
                   scene->dir + strlen("/tmp/"), (unsigned long long)leave_ms);
    AUTO_FREE char *sock = mem_printf("%s/sock", scene->dir);
    struct err err;
    assert_int_equal(file_replace(path, text, strlen(text), 0600, &err), 0);
    int listener = cut_listen(sock);
    scene->wire = cut_fork();
    if (scene->wire == 0)
        cut_run(scene, listener);
    close(listener);
    scene->keeper = cut_fork();
    if (scene->keeper == 0) {
        (void)setsid();
        exit(keeper_run(scene->launch.dir));
    }
}

/* ---- the server ---- */

void scene_serve(struct scene *scene)
{
    AUTO_FREE char *path = mem_printf("%s/server.sock", scene->dir);
    int listener = cut_listen(path);
    scene->server = cut_fork();
    if (scene->server == 0)
        server_run(scene, listener);
    close(listener);
}

static void end_child(pid_t *pid)
{
    if (*pid > 0) {
        (void)kill(*pid, SIGKILL);
        (void)waitpid(*pid, NULL, 0);
    }
    *pid = 0;
}

void scene_kill(struct scene *scene)
{
    end_child(&scene->server);
}

int scene_wait(struct scene *scene)
{
    int status = 0;
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    pid_t pid;
    while ((pid = waitpid(scene->keeper, &status, WNOHANG)) == 0 && clock_mono_ms() < until)
        (void)poll(NULL, 0, 2);
    if (pid != scene->keeper)
        fail_msg("seed %llu: the agent does not leave; %s", (unsigned long long)scene->seed,
                 scene->dir);
    scene->keeper = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* ---- afterwards ---- */

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static uint64_t compare_files(const char *a, const char *b)
{
    AUTO_FREE char *one = NULL, *other = NULL;
    size_t one_len, other_len;
    struct err err;
    assert_int_equal(file_read(a, SEGMENT_MAX, &one, &one_len, &err), 0);
    if (file_read(b, SEGMENT_MAX, &other, &other_len, &err) != 0)
        fail_msg("%s: %s", b, err.what);
    if (one_len != other_len || memcmp(one, other, one_len) != 0)
        fail_msg("%s: %zu bytes, %s: %zu", a, one_len, b, other_len);
    return one_len;
}

static uint64_t compare_dirs(const char *a, const char *b)
{
    struct dirent **here, **there;
    uint64_t bytes = 0;
    int n = scandir(a, &here, not_hidden, alphasort), m = scandir(b, &there, not_hidden, alphasort);
    assert_true(n >= 0);
    if (n == 0 && m < 0) /* nothing was written: the copy was not made */
        m = 0;
    if (n != m)
        fail_msg("%s has %d files, %s %d", a, n, b, m);
    for (int i = 0; i < n; i++) {
        AUTO_FREE char *one = mem_printf("%s/%s", a, here[i]->d_name);
        AUTO_FREE char *other = mem_printf("%s/%s", b, there[i]->d_name);
        assert_string_equal(here[i]->d_name, there[i]->d_name);
        bytes += compare_files(one, other);
    }
    for (int i = 0; i < n; i++) {
        free(here[i]);
        free(there[i]);
    }
    free(here);
    if (n > 0)
        free(there);
    return bytes;
}

uint64_t scene_compare(const struct scene *scene)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < scene->launch.n_tasks; i++) {
        char name[LOG_DIR_MAX];
        log_dir_name(name, "worker", (uint32_t)i, 1);
        AUTO_FREE char *a = mem_printf("%s/agent/%s", scene->dir, name);
        AUTO_FREE char *b = mem_printf("%s/" SERVER_COPIES "/%s", scene->dir, name);
        bytes += compare_dirs(a, b);
    }
    return bytes;
}

uint64_t scene_gap(const struct scene *scene, uint32_t index)
{
    char name[LOG_DIR_MAX];
    log_dir_name(name, "worker", index, 1);
    AUTO_FREE char *dir = mem_printf("%s/" SERVER_COPIES "/%s", scene->dir, name);
    struct log_reader *reader = log_reader_create(dir, 0);
    struct log_item item;
    uint64_t gap = 0;
    while (log_reader_next(reader, &item) == 1)
        gap += item.gap;
    log_reader_destroy(reader);
    return gap;
}

void scene_destroy(struct scene *scene)
{
    struct err err;
    end_child(&scene->keeper);
    end_child(&scene->server);
    end_child(&scene->wire);
    assert_int_equal(file_remove_tree(scene->dir, &err), 0);
    (void)munmap(scene->records, sizeof *scene->records);
    arena_destroy(scene->arena);
    free(scene);
}
