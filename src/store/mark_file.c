/* The two slots of the end mark as bytes, with their sums. The older one is overwritten; the file
 * is as large as both from the start, so that a full disk does not keep it from being written. */
#include "store/mark_file.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/little_endian.h"
#include "base/mem.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOT_APART 4096
#define SLOT_SIZE  208
#define SUM_AT     (SLOT_SIZE - 8)
#define MAGIC      "muster end mark 1"
#define MAGIC_LEN  24

struct mark_file {
    int fd;
    uint64_t turn; /* of the slot that was written last */
    bool was;
    struct end_mark first; /* as it was when it was opened */
    char boot[MARK_BOOT + 1];
};

/* Fields in their order: writing and reading are one list. */
struct cursor {
    unsigned char *at;
    bool reads;
};

static void number(struct cursor *c, uint64_t *value, size_t n)
{
    if (c->reads)
        *value = little_endian_get(c->at, n);
    else
        little_endian_put(c->at, *value, n);
    c->at += n;
}

static void number_32(struct cursor *c, uint32_t *value)
{
    uint64_t wide = *value;
    number(c, &wide, 4);
    *value = (uint32_t)wide;
}

static void bytes(struct cursor *c, void *value, size_t n)
{
    if (c->reads)
        memcpy(value, c->at, n);
    else
        memcpy(c->at, value, n);
    c->at += n;
}

static void fields(struct cursor *c, uint64_t *turn, struct end_mark *m)
{
    number(c, turn, 8);
    number(c, &m->event, 8);
    number(c, &m->number, 8);
    number(c, &m->job_id, 8);
    number(c, &m->event_hash, 8);
    number(c, &m->silent, 8);
    number(c, &m->audit.seq, 8);
    bytes(c, m->audit.hash, sizeof m->audit.hash);
    bytes(c, m->wal.salt, sizeof m->wal.salt);
    number_32(c, &m->wal.frames);
    bytes(c, m->wal.sum, sizeof m->wal.sum);
    number_32(c, &m->file_change);
    bytes(c, m->boot, MARK_BOOT);
}
_Static_assert(MAGIC_LEN + 7 * 8 + AUDIT_HASH + WAL_SALT + 4 + WAL_SUM + 4 + MARK_BOOT <= SUM_AT,
               "a slot holds all fields and its sum");

static uint64_t sum_of(const unsigned char slot[SLOT_SIZE])
{
    return hash_bytes((struct hash_seed){ .k = { 0, 0 } }, slot, SUM_AT);
}

static bool read_slot(int fd, unsigned which, uint64_t *turn, struct end_mark *m)
{
    unsigned char slot[SLOT_SIZE];
    struct cursor c = { .at = slot + MAGIC_LEN, .reads = true };
    *m = (struct end_mark){ 0 };
    if (pread(fd, slot, sizeof slot, (off_t)which * SLOT_APART) != (ssize_t)sizeof slot ||
        memcmp(slot, MAGIC, sizeof MAGIC) != 0 ||
        little_endian_get(slot + SUM_AT, 8) != sum_of(slot))
        return false;
    fields(&c, turn, m);
    return true;
}

/* The newer of the two. */
static bool read_slots(int fd, uint64_t *turn, struct end_mark *m)
{
    struct end_mark other;
    uint64_t other_turn = 0;
    bool has = read_slot(fd, 0, turn, m);
    if (read_slot(fd, 1, &other_turn, &other) && (!has || other_turn > *turn)) {
        *turn = other_turn;
        *m = other;
        has = true;
    }
    return has;
}

void mark_boot(char out[MARK_BOOT + 1])
{
    AUTO_CLOSE int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    memset(out, 0, MARK_BOOT + 1);
    if (fd >= 0 && read(fd, out, MARK_BOOT) != MARK_BOOT)
        out[0] = '\0';
}

struct mark_file *mark_open(const char *database, struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s" MARK_SUFFIX, database);
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        err_sys(err, "%s", path);
        return NULL;
    }
    /* Room for both from the start: a full disk does not keep them from being written. */
    if (st.st_size < SLOT_APART + SLOT_SIZE && posix_fallocate(fd, 0, SLOT_APART + SLOT_SIZE)) {
        err_set(err, ERR_FULL, "no room for %s", path);
        return NULL;
    }
    struct mark_file *file = mem_new(sizeof *file);
    file->fd = mem_give_fd(&fd);
    file->was = read_slots(file->fd, &file->turn, &file->first);
    mark_boot(file->boot);
    return file;
}

void mark_close(struct mark_file *file)
{
    if (!file)
        return;
    close(file->fd);
    free(file);
}

bool mark_was(const struct mark_file *file, struct end_mark *m)
{
    *m = file->first;
    return file->was;
}

void mark_write(struct mark_file *file, const struct end_mark *m)
{
    unsigned char slot[SLOT_SIZE] = { 0 };
    struct cursor c = { .at = slot + MAGIC_LEN };
    struct end_mark copy = *m;
    uint64_t turn = file->turn + 1;
    memcpy(slot, MAGIC, sizeof MAGIC);
    memcpy(copy.boot, file->boot, sizeof copy.boot);
    fields(&c, &turn, &copy);
    little_endian_put(slot + SUM_AT, sum_of(slot), 8);
    if (pwrite(file->fd, slot, sizeof slot, (off_t)(turn & 1) * SLOT_APART) == (ssize_t)sizeof slot)
        file->turn = turn;
}

void mark_sync(struct mark_file *file)
{
    (void)fdatasync(file->fd);
}

bool mark_read(const char *database, struct end_mark *m)
{
    AUTO_FREE char *path = mem_printf("%s" MARK_SUFFIX, database);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    uint64_t turn = 0;
    return fd >= 0 && read_slots(fd, &turn, m);
}
