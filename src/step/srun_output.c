/* Whole lines are passed on, so that those of several tasks do not mix; a line that becomes too
 * long is passed on in parts. Files are opened when their first byte comes, unless all tasks share
 * one, which is there from the beginning. */
#include "step/srun_output.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"
#include "step/node_conf.h"
#include "step/out_files.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 64 << 10, STREAMS = 2 };

struct target {          /* of stdout or stderr */
    const char *pattern; /* NULL: own */
    bool none, one_rank; /* none: thrown away */
    uint32_t rank;       /* of one_rank */
    bool by_task;        /* a file for each */
    int fd;              /* shared by all tasks */
};
struct line {
    struct buf text;
    int fd; /* of its own file; -1: none yet */
};
struct srun_output {
    struct arena *arena;
    struct target targets[STREAMS];
    struct line *lines; /* STREAMS of each rank */
    struct out_files files;
    uint32_t tasks;
    unsigned width; /* of a label */
    bool label, whole_lines, append;
    struct pattern_facts facts;
};

static int open_file(struct srun_output *o, const struct target *t,
                     const struct pattern_facts *facts)
{
    const char *path = pattern_expand(o->arena, t->pattern, facts);
    int fd = out_files_open(&o->files, path, o->append);
    if (fd < 0)
        fprintf(stderr, "srun: error: Could not open %s: %s\n", path, strerror(errno));
    return fd;
}

static int make_target(struct srun_output *o, struct target *t, const char *pattern, int own,
                       struct err *err)
{
    uint64_t rank;
    *t = (struct target){ .fd = own };
    if (!pattern || strcmp(pattern, "all") == 0)
        return 0;
    t->none = strcmp(pattern, "none") == 0;
    t->one_rank = scan_u64(pattern, 0, o->tasks - 1, &rank);
    t->rank = t->one_rank ? (uint32_t)rank : 0;
    if (t->none || t->one_rank)
        return 0;
    t->pattern = pattern;
    t->by_task = pattern_by_task(pattern);
    t->fd = t->by_task ? -1 : open_file(o, t, &o->facts);
    if (!t->by_task && t->fd < 0)
        return err_set(err, ERR_CANNOT, "%.200s cannot be written", pattern);
    return 0;
}

struct srun_output *srun_output_create(const struct srun_opts *opts, uint32_t step, uint32_t tasks,
                                       struct err *err)
{
    struct srun_output *o = mem_new(sizeof *o);
    const char *error = opts->at[SRUN_ERROR], *mode = opts->at[SRUN_OPEN_MODE];
    *o = (struct srun_output){ .arena = arena_create(), .tasks = tasks };
    o->label = opts->at[SRUN_LABEL] != NULL;
    o->whole_lines = !opts->at[SRUN_UNBUFFERED] || o->label;
    o->append = mode && mode[0] == 'a';
    node_conf_facts(&o->facts);
    o->facts.step = step;
    o->facts.has_step = true;
    o->lines = ARENA_ARRAY(o->arena, (size_t)tasks * STREAMS, struct line);
    for (size_t i = 0; i < (size_t)tasks * STREAMS; i++)
        o->lines[i] = (struct line){ .text = BUF_INIT(LINE_MAX_BYTES + STEP_PIECE), .fd = -1 };
    for (uint32_t n = tasks - 1; n > 9; n /= 10)
        o->width++;
    o->width++;
    if (make_target(o, &o->targets[0], opts->at[SRUN_OUTPUT], STDOUT_FILENO, err) < 0 ||
        make_target(o, &o->targets[1], error, STDERR_FILENO, err) < 0) {
        srun_output_destroy(o);
        return NULL;
    }
    if (!error && o->targets[0].pattern) /* both go to one file */
        o->targets[1] = o->targets[0];
    return o;
}

/* A stream of ours does not block where another process that has it wants it so. */
static bool wait_writable(int fd)
{
    struct pollfd one = { .fd = fd, .events = POLLOUT };
    return poll(&one, 1, -1) >= 0 || errno == EINTR;
}

static void write_all(int fd, const char *at, size_t n)
{
    while (fd >= 0 && n > 0) {
        ssize_t done = write(fd, at, n);
        if (done < 0 && (errno == EINTR || (errno == EAGAIN && wait_writable(fd))))
            continue;
        if (done <= 0)
            return; /* nobody reads any more */
        at += done;
        n -= (size_t)done;
    }
}

/* n bytes at the front of the line's text. */
static void pass_on(struct srun_output *o, struct line *line, int fd, uint32_t rank, size_t n)
{
    if (o->label) {
        AUTO_BUF struct buf out = BUF_INIT(LINE_MAX_BYTES + STEP_PIECE + 32);
        buf_addf(&out, "%*u: ", (int)o->width, rank);
        buf_add(&out, line->text.data, n);
        if (n == 0 || line->text.data[n - 1] != '\n')
            buf_putc(&out, '\n');
        write_all(fd, out.data, out.len);
    } else {
        write_all(fd, line->text.data, n);
    }
    buf_drop(&line->text, n);
}

/* The lines that are there, each by itself where each gets a label. */
static void pass_lines(struct srun_output *o, struct line *line, int fd, uint32_t rank)
{
    while (line->text.len > 0) {
        const char *end = o->label ? memchr(line->text.data, '\n', line->text.len)
                                   : memrchr(line->text.data, '\n', line->text.len);
        if (!end && !o->label)
            end = memrchr(line->text.data, '\r', line->text.len); /* a bar of progress */
        size_t n = end ? (size_t)(end + 1 - line->text.data) : line->text.len;
        if (!end && o->whole_lines && line->text.len < LINE_MAX_BYTES)
            return;
        pass_on(o, line, fd, rank, n);
    }
}

static int file_of(struct srun_output *o, struct line *line, const struct target *t,
                   const struct srun_writer *writer, uint32_t rank)
{
    if (!t->by_task)
        return t->fd;
    struct pattern_facts facts = o->facts;
    facts.node = writer->node;
    facts.node_id = writer->node_id;
    facts.task = rank;
    if (line->fd < 0)
        line->fd = open_file(o, t, &facts);
    return line->fd;
}

void srun_output_write(struct srun_output *o, const struct srun_writer *writer,
                       const struct step_data *data)
{
    if (data->rank >= o->tasks || data->stream < 1 || data->stream > STREAMS)
        return;
    struct line *first = &o->lines[(size_t)data->rank * STREAMS];
    struct target *t = &o->targets[data->stream - 1];
    struct line *line = first + data->stream - 1;
    if (t->none || (t->one_rank && t->rank != data->rank))
        return;
    /* Both streams in files of one name are one file. */
    bool joined = data->stream == 2 && t->pattern && t->pattern == o->targets[0].pattern;
    int fd = file_of(o, joined && t->by_task ? first : line, t, writer, data->rank);
    buf_add(&line->text, data->at, data->len);
    pass_lines(o, line, fd, data->rank);
}

void srun_output_end(struct srun_output *o, uint32_t rank)
{
    for (size_t i = 0; rank < o->tasks && i < STREAMS; i++) {
        struct line *first = &o->lines[(size_t)rank * STREAMS], *line = first + i;
        const struct target *t = &o->targets[i];
        int fd = t->by_task ? (line->fd >= 0 ? line->fd : first->fd) : t->fd;
        if (line->text.len > 0)
            pass_on(o, line, fd, rank, line->text.len);
    }
}

void srun_output_destroy(struct srun_output *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < (size_t)o->tasks * STREAMS; i++) {
        buf_fini(&o->lines[i].text);
        if (o->lines[i].fd >= 0)
            close(o->lines[i].fd);
    }
    for (size_t i = 0; i < STREAMS; i++)
        if (o->targets[i].fd > STDERR_FILENO && (i == 0 || o->targets[i].fd != o->targets[0].fd))
            close(o->targets[i].fd);
    out_files_fini(&o->files);
    arena_destroy(o->arena);
    free(o);
}
