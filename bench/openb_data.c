/* Reads the files of the openb experiment and makes the sequence of arrivals from a seed.
 *
 * Columns are found by their names in the first line; others are passed over. Every bad field is
 * told with file, line and name. */
#include "openb_data.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"

#include <string.h>

enum { FIELDS = 32, FILE_MOST = 256 << 20 };

struct table { /* a CSV file, line by line */
    const char *file;
    char *text, *rest;
    size_t line;
    char *names[FIELDS], *fields[FIELDS];
    size_t n_names, n_fields;
};

/* ---- lines and fields ---- */

static size_t split(char *line, char **fields)
{
    size_t n = 0;
    for (char *at = line; at && n < FIELDS; n++) {
        fields[n] = at;
        at = strchr(at, ',');
        if (at)
            *at++ = '\0';
    }
    return n;
}

static char *next_line(struct table *t)
{
    char *line = t->rest;
    if (!line || !*line)
        return NULL;
    char *end = strchr(line, '\n');
    t->rest = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    size_t len = strlen(line);
    if (len && line[len - 1] == '\r')
        line[len - 1] = '\0';
    t->line++;
    return line;
}

static int table_open(struct table *t, const char *file, struct err *err)
{
    *t = (struct table){ .file = file };
    size_t len;
    if (file_read(file, FILE_MOST, &t->text, &len, err))
        return -1;
    t->rest = t->text;
    char *line = next_line(t);
    if (!line)
        return err_set(err, ERR_INPUT, "%s: empty", file);
    t->n_names = split(line, t->names);
    return 0;
}

/* 1: a row, 0: the end, -1: err. */
static int table_next(struct table *t, struct err *err)
{
    char *line = next_line(t);
    if (!line)
        return 0;
    t->n_fields = split(line, t->fields);
    if (t->n_fields != t->n_names)
        return err_set(err, ERR_INPUT, "%s:%zu: %zu fields, the first line has %zu", t->file,
                       t->line, t->n_fields, t->n_names);
    return 1;
}

static const char *text_of(const struct table *t, const char *name)
{
    for (size_t i = 0; i < t->n_names; i++)
        if (!strcmp(t->names[i], name))
            return t->fields[i];
    return NULL;
}

static int need_text(const struct table *t, const char *name, char **out, struct err *err)
{
    const char *text = text_of(t, name);
    if (!text || !*text)
        return err_set(err, ERR_INPUT, "%s:%zu: %s: %s", t->file, t->line, name,
                       text ? "empty" : "no such column");
    *out = mem_strdup(text);
    return 0;
}

static int need_number(const struct table *t, const char *name, uint64_t most, uint64_t *out,
                       struct err *err)
{
    const char *text = text_of(t, name);
    if (!text)
        return err_set(err, ERR_INPUT, "%s:%zu: %s: no such column", t->file, t->line, name);
    if (!scan_u64(text, 0, most, out))
        return err_set(err, ERR_INPUT, "%s:%zu: %s: \"%s\" is no number from 0 to %llu", t->file,
                       t->line, name, text, (unsigned long long)most);
    return 0;
}

/* ---- rows ---- */

static int model_bit(struct models *m, const struct table *t, const char *name, uint32_t *out,
                     struct err *err)
{
    for (*out = 0; *out < m->n; (*out)++)
        if (!strcmp(m->names[*out], name))
            return 0;
    if (m->n == MODELS)
        return err_set(err, ERR_INPUT, "%s:%zu: more than %d models", t->file, t->line, MODELS);
    m->names[m->n++] = mem_strdup(name);
    return 0;
}

static int read_models(struct models *m, const struct table *t, const char *list, uint64_t *bits,
                       struct err *err)
{
    AUTO_FREE char *copy = mem_strdup(list);
    uint32_t bit;
    *bits = 0;
    for (char *name = copy, *next; name && *copy; name = next) {
        next = strchr(name, '|');
        if (next)
            *next++ = '\0';
        if (!*name)
            return err_set(err, ERR_INPUT, "%s:%zu: gpu_spec: \"%s\" has an empty name", t->file,
                           t->line, list);
        if (model_bit(m, t, name, &bit, err))
            return -1;
        *bits |= (uint64_t)1 << bit;
    }
    return 0;
}

static int read_host(struct trace *trace, const struct table *t, struct host *h, struct err *err)
{
    AUTO_FREE char *model = NULL;
    uint64_t n;
    if (need_number(t, "cpu_milli", UINT32_MAX, &h->cpu, err) ||
        need_number(t, "memory_mib", UINT32_MAX, &h->memory, err) ||
        need_number(t, "gpu", GPUS, &n, err) || need_text(t, "model", &model, err) ||
        model_bit(&trace->models, t, model, &h->model, err))
        return -1;
    h->n = (uint32_t)n;
    for (uint32_t i = 0; i < h->n; i++)
        h->gpu[i] = DEVICE_MILLI;
    trace->capacity += (uint64_t)h->n * DEVICE_MILLI;
    return 0;
}

static int read_task(struct trace *trace, const struct table *t, struct task *task, struct err *err)
{
    uint64_t n, milli;
    const char *spec = text_of(t, "gpu_spec");
    if (need_text(t, "name", &task->name, err) ||
        need_number(t, "cpu_milli", UINT32_MAX, &task->cpu, err) ||
        need_number(t, "memory_mib", UINT32_MAX, &task->memory, err) ||
        need_number(t, "num_gpu", GPUS, &n, err) ||
        need_number(t, "gpu_milli", UINT32_MAX, &milli, err) ||
        read_models(&trace->models, t, spec ? spec : "", &task->models, err))
        return -1;
    if (n && !milli)
        return err_set(err, ERR_INPUT, "%s:%zu: gpu_milli: 0 of %llu GPUs", t->file, t->line,
                       (unsigned long long)n);
    task->n = (uint32_t)n;
    task->milli = n == 0 ? 0 : milli < DEVICE_MILLI ? (uint32_t)milli : DEVICE_MILLI;
    return 0;
}

static int read_hosts(struct trace *trace, const char *file, struct err *err)
{
    struct table t;
    int more = table_open(&t, file, err) ? -1 : 1;
    for (size_t cap = 0; more > 0 && (more = table_next(&t, err)) > 0; trace->n_hosts++) {
        if (trace->n_hosts == cap)
            trace->hosts = mem_resize(trace->hosts, (cap = 2 * cap + 64) * sizeof *trace->hosts);
        trace->hosts[trace->n_hosts] = (struct host){ 0 };
        if (read_host(trace, &t, &trace->hosts[trace->n_hosts], err)) {
            more = -1;
            break;
        }
    }
    free(t.text);
    if (more == 0 && trace->capacity == 0)
        return err_set(err, ERR_INPUT, "%s: no GPUs", file);
    return more;
}

static int read_tasks(struct trace *trace, const char *file, struct err *err)
{
    struct table t;
    int more = table_open(&t, file, err) ? -1 : 1;
    for (size_t cap = 0; more > 0 && (more = table_next(&t, err)) > 0;) {
        if (trace->n_tasks == cap)
            trace->tasks = mem_resize(trace->tasks, (cap = 2 * cap + 64) * sizeof *trace->tasks);
        struct task *task = &trace->tasks[trace->n_tasks++];
        *task = (struct task){ 0 };
        if (read_task(trace, &t, task, err)) {
            more = -1;
            break;
        }
    }
    free(t.text);
    uint64_t sum = 0;
    for (size_t i = 0; i < trace->n_tasks; i++)
        sum += task_gpu(&trace->tasks[i]);
    if (more == 0 && sum == 0)
        return err_set(err, ERR_INPUT, "%s: no task asks for a GPU", file);
    return more;
}

static bool equal(const struct task *a, const struct task *b)
{
    return a->cpu == b->cpu && a->memory == b->memory && a->models == b->models && a->n == b->n &&
           a->milli == b->milli;
}

static void find_shapes(struct trace *trace)
{
    trace->shapes = mem_new(trace->n_tasks * sizeof *trace->shapes);
    trace->counts = mem_new(trace->n_tasks * sizeof *trace->counts);
    for (size_t i = 0; i < trace->n_tasks; i++) {
        uint32_t at = 0;
        while (at < trace->n_shapes && !equal(&trace->shapes[at], &trace->tasks[i]))
            at++;
        trace->tasks[i].shape = at;
        trace->counts[at]++;
        if (at < trace->n_shapes)
            continue;
        trace->shapes[at] = trace->tasks[i];
        trace->n_shapes++;
    }
}

int trace_read(struct trace *trace, const char *nodes, const char *list, struct err *err)
{
    *trace = (struct trace){ 0 };
    if (read_hosts(trace, nodes, err) || read_tasks(trace, list, err))
        return -1;
    find_shapes(trace);
    return 0;
}

void trace_fini(struct trace *trace)
{
    for (uint32_t i = 0; i < trace->models.n; i++)
        free(trace->models.names[i]);
    for (size_t i = 0; i < trace->n_tasks; i++)
        free(trace->tasks[i].name);
    free(trace->hosts);
    free(trace->tasks);
    free(trace->shapes);
    free(trace->counts);
}

/* ---- order ---- */

uint64_t random_below(struct dice *d, uint64_t k)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)dice_roll(d) * k >> 64);
}

void trace_permute(struct trace *trace, uint64_t seed)
{
    struct dice r = { .state = seed };
    for (size_t i = trace->n_hosts; seed && i-- > 1;) {
        size_t other = (size_t)random_below(&r, i + 1);
        struct host host = trace->hosts[i];
        trace->hosts[i] = trace->hosts[other];
        trace->hosts[other] = host;
    }
}

static void thin(struct sequence *s, struct dice *r, uint64_t target)
{
    while (s->sum > target) {
        size_t at = (size_t)random_below(r, s->n);
        s->sum -= task_gpu(s->at[at]);
        s->n--;
        memmove(&s->at[at], &s->at[at + 1], (s->n - at) * sizeof(s->at[0]));
    }
}

/* Stops at a task by its milli of one GPU, not of all of them: as published. */
static void fill_up(struct sequence *s, struct dice *r, const struct trace *trace, uint64_t target)
{
    for (size_t cap = s->n;;) {
        const struct task *t = &trace->tasks[random_below(r, trace->n_tasks)];
        if (s->sum + t->milli > target)
            return;
        if (s->n == cap)
            s->at = mem_resize(s->at, (cap = 2 * cap) * sizeof(s->at[0]));
        s->at[s->n++] = t;
        s->sum += task_gpu(t);
    }
}

void sequence_init(struct sequence *s, const struct trace *trace, uint64_t seed)
{
    struct dice r = { .state = seed };
    uint64_t target = trace->capacity * 13 / 10;
    *s = (struct sequence){ .at = mem_new(trace->n_tasks * sizeof(s->at[0])), .n = trace->n_tasks };
    for (size_t i = 0; i < s->n; i++) {
        s->at[i] = &trace->tasks[i];
        s->sum += task_gpu(s->at[i]);
    }
    for (size_t i = s->n; i-- > 1;) {
        size_t other = (size_t)random_below(&r, i + 1);
        const struct task *t = s->at[i];
        s->at[i] = s->at[other];
        s->at[other] = t;
    }
    if (s->sum > target)
        thin(s, &r, target);
    else
        fill_up(s, &r, trace, target);
}

void sequence_fini(struct sequence *s)
{
    free(s->at);
}
