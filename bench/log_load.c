/* How fast logs are copied from an agent to a server, beside a plain `cat` through a socket into a
 * file: log_load TASKS BYTES. Prints one JSON document. The agent, the hub and the socket are real;
 * the server has no core. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/scan.h"
#include "node/test/logs/scene.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE 65536u

/* Memory of a process at its most, in KiB. */
static uint64_t peak_kib(pid_t pid)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    unsigned long long kib = 0;
    char line[256];
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtoull(line + 6, NULL, 10);
    if (file)
        fclose(file);
    return kib;
}

/* `yes | head -c BYTES` through a socket into a file; microseconds. */
static uint64_t plain_cat(uint64_t bytes)
{
    char path[] = "/tmp/muster-cat-XXXXXX", piece[PIECE];
    AUTO_FREE char *run =
        mem_printf("yes abcdefgh | head -c %llu | cat", (unsigned long long)bytes);
    int pair[2], file = mkstemp(path);
    ssize_t n;
    if (file < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        BUG("no socket or no file");
    uint64_t began = clock_mono_us();
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(pair[0], 1);
        close(pair[0]);
        close(pair[1]);
        execl("/bin/sh", "sh", "-c", run, (char *)NULL);
        _exit(127);
    }
    close(pair[0]);
    while ((n = read(pair[1], piece, sizeof piece)) > 0)
        if (write(file, piece, (size_t)n) != n)
            BUG("%s does not take it", path);
    uint64_t took = clock_mono_us() - began;
    (void)waitpid(pid, NULL, 0);
    close(pair[1]);
    close(file);
    (void)unlink(path);
    return took;
}

int main(int argc, char **argv)
{
    uint64_t tasks, bytes;
    double slowest = 0, sum = 0;
    if (argc != 3 || !scan_u64(argv[1], 1, SCENE_TASKS, &tasks) ||
        !scan_u64(argv[2], 1, UINT64_MAX, &bytes))
        return 2;
    AUTO_FREE char *run = mem_printf("yes abcdefgh | head -c %llu", (unsigned long long)bytes);
    uint64_t cat = plain_cat(tasks * bytes);
    struct scene *scene = scene_create(1);
    for (uint64_t i = 0; i < tasks; i++)
        scene_task(scene, run);
    scene->faults.no_wire = true;
    scene_start(scene, 0);
    uint64_t began = clock_mono_us();
    scene_serve(scene);
    uint64_t before = peak_kib(scene->server);
    if (scene_wait(scene) != 0)
        return 1;
    uint64_t took = clock_mono_us() - began, memory = peak_kib(scene->server) - before;
    for (uint64_t i = 0; i < tasks; i++) {
        uint64_t at = scene->records->copied_us[i];
        double rate = (double)bytes / (double)((at ? at : clock_mono_us()) - began);
        slowest = slowest == 0 || rate < slowest ? rate : slowest;
        sum += rate;
    }
    printf("{\"copied_mb_s\": %.1f, \"cat_mb_s\": %.1f, \"slowest_of_mean\": %.3f, "
           "\"server_mib\": %.1f}\n",
           (double)(tasks * bytes) / (double)took, (double)(tasks * bytes) / (double)cat,
           slowest / (sum / (double)tasks), (double)memory / 1024);
    scene_destroy(scene);
    return 0;
}
