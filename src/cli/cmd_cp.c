/* muster cp: files and directories between here and a running task, as a tar archive over the
 * connection of exec. What comes from a task is unpacked by our own reader, which makes nothing
 * outside of its directory, whatever a program there sent; both ways it gets its name last. */
#include "cli/cmd.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/untar.h"
#include "cli/exec_call.h"
#include "cli/names.h"
#include "cli/output.h"
#include "text/json.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct opt opts[] = {
    COMMON_OPTS,
    OPT_END,
};

/* In the task: $1 the target, $2 the name in the archive. tar gives no owner away, busybox's
 * neither. */
static const char unpack[] =
    "to=$1\n"
    "[ ! -d \"$to\" ] || to=$to/$2\n"
    "if [ -d \"$to\" ]; then echo \"$to is a directory there\" >&2; exit 1; fi\n"
    "dir=$(dirname -- \"$to\")\n"
    "if [ ! -d \"$dir\" ]; then echo \"$dir is no directory there\" >&2; exit 1; fi\n"
    "part=$dir/.muster-cp.$$\n"
    "mkdir -- \"$part\" || exit\n"
    "tar -o -C \"$part\" -x -f - && mv -f -- \"$part/$2\" \"$to\"\n"
    "code=$?\n"
    "rm -rf -- \"$part\"\n"
    "exit $code\n";

struct end {
    const char *job; /* NULL: here */
    const char *task;
    const char *dir, *name; /* of the path */
};

/* "a/b/" is b in a. Names that stand for other ones have none to be given. */
static int split_path(struct arena *arena, const char *path, struct end *out, struct err *err)
{
    size_t n = strlen(path), start;
    while (n > 1 && path[n - 1] == '/')
        n--;
    for (start = n; start > 0 && path[start - 1] != '/';)
        start--;
    out->name = arena_strndup(arena, path + start, n - start);
    out->dir = start > 1 ? arena_strndup(arena, path, start - 1) : start == 1 ? "/" : ".";
    if (*out->name && strcmp(out->name, "/") != 0 && strcmp(out->name, ".") != 0 &&
        strcmp(out->name, "..") != 0)
        return 0;
    err_set(err, ERR_INPUT, "\"%.80s\" names no file or directory", path);
    return err_hint(err, "give it by its name, as in 12:out/model.pt");
}

/* "12:out", "12/worker/0:out"; what begins with a dot or a slash, or has no colon, is here. */
static const char *read_end(struct arena *arena, const char *text, struct end *out)
{
    const char *colon = *text == '.' || *text == '/' ? NULL : strchr(text, ':');
    const char *slash = colon ? memchr(text, '/', (size_t)(colon - text)) : NULL;
    *out = (struct end){ .job = NULL };
    if (!colon)
        return text;
    out->job = arena_strndup(arena, text, (size_t)((slash ? slash : colon) - text));
    if (slash)
        out->task = arena_strndup(arena, slash + 1, (size_t)(colon - slash - 1));
    return colon[1] ? colon + 1 : ".";
}

/* ---- from a task ---- */

struct unpacker {
    pid_t pid;
    int in;   /* its archive goes there */
    int said; /* why it failed comes from there */
};

/* In a process of its own, beside the session. */
static void unpack_here(int in, const char *dir, int said)
{
    static const struct untar_limits most = { .bytes = UINT64_MAX, .files = UINT64_MAX };
    struct untar_summary summary;
    struct err err;
    int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at >= 0 && untar(in, at, &most, &summary, &err) == 0)
        _exit(0);
    if (at < 0)
        err_sys(&err, "%s", dir);
    (void)file_write_all(said, err.what, strlen(err.what));
    _exit(1);
}

static int start_unpacker(struct unpacker *out, const char *dir, struct err *err)
{
    int in[2], said[2];
    if (pipe2(in, O_CLOEXEC) < 0)
        return err_sys(err, "pipe");
    if (pipe2(said, O_CLOEXEC) < 0)
        return err_sys(err, "pipe");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(in[1]);
        unpack_here(in[0], dir, said[1]);
    }
    close(in[0]);
    close(said[1]);
    *out = (struct unpacker){ .pid = pid, .in = in[1], .said = said[0] };
    return pid < 0 ? err_sys(err, "starting a process") : 0;
}

static bool ended_well(pid_t pid)
{
    int status = -1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int end_unpacker(struct unpacker *unpacker, struct err *err)
{
    char said[256];
    close(unpacker->in);
    ssize_t n = read(unpacker->said, said, sizeof said - 1);
    close(unpacker->said);
    if (ended_well(unpacker->pid))
        return 0;
    said[n > 0 ? n : 0] = '\0';
    return err_set(err, ERR_INPUT, "%s", *said ? said : "what came could not be unpacked");
}

/* 0: what the task sent lies in dir; else an exit status, or -1 with err. */
static int fetch_into(struct cli *cli, const struct end *from, const char *dir, struct err *err)
{
    const char *argv[] = { "tar", "-C", from->dir, "-c", "-f", "-", "--", from->name };
    const struct exec_call call = { .job = from->job,
                                    .task = from->task,
                                    .command = { .at = argv, .n = ARRAY_LEN(argv) } };
    struct unpacker unpacker = { .in = -1 };
    struct session s;
    struct err why;
    if (start_unpacker(&unpacker, dir, err) < 0)
        return -1;
    (void)signal(SIGPIPE, SIG_IGN); /* who unpacks says why it takes no more */
    session_init(&s, false);
    s.input_open = false;
    s.to = unpacker.in;
    int rc = exec_call_run(cli, &call, &s, err);
    session_fini(&s);
    int unpacked = end_unpacker(&unpacker, &why);
    if (rc < 0 || s.status)
        return rc < 0 ? -1 : s.status;
    if (unpacked < 0)
        *err = why;
    return unpacked;
}

static int copy_from(struct cli *cli, const struct end *from, const char *path, struct err *err)
{
    struct end to;
    const char *target =
        file_is_dir(path) ? arena_printf(cli->arena, "%s/%s", path, from->name) : path;
    if (split_path(cli->arena, target, &to, err) < 0)
        return -1;
    if (file_is_dir(target)) {
        err_set(err, ERR_CONFLICT, "%s is a directory here", target);
        return err_hint(err, "copy to another name");
    }
    char *part = arena_printf(cli->arena, "%s/.muster-cp.XXXXXX", to.dir);
    if (!mkdtemp(part))
        return err_sys(err, "%s", to.dir);
    int rc = fetch_into(cli, from, part, err);
    const char *came = arena_printf(cli->arena, "%s/%s", part, from->name);
    if (rc == 0 && rename(came, target) != 0)
        rc = err_sys(err, "%s", target);
    (void)file_remove_tree(part, NULL);
    return rc;
}

/* ---- to a task ---- */

static pid_t pack_here(const struct end *from, int *out, struct err *err)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_sys(err, "pipe");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)signal(SIGPIPE, SIG_DFL);
        if (dup2(fds[1], STDOUT_FILENO) >= 0)
            execlp("tar", "tar", "-C", from->dir, "-c", "-f", "-", "--", from->name, (char *)NULL);
        fprintf(stderr, "error: tar: %s\n", strerror(errno));
        fflush(stderr);
        _exit(127);
    }
    close(fds[1]);
    *out = fds[0];
    return pid < 0 ? err_sys(err, "starting tar") : pid;
}

static int copy_to(struct cli *cli, const char *path, const struct end *to, const char *target,
                   struct err *err)
{
    struct end from;
    struct session s;
    int in = -1;
    if (split_path(cli->arena, path, &from, err) < 0 || names_need(path, err) < 0)
        return -1;
    const char *argv[] = { "sh", "-c", unpack, "sh", target, from.name };
    const struct exec_call call = { .job = to->job,
                                    .task = to->task,
                                    .command = { .at = argv, .n = ARRAY_LEN(argv) } };
    pid_t pid = pack_here(&from, &in, err);
    if (pid < 0 || dup2(in, STDIN_FILENO) < 0)
        return -1;
    close(in);
    session_init(&s, false);
    int rc = exec_call_run(cli, &call, &s, err);
    session_fini(&s);
    close(STDIN_FILENO);
    bool whole = ended_well(pid);
    return rc < 0 ? -1 : s.status ? s.status : !whole;
}

static int run_cp(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    struct end from, to;
    (void)opts_;
    if (cmd_operands(&cmd_cp, argc, 2, 2, err) < 0)
        return -1;
    const char *source = read_end(cli->arena, argv[0], &from);
    const char *target = read_end(cli->arena, argv[1], &to);
    if (!from.job == !to.job) {
        err_set(err, ERR_INPUT, from.job ? "both paths are in tasks" : "neither path is in a task");
        return err_hint(err,
                        "JOB:PATH or JOB/ROLE/INDEX:PATH is a path in a task, one with a colon "
                        "here begins with ./");
    }
    if (from.job && split_path(cli->arena, source, &from, err) < 0)
        return -1;
    int rc = from.job ? copy_from(cli, &from, target, err) : copy_to(cli, source, &to, target, err);
    if (rc == 0 && cli->json) {
        struct text_node *root = text_map(cli->arena, NULL, NULL);
        text_str(cli->arena, root, "from", argv[0]);
        text_str(cli->arena, root, "to", argv[1]);
        out_json(root);
    }
    return rc;
}

static const char *const examples[] = {
    "muster cp 12:out/model.pt .",
    "a file of its only task, which stands in the task's directory",
    "muster cp ddp/worker/1:/tmp/trace trace",
    "a directory of that task's machine",
    "muster cp data 12:",
    "a directory from here into the task's own",
    NULL,
};
const struct cmd cmd_cp = {
    .name = "cp",
    .summary = "copy files from a task or to it",
    .operands = "FROM TO   (one of them JOB[/ROLE/INDEX]:PATH)",
    .opts = opts,
    .size = sizeof(struct common_opts),
    .examples = examples,
    .run = run_cp,
};
