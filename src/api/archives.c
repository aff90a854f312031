/* Code that a submitter on another machine brings along: a gzipped tar under the SHA-256 of its
 * bytes, put in pieces, then checked and unpacked by a child of its own. What is unpacked lies in
 * the state directory, by its hash; jobs name it (inputs.code.archive), and what no job named for
 * 90 days is removed. */
#include "api/call.h"

#include "base/file.h"
#include "base/mem.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#define HASH_LEN    64
#define ARCHIVE_MAX (512ull << 20)
#define UNPACK_MS   120000

/* $1 the file, $2 its hash, $3 where it is unpacked. */
static const char script[] =
    "find \"${3%/*}\" -mindepth 1 -maxdepth 1 -mtime +90 -exec rm -rf {} +\n"
    "[ \"$(sha256sum <\"$1\" | cut -c 1-64)\" = \"$2\" ] || { rm -f \"$1\"; exit 3; }\n"
    "new=$3.new.$$\n"
    "mkdir \"$new\" && tar -xzf \"$1\" -C \"$new\" --no-same-owner || {\n"
    "    rm -rf \"$new\" \"$1\"; exit 4\n"
    "}\n"
    "rm -f \"$1\"\n"
    "mv -T \"$new\" \"$3\" 2>/dev/null || rm -rf \"$new\"\n"
    "[ -d \"$3\" ]\n";

static bool all_of(const char *text, const char *chars, size_t least, size_t most)
{
    if (!text)
        return false;
    size_t n = strlen(text);
    return n >= least && n <= most && strspn(text, chars) == n;
}

struct archive { /* paths in the call's arena */
    const char *hash, *dir, *part;
};

/* Answers the problem itself. */
static bool find_archive(struct call *call, bool to_put, struct archive *a)
{
    struct err err;
    const char *folder = arena_printf(call->arena, "%s/archives", call->api->config.state_dir);
    const char *part = http_query(call->request, "part", 0);
    a->hash = call->param[0];
    if (!all_of(a->hash, "0123456789abcdef", HASH_LEN, HASH_LEN)) {
        err_set(&err, ERR_INPUT, "\"%.80s\" is no SHA-256", a->hash);
        err_hint(&err, "64 hexadecimal digits, of the gzipped tar");
    } else if (to_put && !all_of(part, "0123456789abcdefghijklmnopqrstuvwxyz", 1, 32)) {
        err_set(&err, ERR_INPUT, "part is missing");
        err_hint(&err, "part=NAME, the same for all pieces of one upload");
    } else if (file_mkdirs(folder, 0700, &err) == 0) {
        a->dir = arena_printf(call->arena, "%s/%s", folder, a->hash);
        a->part = part ? arena_printf(call->arena, "%s/.%s.%s", folder, a->hash, part) : NULL;
        return true;
    }
    call_problem(call, &err, NULL);
    return false;
}

static void answer_dir(struct call *call, const struct archive *a, unsigned status)
{
    struct text_node *tree = text_map(call->arena, NULL, NULL);
    text_str(call->arena, tree, "archive", arena_printf(call->arena, "sha256:%s", a->hash));
    text_str(call->arena, tree, "dir", a->dir);
    call_answer(call, status, tree);
}

void archive_get(struct call *call)
{
    struct archive a;
    struct err err;
    if (!find_archive(call, false, &a))
        return;
    if (file_is_dir(a.dir)) {
        answer_dir(call, &a, 200);
        return;
    }
    err_set(&err, ERR_NOT_FOUND, "no archive of this hash is kept here");
    call_problem(call, &err, NULL);
}

/* ---- pieces ---- */

static int append(const struct archive *a, uint64_t offset, const char *data, size_t len,
                  struct err *err)
{
    struct stat st;
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (offset ? 0 : O_TRUNC);
    AUTO_CLOSE int fd = open(a->part, flags, 0600);
    if (fd < 0 || fstat(fd, &st) != 0)
        return err_sys(err, "%s", a->part);
    if ((uint64_t)st.st_size != offset) {
        err_set(err, ERR_CONFLICT, "offset is %llu, and %llu bytes are here",
                (unsigned long long)offset, (unsigned long long)st.st_size);
        return err_hint(err, "begin again with offset=0");
    }
    if (offset + len > ARCHIVE_MAX)
        return err_set(err, ERR_TOO_LARGE, "an archive has at most 512 MiB");
    return file_write_all(fd, data, len) == 0 ? 0 : err_sys(err, "%s", a->part);
}

void archive_put(struct call *call)
{
    struct archive a;
    struct err err;
    uint64_t offset = 0;
    size_t len;
    const char *data = http_body(call->request, &len);
    if (!find_archive(call, true, &a))
        return;
    if (!call_u64(call, "offset", 0, ARCHIVE_MAX, &offset, &err) ||
        append(&a, offset, data, len, &err) < 0) {
        call_problem(call, &err, NULL);
        return;
    }
    struct text_node *tree = text_map(call->arena, NULL, NULL);
    text_int(call->arena, tree, "size", (int64_t)(offset + len));
    call_answer(call, 200, tree);
}

/* ---- unpacking ---- */

struct unpacking {
    uv_process_t process;
    uv_timer_t deadline;
    struct call *call;
    struct archive archive;
    unsigned open; /* handles */
};

static void on_closed(uv_handle_t *handle)
{
    struct unpacking *u = handle->data;
    if (--u->open == 0)
        free(u);
}

static void on_unpacked(uv_process_t *process, int64_t status, int signal)
{
    struct unpacking *u = process->data;
    struct err err;
    uv_close((uv_handle_t *)&u->deadline, on_closed);
    uv_close((uv_handle_t *)&u->process, on_closed);
    if (status == 0 && signal == 0) {
        answer_dir(u->call, &u->archive, 201);
        return;
    }
    if (status == 3)
        err_set(&err, ERR_INPUT, "the bytes that came are not those of this hash");
    else if (signal)
        err_set(&err, ERR_TOO_LARGE, "unpacking took more than two minutes");
    else
        err_set(&err, ERR_INPUT, "this is no gzipped tar, or there is no room for it");
    call_problem(u->call, &err, NULL);
}

static void on_late(uv_timer_t *timer)
{
    struct unpacking *u = timer->data;
    uv_process_kill(&u->process, SIGKILL);
}

static void unpack(struct call *call, const struct archive *a)
{
    struct unpacking *u = mem_new(sizeof *u);
    char *args[] = { (char *)"sh",    (char *)"-c",    (char *)script, (char *)"sh",
                     (char *)a->part, (char *)a->hash, (char *)a->dir, NULL };
    uv_process_options_t options = { .file = "/bin/sh", .args = args, .exit_cb = on_unpacked };
    uv_loop_t *loop = call->api->config.loop;
    struct err err;
    *u = (struct unpacking){ .call = call, .archive = *a, .open = 2 };
    u->process.data = u->deadline.data = u;
    uv_timer_init(loop, &u->deadline);
    int rc = uv_spawn(loop, &u->process, &options);
    if (rc == 0) {
        call_keep(call);
        uv_timer_start(&u->deadline, on_late, UNPACK_MS, 0);
        return;
    }
    err_set(&err, ERR_SYSTEM, "/bin/sh: %s", uv_strerror(rc));
    uv_close((uv_handle_t *)&u->deadline, on_closed);
    uv_close((uv_handle_t *)&u->process, on_closed);
    call_problem(call, &err, NULL);
}

void archive_unpack(struct call *call)
{
    struct archive a;
    if (!find_archive(call, true, &a))
        return;
    if (file_is_dir(a.dir)) {
        unlink(a.part);
        answer_dir(call, &a, 200);
        return;
    }
    unpack(call, &a);
}
