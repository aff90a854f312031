/* What every kind of target does alike: lists in order, small texts at once. The kinds themselves
 * are rows of operations (target_ops.h). */
#include "ship/target.h"

#include "base/buf.h"
#include "base/mem.h"
#include "ship/s3.h"
#include "ship/target_ops.h"

#include <string.h>

#define TEXT_MOST (4u << 20)
#define PIECE     ((size_t)64 << 10)

bool target_is_store(const char *where)
{
    return strncmp(where, TARGET_STORE, sizeof TARGET_STORE - 1) == 0;
}

int target_check(const struct target_place *place, struct err *err)
{
    if (target_is_store(place->where))
        return s3_check_place(place, err);
    if (place->where[0] == '/')
        return 0;
    err_set(err, ERR_INPUT, "\"%.80s\" is neither a directory from its root nor a bucket",
            place->where);
    return err_hint(err, "write /mnt/backup/muster, or s3://BUCKET/PREFIX");
}

struct target *target_open(const struct target_place *place, struct err *err)
{
    return target_is_store(place->where) ? target_open_s3(place, err)
                                         : target_open_dir(place->where, err);
}

void target_close(struct target *t)
{
    if (t)
        t->ops->destroy(t);
}

const char *target_name(const struct target *t, struct arena *a, const char *name)
{
    return arena_printf(a, "%s/%s", t->where, name);
}

static int ascending(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int target_list(struct target *t, struct chains *chains, struct err *err)
{
    int rc = t->ops->list(t, chains, err);
    if (chains->all.n)
        qsort(chains->all.at, chains->all.n, sizeof *chains->all.at, ascending);
    return rc;
}

int target_begin(struct target *t, uint64_t chain, struct err *err)
{
    return t->ops->begin(t, chain, err);
}

int target_remove(struct target *t, uint64_t chain, uint64_t until_ms, struct err *err)
{
    return t->ops->remove(t, chain, until_ms, err);
}

struct target_file *target_create(struct target *t, const char *name, struct err *err)
{
    return t->ops->create(t, name, err);
}

int target_put(struct target_file *f, const void *data, size_t n, struct err *err)
{
    return f->target->ops->put(f, data, n, err);
}

int target_publish(struct target_file *f, struct err *err)
{
    return f->target->ops->publish(f, err);
}

void target_abandon(struct target_file *f)
{
    if (f)
        f->target->ops->abandon(f);
}

static int write_to(void *arg, const void *data, size_t n, struct err *err)
{
    return target_put(arg, data, n, err);
}

struct byte_sink target_sink(struct target_file *f)
{
    return (struct byte_sink){ .write = write_to, .arg = f };
}

struct target_file *target_get(struct target *t, const char *name, struct err *err)
{
    return t->ops->get(t, name, err);
}

static ssize_t read_from(void *arg, void *to, size_t n, struct err *err)
{
    struct target_file *f = arg;
    return f->target->ops->read(f, to, n, err);
}

struct byte_source target_source(struct target_file *f)
{
    return (struct byte_source){ .read = read_from, .arg = f };
}

void target_end(struct target_file *f)
{
    if (f)
        f->target->ops->end(f);
}

int target_write(struct target *t, const char *name, const char *text, size_t len, struct err *err)
{
    struct target_file *f = target_create(t, name, err);
    if (!f)
        return -1;
    if (target_put(f, text, len, err) == 0)
        return target_publish(f, err);
    target_abandon(f);
    return -1;
}

int target_read(struct target *t, const char *name, char **text, size_t *len, struct err *err)
{
    struct buf all = BUF_INIT(TEXT_MOST);
    AUTO_FREE char *piece = mem_resize(NULL, PIECE);
    struct target_file *f = target_get(t, name, err);
    ssize_t n = f ? 1 : -1;
    while (n > 0 && !all.overflow) {
        n = t->ops->read(f, piece, PIECE, err);
        if (n > 0)
            buf_add(&all, piece, (size_t)n);
    }
    target_end(f);
    if (n >= 0 && all.overflow)
        n = err_set(err, ERR_TOO_LARGE, "%s/%s is longer than %u MiB", t->where, name,
                    TEXT_MOST >> 20);
    *len = all.len;
    *text = n < 0 ? NULL : buf_take(&all);
    buf_fini(&all);
    return n < 0 ? -1 : 0;
}
