/* Code that a submitter on another machine brings along: a gzipped tar under the SHA-256 of its
 * bytes, put in pieces, then read through by a child that may do nothing else. It is kept packed;
 * jobs name it (inputs.code.archive), and each agent unpacks it for itself, when its bytes still
 * are those of its name. */
#include "api/kept_code.h"

#include "base/file.h"
#include "base/mem.h"
#include "job/job.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#define HASH_LEN    64
#define ARCHIVE_MAX (512ull << 20)
#define CHECK_MS    120000
#define SMALL       (64ull << 20) /* what any archive may hold */
#define RATIO       100           /* and so many times its own size */
#define TEXT_ROOM   512
#define AT_ONCE     4 /* checks of one user */

static bool all_of(const char *text, const char *chars, size_t least, size_t most)
{
    if (!text)
        return false;
    size_t n = strlen(text);
    return n >= least && n <= most && strspn(text, chars) == n;
}

/* Answers the problem itself. */
static bool find_archive(struct call *call, bool to_put, struct kept_code *k)
{
    struct err err;
    const char *part = to_put ? http_query(call->request, "part", 0) : NULL;
    const char *hash = call->param[0];
    if (!all_of(hash, "0123456789abcdef", HASH_LEN, HASH_LEN)) {
        err_set(&err, ERR_INPUT, "\"%.80s\" is no SHA-256", hash);
        err_hint(&err, "64 hexadecimal digits, of the gzipped tar");
    } else if (to_put && !all_of(part, "0123456789abcdefghijklmnopqrstuvwxyz", 1, 32)) {
        err_set(&err, ERR_INPUT, "part is missing");
        err_hint(&err, "part=NAME, the same for all pieces of one upload");
    } else if (kept_code_at(call, hash, part, k, &err) == 0) {
        return true;
    }
    call_problem(call, &err, NULL);
    return false;
}

static void answer_kept(struct call *call, const struct kept_code *k, unsigned status)
{
    struct text_node *tree = text_map(call->arena, NULL, NULL);
    text_str(call->arena, tree, "archive", arena_printf(call->arena, CODE_ARCHIVE "%s", k->hash));
    call_answer(call, status, tree);
}

void archive_get(struct call *call)
{
    struct kept_code k;
    struct err err;
    if (!find_archive(call, false, &k))
        return;
    if (kept_code_is_there(&k)) {
        answer_kept(call, &k, 200);
        return;
    }
    err_set(&err, ERR_NOT_FOUND, "no archive of this hash is kept here");
    call_problem(call, &err, NULL);
}

/* ---- pieces ---- */

static int append(struct call *call, const struct kept_code *k, uint64_t offset, const char *data,
                  size_t len, struct err *err)
{
    struct stat st;
    if (offset + len > ARCHIVE_MAX)
        return err_set(err, ERR_TOO_LARGE, "an archive has at most 512 MiB");
    if (offset == 0)
        (void)unlink(k->part);
    if (kept_code_make_room(call, k, len, err) != 0)
        return -1;
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
    AUTO_CLOSE int fd = open(k->part, flags, 0600);
    if (fd < 0 || fstat(fd, &st) != 0)
        return err_sys(err, "%s", k->part);
    if ((uint64_t)st.st_size != offset) {
        err_set(err, ERR_CONFLICT, "offset is %" PRIu64 ", and %llu bytes are here", offset,
                (unsigned long long)st.st_size);
        return err_hint(err, "begin again with offset=0");
    }
    return file_write_all(fd, data, len) == 0 ? 0 : err_sys(err, "%s", k->part);
}

void archive_put(struct call *call)
{
    struct kept_code k;
    struct err err;
    uint64_t offset = 0;
    size_t len;
    const char *data = http_body(call->request, &len);
    if (!find_archive(call, true, &k))
        return;
    if (!call_u64(call, "offset", 0, ARCHIVE_MAX, &offset, &err) ||
        append(call, &k, offset, data, len, &err) < 0) {
        call_problem(call, &err, NULL);
        return;
    }
    struct text_node *tree = text_map(call->arena, NULL, NULL);
    text_int(call->arena, tree, "size", (int64_t)(offset + len));
    call_answer(call, 200, tree);
}

/* ---- checking ---- */

/* What main/code_main.h says: nothing, or the word of an error, a space and its text. */
struct checking {
    struct checking *next; /* of the api's */
    uv_process_t process;
    uv_timer_t deadline;
    uv_pipe_t out;
    struct call *call;
    struct kept_code code;
    char text[TEXT_ROOM + 1];
    size_t len;
    int64_t status;
    int signal;
    unsigned open; /* handles */
    bool half;     /* its output has ended, or it has: the other is to come */
};

static void on_closed(uv_handle_t *handle)
{
    struct checking *c = handle->data;
    if (--c->open == 0)
        free(c);
}

static void close_all(struct checking *c)
{
    struct checking **at = &c->call->api->checks;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    uv_close((uv_handle_t *)&c->deadline, on_closed);
    uv_close((uv_handle_t *)&c->process, on_closed);
    uv_close((uv_handle_t *)&c->out, on_closed);
}

static bool has_enough(const struct call *call, const struct kept_code *k)
{
    unsigned n = 0;
    for (const struct checking *c = call->api->checks; c; c = c->next)
        n += strcmp(c->code.owned, k->owned) == 0;
    return n >= AT_ONCE;
}

static int judge(struct checking *c, struct err *err)
{
    char *text = strchr(c->text, ' ');
    if (c->signal)
        return err_set(err, ERR_TOO_LARGE, "reading the archive took more than two minutes");
    if (c->status == 0)
        return 0;
    if (!text)
        return err_set(err, ERR_SYSTEM, "the archive could not be checked");
    *text = '\0';
    enum err_code code = err_from_word(c->text);
    /* what the sender has to mend */
    return err_set(err, code == ERR_CONFLICT ? ERR_INPUT : code, "%s", text + 1);
}

static void end_check(struct checking *c)
{
    struct err err;
    if (!c->half) {
        c->half = true;
        return;
    }
    close_all(c);
    if (judge(c, &err) == 0 && kept_code_take(&c->code, &err) == 0) {
        answer_kept(c->call, &c->code, 201);
        return;
    }
    (void)unlink(c->code.part);
    call_problem(c->call, &err, NULL);
}

static void on_exit_of(uv_process_t *process, int64_t status, int signal)
{
    struct checking *c = process->data;
    c->status = status;
    c->signal = signal;
    end_check(c);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *room)
{
    struct checking *c = handle->data;
    (void)suggested;
    *room = uv_buf_init(c->text + c->len, (unsigned)(TEXT_ROOM - c->len));
}

static void on_text(uv_stream_t *stream, ssize_t n, const uv_buf_t *room)
{
    struct checking *c = stream->data;
    (void)room;
    if (n >= 0) {
        c->len += (size_t)n;
        return;
    }
    uv_read_stop(stream);
    end_check(c);
}

static void on_late(uv_timer_t *timer)
{
    struct checking *c = timer->data;
    uv_process_kill(&c->process, SIGKILL);
}

static int spawn_check(struct checking *c, int archive, uint64_t size)
{
    const struct api_config *config = &c->call->api->config;
    uint64_t most = SMALL + RATIO * size;
    char bytes[24], files[24];
    snprintf(bytes, sizeof bytes, "%" PRIu64, most < config->code_size ? most : config->code_size);
    snprintf(files, sizeof files, "%" PRIu64, config->code_files);
    char *args[] = { (char *)"check-code", (char *)c->code.hash, bytes, files, NULL };
    uv_stdio_container_t ends[] = { { .flags = UV_INHERIT_FD, .data.fd = archive },
                                    { .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
                                      .data.stream = (uv_stream_t *)&c->out },
                                    { .flags = UV_IGNORE } };
    char *nothing[] = { NULL };
    uv_process_options_t options = { .file = config->program,
                                     .args = args,
                                     .env = nothing,
                                     .stdio = ends,
                                     .stdio_count = (int)ARRAY_LEN(ends),
                                     .exit_cb = on_exit_of };
    c->open = 3;
    c->process.data = c->deadline.data = c->out.data = c;
    uv_timer_init(config->loop, &c->deadline);
    uv_pipe_init(config->loop, &c->out, 0);
    return uv_spawn(config->loop, &c->process, &options);
}

static void check(struct call *call, const struct kept_code *k)
{
    struct stat st;
    struct err err;
    if (has_enough(call, k)) {
        err_set(&err, ERR_BUSY, "%d archives that you sent are looked through now", AT_ONCE);
        err_hint(&err, "ask again when one of them is done");
        call_problem(call, &err, NULL);
        return;
    }
    AUTO_CLOSE int archive = open(k->part, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (archive < 0 || fstat(archive, &st) != 0) {
        err_set(&err, ERR_INPUT, "nothing of this archive came: put its pieces first");
        call_problem(call, &err, NULL);
        return;
    }
    struct checking *c = mem_new(sizeof *c);
    *c = (struct checking){ .call = call, .code = *k, .next = call->api->checks };
    call->api->checks = c;
    int rc = spawn_check(c, archive, (uint64_t)st.st_size);
    if (rc == 0) {
        call_keep(call);
        uv_timer_start(&c->deadline, on_late, CHECK_MS, 0);
        uv_read_start((uv_stream_t *)&c->out, on_room, on_text);
        return;
    }
    close_all(c);
    err_set(&err, ERR_SYSTEM, "%s: %s", call->api->config.program, uv_strerror(rc));
    call_problem(call, &err, NULL);
}

void archive_unpack(struct call *call)
{
    struct kept_code k;
    if (!find_archive(call, true, &k))
        return;
    if (kept_code_is_there(&k)) {
        unlink(k.part);
        answer_kept(call, &k, 200);
        return;
    }
    check(call, &k);
}
