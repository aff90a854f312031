/* Inputs go to a buffer, and from there to the file at the end of each turn. A segment is closed,
 * and the next one begun with a copy of the records, when it is full and the core is at rest: what
 * the core knows beyond its records is in the header then, rendezvous apart; a segment waits for
 * those until it has twice its size. */
#include "replay/recorder.h"

#include "answer/state_text.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "replay/entry.h"
#include "store/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define SEGMENTS     8u
#define SEGMENT_MOST ((uint64_t)64 << 20)
#define FLUSH_BYTES  ((size_t)256 << 10)
#define BUFFER_MOST  ((size_t)256 << 20)
#define CHECK_INPUTS 1000u
#define PASSES_MOST  8u
#define TRY_AGAIN_MS 60000u

struct recorder {
    struct recorder_config config;
    struct ctl_tape tape;
    struct store *store;
    struct ctl *ctl;
    struct ctl_config core;
    uint64_t segment, seq, bytes, again_ms;
    uint32_t unchecked; /* inputs since the last hash */
    uint32_t questions; /* of this input */
    uint32_t decided, passes;
    bool settling;
    int lock, fd; /* fd -1: nothing is written */
    bool started; /* the next header says that a server began */
    bool turned;  /* the input was a turn: the core may be at rest after it */
    unsigned depth;
    size_t mark; /* where the input begins in out */
    uint64_t mark_seq;
    struct buf out;
};

/* ---- failing ---- */

static void give_up(struct recorder *r, const char *what)
{
    log_warn("record.failed",
             "dir=%s segment=%llu reason=\"%s\" note=\"not recorded until it works again\"",
             r->config.dir, (unsigned long long)r->segment, what);
    if (r->fd >= 0) {
        if (ftruncate(r->fd, (off_t)r->bytes) != 0) /* no half of an entry */
            log_warn("record.failed", "reason=\"%s\"", strerror(errno));
        close(r->fd);
    }
    r->fd = -1;
    r->again_ms = clock_mono_ms() + TRY_AGAIN_MS;
    buf_clear(&r->out);
}

static void flush(struct recorder *r)
{
    if (r->fd < 0) {
        buf_clear(&r->out);
    } else if (r->out.overflow) {
        give_up(r, "an input is too large");
    } else if (r->out.len && file_write_all(r->fd, r->out.data, r->out.len)) {
        give_up(r, strerror(errno));
    } else {
        r->bytes += r->out.len;
        buf_clear(&r->out);
    }
}

/* ---- segments ---- */

static uint64_t segment_size(const struct recorder *r)
{
    uint64_t size = r->config.max / SEGMENTS;
    if (r->config.segment)
        return r->config.segment;
    return size < SEGMENT_MOST ? size : SEGMENT_MOST;
}

/* Room for one more segment; the one that is written stays. */
static void drop_oldest(const struct recorder *r)
{
    uint64_t *numbers, sum = 0;
    size_t n, first = 0;
    struct err err;
    if (segments_list(r->config.dir, &numbers, &n, &err))
        return;
    for (size_t i = 0; i < n; i++)
        sum += segment_bytes(r->config.dir, numbers[i]);
    while (first < n && numbers[first] != r->segment && sum + segment_size(r) > r->config.max) {
        AUTO_FREE char *dir = segment_dir(r->config.dir, numbers[first]);
        sum -= segment_bytes(r->config.dir, numbers[first++]);
        if (file_remove_tree(dir, &err))
            log_warn("record.remove", "%s", err.what);
    }
    free(numbers);
}

static int make_files(struct recorder *r, const char *records, const char *inputs, struct err *err)
{
    int fd =
        open(records, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* SQLite keeps the mode */
    if (fd < 0)
        return err_sys(err, "%s", records);
    close(fd);
    if (store_copy(r->store, records, err))
        return -1;
    r->fd = open(inputs, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return r->fd < 0 ? err_sys(err, "%s", inputs) : 0;
}

/* The folder of the next segment, with its copy of the records. */
static int prepare(struct recorder *r, struct err *err)
{
    uint64_t *numbers;
    size_t n;
    if (segments_list(r->config.dir, &numbers, &n, err))
        return -1;
    r->segment = n ? numbers[n - 1] + 1 : 1;
    free(numbers);
    drop_oldest(r);
    AUTO_FREE char *dir = segment_dir(r->config.dir, r->segment);
    AUTO_FREE char *records = segment_records(r->config.dir, r->segment);
    AUTO_FREE char *inputs = segment_inputs(r->config.dir, r->segment);
    if (mkdir(dir, 0700) != 0)
        return err_sys(err, "%s", dir);
    if (make_files(r, records, inputs, err) == 0) {
        drop_oldest(r); /* the copy counts too */
        return 0;
    }
    file_remove_tree(dir, NULL);
    return -1;
}

static void put_header(struct recorder *r, uint64_t at_ms, uint64_t mono_us)
{
    const struct ctl_constants about = ctl_about(r->ctl);
    struct arena *arena = arena_create();
    struct node_spec *nodes;
    const uint32_t n = (uint32_t)ctl_tape_nodes(r->ctl, arena, &nodes);
    char hash[STATE_HASH_TEXT] = "";
    size_t meetings = 0;
    struct recording_header h = { .version = r->config.version,
                                  .started = r->started,
                                  .at_ms = at_ms,
                                  .mono_us = mono_us,
                                  .created_ms = about.created_ms,
                                  .first = r->seq + 1,
                                  .admin = about.admin,
                                  .state_dir = r->core.state_dir,
                                  .runs_dir = r->core.runs_dir,
                                  .caps = about.caps,
                                  .settings = r->config.settings,
                                  .trees = r->config.trees,
                                  .nodes = nodes,
                                  .n_nodes = n,
                                  .marks = mem_new((n ? n : 1) * sizeof *h.marks) };
    if (!r->started) {
        ctl_at_rest(r->ctl, &meetings);
        ctl_port_marks(r->ctl, h.marks);
        answer_state_hash(r->ctl, hash);
    }
    h.meetings = meetings;
    h.hash = hash;
    segment_begin(&r->out);
    size_t mark = frame_begin(&r->out, FRAME_HEADER, r->seq);
    entry_put_header(&r->out, &h);
    frame_done(&r->out, mark);
    free(h.marks);
    arena_destroy(arena);
    r->bytes = 0;
    r->unchecked = 0;
    r->started = false;
}

static void put_hash(struct recorder *r, enum frame_kind kind)
{
    char hash[STATE_HASH_TEXT];
    size_t mark = frame_begin(&r->out, kind, r->seq);
    answer_state_hash(r->ctl, hash);
    buf_add(&r->out, hash, STATE_HASH_TEXT - 1);
    frame_done(&r->out, mark);
    r->unchecked = 0;
}

static void close_segment(struct recorder *r)
{
    if (r->fd < 0)
        return;
    put_hash(r, FRAME_END);
    flush(r);
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
}

static void next_segment(struct recorder *r, uint64_t at_ms, uint64_t mono_us)
{
    struct err err;
    close_segment(r);
    if (prepare(r, &err)) {
        give_up(r, err.what);
        return;
    }
    put_header(r, at_ms, mono_us);
    flush(r);
}

/* A copy of the records begins with a pass, so the segment does too: until one decides nothing. */
static bool settled(struct recorder *r)
{
    size_t meetings;
    r->settling = true;
    do {
        r->decided = 0;
        ctl_plan(r->ctl);
    } while (r->decided && ++r->passes < PASSES_MOST);
    r->settling = false;
    r->passes = 0;
    return r->decided == 0 && ctl_at_rest(r->ctl, &meetings);
}

static void look_at_size(struct recorder *r)
{
    size_t meetings;
    uint64_t size = segment_size(r);
    bool due = r->fd < 0 ? clock_mono_ms() >= r->again_ms : r->bytes >= size;
    if (!due || r->settling || !ctl_at_rest(r->ctl, &meetings))
        return;
    if ((r->fd < 0 || meetings == 0 || r->bytes >= 2 * size) && settled(r))
        next_segment(r, ctl_last_ms(r->ctl), ctl_last_us(r->ctl));
}

/* ---- the tape ---- */

static void on_begin(void *arg, const struct ctl_input *input)
{
    struct recorder *r = arg;
    bool nested = r->depth++ > 0;
    if (!nested && r->started && r->fd >= 0) /* made before the core was */
        put_header(r, input->at_ms, input->mono_us);
    if (!nested) {
        r->mark = r->out.len;
        r->mark_seq = r->seq;
        r->questions = 0;
        r->turned = input->kind == INPUT_TURN || input->kind == INPUT_TICK ||
                    input->kind == INPUT_RECOVER || input->kind == INPUT_PLAN;
        r->seq++;
    } else {
        r->depth--; /* told once for the outermost */
    }
    r->unchecked++;
    size_t mark = frame_begin(&r->out, nested ? FRAME_NESTED : FRAME_INPUT, r->seq);
    entry_put_input(&r->out, input, store_seal(r->store));
    frame_done(&r->out, mark);
}

static void on_end(void *arg, bool matters)
{
    struct recorder *r = arg;
    r->depth = 0;
    if (!matters) {
        r->out.len = r->mark;
        r->seq = r->mark_seq;
        return;
    }
    if (r->turned && r->unchecked >= CHECK_INPUTS)
        put_hash(r, FRAME_CHECK);
    if (r->turned || r->out.len > FLUSH_BYTES || r->out.overflow)
        flush(r);
    if (r->turned)
        look_at_size(r);
}

static void on_decided(void *arg, const struct ctl_decision *decision)
{
    struct recorder *r = arg;
    r->decided++;
    if (r->depth == 0)
        return;
    size_t mark = frame_begin(&r->out, FRAME_DECIDED, r->seq);
    entry_put_decision(&r->out, decision);
    frame_done(&r->out, mark);
}

static int on_outside(void *arg, enum ctl_outside_call what, int rc, struct err *err)
{
    struct recorder *r = arg;
    r->questions++;
    if (rc == 0 || r->depth == 0)
        return rc;
    struct recorded_refusal refusal = { .what = what, .ordinal = r->questions };
    if (err)
        refusal.err = *err;
    size_t mark = frame_begin(&r->out, FRAME_REFUSED, r->seq);
    entry_put_refusal(&r->out, &refusal);
    frame_done(&r->out, mark);
    return rc;
}

/* ---- the whole ---- */

static int take_directory(struct recorder *r, struct err *err)
{
    AUTO_FREE char *path = file_join(r->config.dir, "lock");
    if (file_mkdirs(r->config.dir, 0700, err) < 0)
        return -1;
    r->lock = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (r->lock < 0)
        return err_sys(err, "%s", path);
    if (flock(r->lock, LOCK_EX | LOCK_NB) == 0)
        return 0;
    err_set(err, ERR_CONFLICT, "another server records to %s", r->config.dir);
    return err_hint(err, "give each server a directory of its own");
}

struct recorder *recorder_create(const struct recorder_config *config, struct store *store,
                                 struct err *err)
{
    struct recorder *r = mem_new(sizeof *r);
    r->config = *config;
    r->store = store;
    r->lock = r->fd = -1;
    r->started = true;
    buf_init(&r->out, BUFFER_MOST);
    r->tape = (struct ctl_tape){
        .begin = on_begin, .end = on_end, .decided = on_decided, .outside = on_outside, .arg = r
    };
    if (take_directory(r, err) || prepare(r, err)) {
        recorder_destroy(r);
        return NULL;
    }
    return r;
}

const struct ctl_tape *recorder_tape(const struct recorder *r)
{
    return &r->tape;
}

void recorder_attach(struct recorder *r, struct ctl *ctl, const struct ctl_config *config)
{
    r->ctl = ctl;
    r->core = *config;
}

void recorder_destroy(struct recorder *r)
{
    if (!r)
        return;
    if (r->ctl)
        close_segment(r);
    if (r->fd >= 0)
        close(r->fd);
    if (r->lock >= 0)
        close(r->lock);
    buf_fini(&r->out);
    free(r);
}
