/* A map from a 64-bit key (shape, queue, owner, priority) to the line of waiting jobs with that
 * key, and a list of the lines in the order they were made. Ids in a line are sorted. */
#include "live/lines.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

struct lines {
    struct map *by_key;
    struct line *first, *last;
    size_t n;
    VEC(struct live_job *) aside;
};

struct lines *lines_create(void)
{
    struct lines *lines = mem_new(sizeof *lines);
    lines->by_key = map_create();
    return lines;
}

static void line_free(struct line *line)
{
    vec_fini(&line->ids);
    free(line);
}

void lines_destroy(struct lines *lines)
{
    if (!lines)
        return;
    for (struct line *line = lines->first, *next; line; line = next) {
        next = line->next;
        line_free(line);
    }
    map_destroy(lines->by_key);
    vec_fini(&lines->aside);
    free(lines);
}

/* 64 bits of a good mix: that two kinds of jobs meet in one key is not to be expected in the life
 * of a server. */
static uint64_t key_of(const struct live_job *job)
{
    uint64_t hash = hash_add(HASH_BEGIN, job->notes.shape);
    hash = hash_add_text(hash_add_text(hash, job->row.queue), job->row.owner);
    return hash_add(hash, job->row.priority) | 1;
}

static struct line *make_line(struct lines *lines, uint64_t key)
{
    struct line *line = mem_new(sizeof *line);
    line->key = key;
    line->why.why = WAIT_PENDING;
    line->before = lines->last;
    if (lines->last)
        lines->last->next = line;
    else
        lines->first = line;
    lines->last = line;
    lines->n++;
    map_set(lines->by_key, key, line);
    return line;
}

static void drop_line(struct lines *lines, struct line *line)
{
    if (line->before)
        line->before->next = line->next;
    else
        lines->first = line->next;
    if (line->next)
        line->next->before = line->before;
    else
        lines->last = line->before;
    lines->n--;
    map_remove(lines->by_key, line->key);
    line_free(line);
}

/* Position of the first id that is not smaller. */
static size_t find(const struct line *line, uint64_t id)
{
    size_t low = line->head, high = line->ids.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (line->ids.at[mid] < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

bool lines_join(struct lines *lines, struct live_job *job)
{
    uint64_t key = key_of(job);
    struct line *line = map_get(lines->by_key, key);
    if (!line)
        line = make_line(lines, key);
    size_t at = find(line, job->row.id);
    vec_push(&line->ids, 0);
    memmove(line->ids.at + at + 1, line->ids.at + at,
            (line->ids.n - 1 - at) * sizeof *line->ids.at);
    line->ids.at[at] = job->row.id;
    job->line = line;
    if (at != line->head)
        return false;
    line->first = job;
    return true;
}

void lines_put_aside(struct lines *lines, struct live_job *job)
{
    job->apart = (uint32_t)lines->aside.n + 1;
    vec_push(&lines->aside, job);
}

static void leave_aside(struct lines *lines, struct live_job *job)
{
    size_t at = job->apart - 1;
    lines->aside.at[at] = lines->aside.at[lines->aside.n - 1];
    lines->aside.at[at]->apart = (uint32_t)at + 1;
    lines->aside.n--;
    job->apart = 0;
}

void lines_leave(struct lines *lines, struct live_job *job)
{
    struct line *line = job->line;
    if (job->apart)
        leave_aside(lines, job);
    if (!line)
        return;
    size_t at = find(line, job->row.id);
    if (at >= line->ids.n || line->ids.at[at] != job->row.id)
        BUG("job %llu is not in its line", (unsigned long long)job->row.id);
    job->line = NULL;
    if (line->first == job)
        line->first = NULL;
    if (at == line->head)
        line->head++;
    else
        vec_remove(&line->ids, at);
    if (line->head == line->ids.n)
        drop_line(lines, line);
}

size_t lines_count(const struct lines *lines)
{
    return lines->n;
}
struct line *lines_first(const struct lines *lines)
{
    return lines->first;
}
size_t lines_aside(const struct lines *lines)
{
    return lines->aside.n;
}
struct live_job *lines_aside_at(const struct lines *lines, size_t i)
{
    return lines->aside.at[i];
}
