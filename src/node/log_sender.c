/* The node's segments are the buffer: a piece is read when it is sent, into one scratch buffer for
 * all logs, so nothing of a log waits in memory and no task ever waits for the server. The logs
 * take turns, a piece each, so that a loud one does not starve the others; facts wait behind at
 * most what the uplink holds.
 *
 * Nothing is remembered across connections but how far each log goes: the server is asked how far
 * its copy reaches, and what it says is where sending goes on. What lies between two segments was
 * dropped over the cap; the next piece says from where on. */
#include "node/log_sender.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "wire/log_reader.h"
#include "wire/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define PIECES_PER_TURN 8u /* then the tasks' pipes have their turn */
#define AGAIN_MS        100u
#define OPEN_MAX        64u /* segments; of more, those that are sent to their end are closed */

_Static_assert(LOG_PIECE_MAX >= RECORD_HEAD + RECORD_MAX, "a record fits into a piece");

enum source_state { SOURCE_UNKNOWN, SOURCE_ASKED, SOURCE_SENDS };

struct source {
    struct task_ref task;
    uint32_t attempt;
    char *role, *dir;
    uint64_t head, tail;
    enum source_state state; /* on this connection */
    bool closed;             /* it does not grow any more */
    uint64_t end, sent, kept;
    uint64_t segment; /* start of the open one */
    int fd;           /* -1: none */
};

struct log_sender {
    struct uplink *link;
    struct log_sender_sink sink;
    VEC(struct source) sources;
    size_t turn; /* whose it is */
    size_t open;
    bool up, busy; /* busy: done is to be told */
    uv_timer_t more;
    unsigned char scratch[LOG_PIECE_MAX];
};

struct log_sender *log_sender_create(struct uplink *link, struct log_sender_sink sink)
{
    struct log_sender *s = mem_new(sizeof *s);
    s->link = link;
    s->sink = sink;
    uv_timer_init(uplink_loop(link), &s->more);
    s->more.data = s;
    return s;
}

static void close_segment(struct log_sender *s, struct source *source)
{
    if (source->fd < 0)
        return;
    close(source->fd);
    source->fd = -1;
    s->open--;
}

static void forget(struct log_sender *s, size_t i)
{
    struct source *source = &s->sources.at[i];
    close_segment(s, source);
    free(source->role);
    free(source->dir);
    vec_remove(&s->sources, i);
}

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void log_sender_destroy(struct log_sender *s)
{
    if (!s)
        return;
    while (s->sources.n > 0)
        forget(s, s->sources.n - 1);
    vec_fini(&s->sources);
    uv_close((uv_handle_t *)&s->more, on_timer_closed);
}

bool log_sender_is_done(const struct log_sender *s)
{
    for (size_t i = 0; i < s->sources.n; i++)
        if (s->sources.at[i].kept < s->sources.at[i].end)
            return false;
    return true;
}

static void drop_finished(struct log_sender *s)
{
    for (size_t i = s->sources.n; i-- > 0;)
        if (s->sources.at[i].closed && s->sources.at[i].kept >= s->sources.at[i].end)
            forget(s, i);
    if (!s->busy || !log_sender_is_done(s))
        return;
    s->busy = false;
    s->sink.done(s->sink.arg);
}

/* ---- reading ---- */

/* Bytes of whole records in front. */
static size_t whole_records(const unsigned char *bytes, size_t len)
{
    struct record record;
    size_t whole = 0;
    while (record_get(bytes + whole, len - whole, &record) == 1 &&
           len - whole >= RECORD_HEAD + record.len)
        whole += RECORD_HEAD + record.len;
    return whole;
}

static size_t read_records(struct log_sender *s, const struct source *source)
{
    if (source->fd < 0)
        return 0;
    off_t at = (off_t)(source->sent - source->segment);
    ssize_t n = pread(source->fd, s->scratch, sizeof s->scratch, at);
    return n > 0 ? whole_records(s->scratch, (size_t)n) : 0;
}

static bool open_segment(struct log_sender *s, struct source *source, uint64_t start)
{
    char name[SEGMENT_NAME];
    AUTO_FREE char *path = mem_printf("%s/%s", source->dir, segment_name(name, start));
    close_segment(s, source);
    source->segment = start;
    source->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (source->fd < 0)
        return false;
    s->open++;
    return true;
}

/* The open segment has nothing more: opens the one that goes on, over a hole where there is one. */
static bool next_segment(struct log_sender *s, struct source *source)
{
    uint64_t at, next;
    segments_find(source->dir, source->sent, &at, &next);
    if (at != UINT64_MAX && (source->fd < 0 || at != source->segment))
        return open_segment(s, source, at);
    if (next == UINT64_MAX)
        return false;
    source->sent = next;
    return open_segment(s, source, next);
}

/* ---- sending ---- */

static struct wire_log_bytes message_of(const struct source *source)
{
    return (struct wire_log_bytes){ .task = source->task,
                                    .attempt = source->attempt,
                                    .role = source->role,
                                    .head = source->head,
                                    .tail = source->tail,
                                    .segment = source->segment,
                                    .from = source->sent,
                                    .offset = source->sent };
}

static void ask(struct log_sender *s, struct source *source)
{
    struct wire_log_bytes question = message_of(source);
    source->state = SOURCE_ASKED;
    question.offset = source->end;
    wire_put(uplink_out(s->link), 0, &question);
    uplink_flush(s->link);
}

/* What was written and cannot be found is no more: the others do not wait for it. */
static void give_up_rest(struct source *source)
{
    log_warn("log.unreadable", "dir=%s from=%" PRIu64 " to=%" PRIu64, source->dir, source->sent,
             source->end);
    source->end = source->sent;
}

/* false: there is no descriptor for it now. */
static bool send_piece(struct log_sender *s, struct source *source)
{
    uint64_t from = source->sent;
    size_t len;
    errno = 0;
    while ((len = read_records(s, source)) == 0) {
        if (next_segment(s, source))
            continue;
        source->sent = from;
        if (errno == EMFILE || errno == ENFILE)
            return false;
        give_up_rest(source);
        return true;
    }
    struct wire_log_bytes piece = message_of(source);
    piece.from = from;
    piece.at = s->scratch;
    piece.len = len;
    source->sent += len;
    if (source->sent > source->end)
        source->end = source->sent;
    wire_put(uplink_out(s->link), 0, &piece);
    uplink_flush(s->link);
    if (source->sent == source->end && s->open > OPEN_MAX)
        close_segment(s, source);
    return true;
}

static bool may_send(const struct source *source)
{
    return source->state == SOURCE_SENDS && source->sent < source->end &&
           source->sent - source->kept < LOG_WINDOW;
}

static struct source *next_in_turn(struct log_sender *s)
{
    for (size_t i = 0; i < s->sources.n; i++) {
        size_t at = (s->turn + i) % s->sources.n;
        if (!may_send(&s->sources.at[at]))
            continue;
        s->turn = at + 1;
        return &s->sources.at[at];
    }
    return NULL;
}

static void on_more(uv_timer_t *timer)
{
    log_sender_go_on(timer->data);
}

void log_sender_go_on(struct log_sender *s)
{
    struct source *source;
    unsigned pieces = 0;
    if (!s->up)
        return;
    while (uplink_has_room(s->link) && (source = next_in_turn(s))) {
        bool can = send_piece(s, source);
        if (can && ++pieces < PIECES_PER_TURN)
            continue;
        uv_timer_start(&s->more, on_more, can ? 0 : AGAIN_MS, 0);
        break;
    }
    drop_finished(s);
}

/* ---- news ---- */

static struct source *find(const struct log_sender *s, struct task_ref task, uint32_t attempt)
{
    for (size_t i = 0; i < s->sources.n; i++) {
        struct source *source = &s->sources.at[i];
        if (source->attempt == attempt && source->task.role == task.role &&
            source->task.index == task.index)
            return source;
    }
    return NULL;
}

static struct source *add(struct log_sender *s, const struct log_source *what)
{
    struct source *source = vec_add(&s->sources);
    *source = (struct source){ .task = what->task,
                               .attempt = what->attempt,
                               .role = mem_strdup(what->role),
                               .dir = mem_strdup(what->dir),
                               .head = what->head,
                               .tail = what->tail,
                               .fd = -1 };
    if (s->up)
        ask(s, source);
    return source;
}

void log_sender_grew(struct log_sender *s, const struct log_source *what, uint64_t end)
{
    struct source *source = find(s, what->task, what->attempt);
    if (end == 0)
        return;
    if (!source)
        source = add(s, what);
    if (end > source->end)
        source->end = end;
    s->busy = s->busy || source->kept < source->end;
    log_sender_go_on(s);
}

void log_sender_close(struct log_sender *s, struct task_ref task, uint32_t attempt)
{
    struct source *source = find(s, task, attempt);
    if (!source)
        return;
    source->closed = true;
    drop_finished(s);
}

void log_sender_up(struct log_sender *s)
{
    s->up = true;
    for (size_t i = 0; i < s->sources.n; i++)
        ask(s, &s->sources.at[i]);
}

void log_sender_lost(struct log_sender *s)
{
    s->up = false;
    uv_timer_stop(&s->more);
    for (size_t i = 0; i < s->sources.n; i++)
        s->sources.at[i].state = SOURCE_UNKNOWN;
}

void log_sender_kept(struct log_sender *s, const struct wire_log_kept_ack *kept)
{
    struct source *source = find(s, kept->task, kept->attempt);
    if (!source || (source->state != SOURCE_SENDS && !kept->again))
        return;
    if (kept->again) {
        close_segment(s, source);
        source->state = SOURCE_SENDS;
        source->sent = source->kept = kept->offset;
    } else if (kept->offset > source->kept && kept->offset <= source->sent) {
        source->kept = kept->offset;
    }
    s->busy = s->busy || source->kept < source->end;
    log_sender_go_on(s);
}
