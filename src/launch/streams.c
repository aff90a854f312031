/* The streams of the ranks. Each stream takes one of six ways, decided from the settings alone:
 * inherited, to nowhere, straight into a file, teed (file, and console with prefix), passed through
 * (for the tail), or only kept for the tail. Only the last three have a pipe and cost anything.
 *
 * What is read from a pipe is handed on before more is read; while the console takes nothing, no
 * pipe that ends there is read, so that the program waits and nothing grows here. A passed stream
 * is cut at line ends; an unfinished line is held a moment so that lines stay whole, then shown as
 * it is, so that prompts and progress bars show. */
#include "launch/streams.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "launch/console.h"
#include "launch/flag_lists.h"
#include "launch/line_filter.h"
#include "launch/stream_files.h"
#include "launch/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#define SCRATCH        (64u << 10)
#define HOLD_MAX       4096u /* of a passed stream */
#define HOLD_MS        50u
#define READS_PER_TURN 8
#define TEE_PIPE_SIZE  (1 << 20)   /* what a program can write while others have their turn */
#define TEE_READ       (16u << 10) /* becomes lines with prefixes: far more, when they are empty */
#define LINES_MAX      (64u << 20) /* lines made of one read: many empty ones with a long prefix */
#define LINES_SPARE    (256u << 10)
#define FLUSH_IDLE_MS  30000u

enum stream_target { WAY_INHERIT, WAY_NOWHERE, WAY_FILE, WAY_TEE, WAY_PASS, WAY_KEEP };
enum { OUT, ERR, KINDS };

static const uint8_t bits[KINDS] = { 1, 2 };
static const char *const file_names[KINDS] = { "stdout.log", "stderr.log" };
static const char *const common_names[KINDS] = { "filtered_stdout.log", "filtered_stderr.log" };

/* A pipe we read. */
struct stream {
    struct streams *streams;
    struct rank *rank;
    int kind, fd, file; /* file: -1 for none */
    enum stream_target way;
    bool waits; /* for the console */
    int handles;
    uv_poll_t poll;
    uv_timer_t timer;
    struct line_filter lines; /* WAY_TEE */
    size_t held;
    char hold[HOLD_MAX]; /* WAY_PASS */
};

struct rank {
    struct stream *piped[KINDS];
    int given[KINDS]; /* the rank's ends, -1 for none of ours */
    struct tail tail;
    char *error_file, *err_path; /* err_path: its stderr is only there */
    off_t err_start;             /* where this round begins in it */
};

struct streams {
    uv_loop_t *loop;
    const struct settings *settings;
    struct stream_files files;
    struct console *consoles[KINDS]; /* NULL until a stream needs it */
    int common[KINDS];               /* of the duplicate filters, -1 */
    uint32_t first_rank;
    size_t n;
    struct rank *ranks;
    struct buf lines, copy;
    int handles; /* streams and consoles that libuv still knows */
    bool doomed;
    char *scratch;
};

/* ---- which way ---- */

static bool is_shown(const struct settings *set, uint32_t local_rank)
{
    for (size_t i = 0; set->shown && i < set->n_shown; i++)
        if (set->shown[i] == local_rank)
            return true;
    return !set->shown || set->n_shown == 0;
}

static enum stream_target way_of(const struct streams *streams, uint32_t local_rank, int kind)
{
    const struct settings *set = streams->settings;
    bool shown = is_shown(set, local_rank);
    uint8_t tee = std_choice_of(&set->tee, local_rank) & bits[kind];
    uint8_t file = tee | (std_choice_of(&set->redirects, local_rank) & bits[kind]);
    if (file && !streams->files.none)
        return tee && shown ? WAY_TEE : WAY_FILE;
    if (kind == ERR && !set->no_stderr_tail)
        return shown ? WAY_PASS : WAY_KEEP;
    return shown ? WAY_INHERIT : WAY_NOWHERE;
}

/* ---- making and freeing ---- */

struct streams *streams_create(uv_loop_t *loop, const struct settings *set, struct err *err)
{
    struct stat st;
    if (set->log_dir && strcmp(set->log_dir, "/dev/null") != 0 && stat(set->log_dir, &st) == 0 &&
        !S_ISDIR(st.st_mode)) {
        err_set(err, ERR_INPUT, "--log-dir %s is not a directory", set->log_dir);
        return NULL;
    }
    struct streams *streams = mem_new(sizeof *streams);
    streams->loop = loop;
    streams->settings = set;
    streams->n = set->ranks;
    streams->ranks = mem_new(streams->n * sizeof *streams->ranks);
    streams->scratch = mem_new(SCRATCH);
    for (size_t i = 0; i < streams->n; i++)
        streams->ranks[i].given[OUT] = streams->ranks[i].given[ERR] = -1;
    streams->common[OUT] = streams->common[ERR] = -1;
    buf_init(&streams->lines, LINES_MAX);
    buf_init(&streams->copy, LINES_MAX);
    stream_files_init(&streams->files, set->log_dir, set->run_id ? set->run_id : "none",
                      set->ranks);
    return streams;
}

static void free_if_done(struct streams *streams)
{
    if (!streams->doomed || streams->handles > 0)
        return;
    buf_fini(&streams->lines);
    buf_fini(&streams->copy);
    free(streams->ranks);
    free(streams->scratch);
    free(streams);
}

static void on_stream_closed(uv_handle_t *handle)
{
    struct stream *stream = handle->data;
    if (--stream->handles > 0)
        return;
    struct streams *streams = stream->streams;
    free(stream);
    streams->handles--;
    free_if_done(streams);
}

static void close_stream(struct stream *stream)
{
    stream->rank->piped[stream->kind] = NULL;
    if (stream->way == WAY_TEE)
        line_filter_fini(&stream->lines);
    uv_close((uv_handle_t *)&stream->poll, on_stream_closed);
    uv_close((uv_handle_t *)&stream->timer, on_stream_closed);
    close(stream->fd);
    if (stream->file >= 0)
        close(stream->file);
}

static void close_common(struct streams *streams)
{
    for (int kind = 0; kind < KINDS; kind++) {
        if (streams->common[kind] >= 0)
            close(streams->common[kind]);
        streams->common[kind] = -1;
    }
}

static void forget_round(struct rank *rank)
{
    tail_fini(&rank->tail);
    free(TAKE(rank->error_file));
    free(TAKE(rank->err_path));
}

static void flush_consoles(struct streams *streams)
{
    for (int kind = 0; kind < KINDS; kind++)
        if (streams->consoles[kind])
            console_flush(streams->consoles[kind], FLUSH_IDLE_MS);
}

void streams_destroy(struct streams *streams)
{
    if (!streams)
        return;
    for (uint32_t i = 0; i < streams->n; i++) {
        streams_started(streams, i);
        streams_finish(streams, i);
        forget_round(&streams->ranks[i]);
    }
    flush_consoles(streams);
    for (int kind = 0; kind < KINDS; kind++)
        if (streams->consoles[kind])
            console_close(TAKE(streams->consoles[kind]));
    close_common(streams);
    stream_files_fini(&streams->files);
    streams->doomed = true;
    free_if_done(streams);
}

/* ---- handing on ---- */

static void put_on_console(struct stream *stream, const char *bytes, size_t len)
{
    struct console *console = stream->streams->consoles[stream->kind];
    if (stream->way == WAY_TEE && len > 0 && console_mid_line(console))
        console_put(console, "\n", 1); /* another rank's progress bar */
    console_put(console, bytes, len);
}

static void put_in_file(int fd, const char *bytes, size_t len)
{
    if (fd >= 0 && len > 0 && file_write_all(fd, bytes, len) != 0)
        log_warn("streams.lost", "output for a log file is lost: %s", strerror(errno));
}

static void put_lines(struct stream *stream)
{
    struct streams *streams = stream->streams;
    put_on_console(stream, buf_str(&streams->lines), streams->lines.len);
    put_in_file(streams->common[stream->kind], buf_str(&streams->copy), streams->copy.len);
    if (streams->lines.cap > LINES_SPARE) {
        buf_fini(&streams->lines);
        buf_init(&streams->lines, LINES_MAX);
    }
    buf_clear(&streams->lines);
    buf_clear(&streams->copy);
}

static void show_held(struct stream *stream)
{
    put_on_console(stream, stream->hold, stream->held);
    stream->held = 0;
}

static void on_held_long_enough(uv_timer_t *timer)
{
    struct stream *stream = timer->data;
    if (stream->held > 0)
        show_held(stream);
}

/* What was held lies in front of the new bytes. */
static void pass(struct stream *stream, const char *bytes, size_t len)
{
    const char *end = memrchr(bytes, '\n', len);
    size_t lines = end ? (size_t)(end - bytes) + 1 : 0;
    if (len - lines > HOLD_MAX)
        lines = len;
    if (lines > 0) {
        put_on_console(stream, bytes, lines);
        uv_timer_stop(&stream->timer);
    }
    stream->held = len - lines;
    memcpy(stream->hold, bytes + lines, stream->held);
    if (stream->held > 0 && !uv_is_active((uv_handle_t *)&stream->timer))
        uv_timer_start(&stream->timer, on_held_long_enough, HOLD_MS, 0);
}

static void keep_tail(struct stream *stream, const char *bytes, size_t len)
{
    if (stream->kind == ERR && !stream->streams->settings->no_stderr_tail)
        tail_add(&stream->rank->tail, bytes, len);
}

/* len new bytes lie in scratch behind what was held. */
static void take(struct stream *stream, size_t len)
{
    struct streams *streams = stream->streams;
    const char *fresh = streams->scratch + stream->held;
    keep_tail(stream, fresh, len);
    put_in_file(stream->file, fresh, len);
    if (stream->way == WAY_TEE) {
        line_filter_take(&stream->lines, fresh, len, &streams->lines, &streams->copy);
        put_lines(stream);
    } else if (stream->way == WAY_PASS) {
        pass(stream, streams->scratch, stream->held + len);
    }
}

/* Nothing more will come. */
static void end_stream(struct stream *stream)
{
    if (stream->way == WAY_TEE) {
        line_filter_end(&stream->lines, &stream->streams->lines, &stream->streams->copy);
        put_lines(stream);
    } else if (stream->held > 0) {
        show_held(stream);
    }
    close_stream(stream);
}

/* ---- reading ---- */

enum reading { READ_MORE, READ_EMPTY, READ_END };

static enum reading read_once(struct stream *stream, size_t most, size_t *got)
{
    char *scratch = stream->streams->scratch;
    size_t room = SCRATCH - stream->held;
    memcpy(scratch, stream->hold, stream->held);
    ssize_t n = read(stream->fd, scratch + stream->held, room < most ? room : most);
    *got = n > 0 ? (size_t)n : 0;
    if (n < 0 && errno == EINTR)
        return READ_MORE;
    if (n < 0 && errno == EAGAIN)
        return READ_EMPTY;
    if (n <= 0)
        return READ_END;
    take(stream, (size_t)n);
    return READ_MORE;
}

static bool must_wait(const struct stream *stream)
{
    const struct console *console = stream->streams->consoles[stream->kind];
    return stream->way != WAY_KEEP && console && console_blocked(console);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)events;
    struct stream *stream = poll->data;
    enum reading last = status < 0 ? READ_END : READ_MORE;
    size_t got;
    for (int i = 0; i < READS_PER_TURN && last == READ_MORE; i++) {
        if (must_wait(stream)) {
            stream->waits = true;
            uv_poll_stop(&stream->poll);
            return;
        }
        last = read_once(stream, stream->way == WAY_TEE ? TEE_READ : SCRATCH, &got);
    }
    if (last == READ_END)
        end_stream(stream);
}

static void on_drained(struct streams *streams, int kind)
{
    for (size_t i = 0; i < streams->n; i++) {
        struct stream *stream = streams->ranks[i].piped[kind];
        if (!stream || !stream->waits)
            continue;
        stream->waits = false;
        uv_poll_start(&stream->poll, UV_READABLE, on_readable);
    }
}

static void on_out_drained(void *arg)
{
    on_drained(arg, OUT);
}

static void on_err_drained(void *arg)
{
    on_drained(arg, ERR);
}

static void on_console_freed(void *arg)
{
    struct streams *streams = arg;
    streams->handles--;
    free_if_done(streams);
}

static void need_console(struct streams *streams, int kind)
{
    if (streams->consoles[kind])
        return;
    struct console_sink sink = { .drained = kind == OUT ? on_out_drained : on_err_drained,
                                 .freed = on_console_freed,
                                 .arg = streams };
    streams->consoles[kind] =
        console_create(streams->loop, kind == OUT ? STDOUT_FILENO : STDERR_FILENO, sink);
    streams->handles++;
}

/* ---- opening ---- */

/* "[default0]:", or as TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE says; malloc'ed. */
static char *prefix_of(const struct streams *streams, uint32_t local_rank)
{
    const char *form = getenv("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE");
    const char *role = streams->settings->role ? streams->settings->role : "default";
    if (!form || !form[0])
        return mem_printf("[%s%u]:", role, local_rank);
    char local[16], global[16];
    snprintf(local, sizeof local, "%u", local_rank);
    snprintf(global, sizeof global, "%u", streams->first_rank + local_rank);
    const struct {
        const char *name, *value;
    } words[] = { { "${role_name}", role },
                  { "${local_rank}", local },
                  { "${rank}", global },
                  { "$role_name", role },
                  { "$local_rank", local },
                  { "$rank", global },
                  { "$$", "$" } };
    struct buf out = BUF_INIT(4096);
    while (*form) {
        size_t i = 0;
        while (i < ARRAY_LEN(words) && strncmp(form, words[i].name, strlen(words[i].name)) != 0)
            i++;
        if (i < ARRAY_LEN(words))
            buf_puts(&out, words[i].value);
        else
            buf_putc(&out, *form);
        form += i < ARRAY_LEN(words) ? strlen(words[i].name) : 1;
    }
    char *text = mem_strdup(buf_str(&out));
    buf_fini(&out);
    return text;
}

static int open_pipe(struct streams *streams, uint32_t local_rank, int kind, enum stream_target way,
                     struct err *err)
{
    struct rank *rank = &streams->ranks[local_rank];
    const struct settings *set = streams->settings;
    AUTO_CLOSE int file = -1;
    int ends[2];
    if (way == WAY_TEE) {
        AUTO_FREE char *path = stream_files_path(&streams->files, local_rank, file_names[kind]);
        file = stream_files_open(path, err);
        if (file < 0)
            return -1;
    }
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, "a pipe for rank %u of this node", local_rank);
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    if (way == WAY_TEE) /* an unprivileged user may have used up his share */
        (void)fcntl(ends[0], F_SETPIPE_SZ, TEE_PIPE_SIZE);
    struct stream *stream = mem_new(sizeof *stream);
    *stream = (struct stream){ .streams = streams,
                               .rank = rank,
                               .kind = kind,
                               .fd = ends[0],
                               .file = mem_give_fd(&file),
                               .way = way,
                               .handles = 2 };
    if (way == WAY_TEE) {
        AUTO_FREE char *prefix = prefix_of(streams, local_rank);
        line_filter_init(&stream->lines, prefix,
                         kind == OUT ? &set->out_filters : &set->err_filters);
    }
    if (way != WAY_KEEP)
        need_console(streams, kind);
    stream->poll.data = stream->timer.data = stream;
    if (uv_poll_init(streams->loop, &stream->poll, ends[0]) != 0)
        BUG("a pipe cannot be polled");
    uv_timer_init(streams->loop, &stream->timer);
    uv_poll_start(&stream->poll, UV_READABLE, on_readable);
    streams->handles++;
    rank->piped[kind] = stream;
    rank->given[kind] = ends[1];
    return 0;
}

static int open_file(struct streams *streams, uint32_t local_rank, int kind, struct err *err)
{
    struct rank *rank = &streams->ranks[local_rank];
    AUTO_FREE char *path = stream_files_path(&streams->files, local_rank, file_names[kind]);
    struct stat st;
    rank->given[kind] = stream_files_open(path, err);
    if (rank->given[kind] < 0)
        return -1;
    if (kind == ERR) {
        rank->err_start = fstat(rank->given[kind], &st) == 0 ? st.st_size : 0;
        rank->err_path = TAKE(path);
    }
    return 0;
}

static int open_stream(struct streams *streams, uint32_t local_rank, int kind, int *end,
                       struct err *err)
{
    enum stream_target way = way_of(streams, local_rank, kind);
    int *given = &streams->ranks[local_rank].given[kind];
    *end = kind == OUT ? STDOUT_FILENO : STDERR_FILENO;
    if (way == WAY_INHERIT)
        return 0;
    if (way == WAY_NOWHERE) {
        *given = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (*given < 0)
            return err_sys(err, "/dev/null");
    } else if ((way == WAY_FILE ? open_file(streams, local_rank, kind, err)
                                : open_pipe(streams, local_rank, kind, way, err)) != 0) {
        return -1;
    }
    *end = *given;
    return 0;
}

/* torchrun makes the files of the duplicate filters also when no line matches. */
static int open_common(struct streams *streams, struct err *err)
{
    const struct words *filters[KINDS] = { &streams->settings->out_filters,
                                           &streams->settings->err_filters };
    close_common(streams);
    for (int kind = 0; kind < KINDS && !streams->files.none; kind++) {
        if (filters[kind]->n == 0)
            continue;
        streams->common[kind] = stream_files_open_common(&streams->files, common_names[kind], err);
        if (streams->common[kind] < 0)
            return -1;
    }
    return 0;
}

void streams_round(struct streams *streams, uint32_t first_rank)
{
    streams->first_rank = first_rank;
}

static int open_all(struct streams *streams, uint32_t attempt, uint32_t local_rank,
                    struct rank_ends *ends, struct err *err)
{
    struct rank *rank = &streams->ranks[local_rank];
    bool fresh = !streams->files.attempt || streams->files.number != attempt;
    if (stream_files_attempt(&streams->files, attempt, err) != 0 ||
        (fresh && open_common(streams, err) != 0) ||
        stream_files_rank(&streams->files, local_rank, err) != 0)
        return -1;
    rank->error_file = streams->files.none
                           ? mem_strdup("")
                           : stream_files_path(&streams->files, local_rank, "error.json");
    if (open_stream(streams, local_rank, OUT, &ends->out, err) != 0 ||
        open_stream(streams, local_rank, ERR, &ends->err, err) != 0)
        return -1;
    ends->error_file = rank->error_file;
    return 0;
}

int streams_open(struct streams *streams, uint32_t attempt, uint32_t local_rank,
                 struct rank_ends *ends, struct err *err)
{
    struct rank_ends made;
    if (local_rank >= streams->n)
        BUG("rank %u of %zu", local_rank, streams->n);
    streams_started(streams, local_rank);
    streams_finish(streams, local_rank);
    forget_round(&streams->ranks[local_rank]);
    if (open_all(streams, attempt, local_rank, &made, err) != 0) {
        streams_started(streams, local_rank);
        streams_finish(streams, local_rank);
        return -1;
    }
    *ends = made;
    return 0;
}

/* ---- of a rank that runs or ended ---- */

void streams_started(struct streams *streams, uint32_t local_rank)
{
    struct rank *rank = &streams->ranks[local_rank];
    for (int kind = 0; kind < KINDS; kind++) {
        if (rank->given[kind] >= 0)
            close(rank->given[kind]);
        rank->given[kind] = -1;
    }
}

void streams_finish(struct streams *streams, uint32_t local_rank)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct stream *stream = streams->ranks[local_rank].piped[kind];
        int there = 0;
        if (!stream)
            continue;
        /* What the rank wrote is there now; what children of it write on has no end. */
        (void)ioctl(stream->fd, FIONREAD, &there);
        for (size_t left = (size_t)there, got; left > 0; left -= got)
            if (read_once(stream, left, &got) != READ_MORE)
                break;
        end_stream(stream);
    }
}

static const char *tail_of_file(const struct rank *rank, char out[STREAMS_TAIL_MAX])
{
    char raw[TAIL_KEPT];
    struct stat st;
    AUTO_CLOSE int fd = open(rank->err_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size <= rank->err_start)
        return memset(out, 0, 1);
    bool cut = st.st_size - rank->err_start > (off_t)sizeof raw;
    ssize_t n = pread(fd, raw, sizeof raw, cut ? st.st_size - (off_t)sizeof raw : rank->err_start);
    return tail_clean(raw, n > 0 ? (size_t)n : 0, cut, out, STREAMS_TAIL_MAX);
}

const char *streams_tail(struct streams *streams, uint32_t local_rank, char out[STREAMS_TAIL_MAX])
{
    const struct rank *rank = &streams->ranks[local_rank];
    if (rank->err_path)
        return tail_of_file(rank, out);
    return tail_clean(rank->tail.bytes ? rank->tail.bytes : "", rank->tail.len, rank->tail.cut, out,
                      STREAMS_TAIL_MAX);
}

void streams_flush(struct streams *streams)
{
    flush_consoles(streams);
    struct console *console = streams->consoles[ERR];
    if (!console || !console_mid_line(console))
        return;
    console_put(console, "\n", 1);
    console_flush(console, FLUSH_IDLE_MS);
}

void streams_say(struct streams *streams, const char *line, size_t len)
{
    struct console *console = streams->consoles[ERR];
    if (!console) {
        fwrite(line, 1, len, stderr);
        return;
    }
    if (console_mid_line(console))
        console_put(console, "\n", 1); /* of a rank, which is not done with it */
    console_put(console, line, len);
}
