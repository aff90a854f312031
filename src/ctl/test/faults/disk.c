/* SQLite's VFS over files in memory. Only what SQLite needs with an exclusive lock: no shared
 * memory, no locks. */
#include "ctl/test/faults/disk.h"

#include "base/err.h"
#include "base/mem.h"

#include <sqlite3.h>
#include <string.h>

#define SECTOR 512u

struct handle { /* an open file, as SQLite has it */
    sqlite3_file base;
    struct disk *disk;
    struct disk_file *file;
};

/* ---- files ---- */

static struct disk_file *find(struct disk *disk, const char *name)
{
    for (size_t i = 0; i < DISK_FILES; i++)
        if (strcmp(disk->files[i].name, name) == 0)
            return &disk->files[i];
    return NULL;
}

static void make_room(struct disk_file *file, size_t size)
{
    if (size <= file->cap)
        return;
    size_t cap = file->cap ? file->cap : (size_t)1 << 16;
    while (cap < size)
        cap *= 2;
    file->data = mem_resize(file->data, cap);
    file->cap = cap;
}

static void resize(struct disk_file *file, size_t size)
{
    make_room(file, size);
    if (size > file->size)
        memset(file->data + file->size, 0, size - file->size);
    file->size = size;
}

static void forget_unsynced(struct disk_file *file)
{
    for (size_t i = 0; i < file->unsynced.n; i++)
        free(file->unsynced.at[i].old);
    vec_clear(&file->unsynced);
}

static void drop(struct disk_file *file)
{
    forget_unsynced(file);
    file->name[0] = '\0';
    file->size = 0;
}

static void put(struct disk_file *file, const void *data, size_t n, size_t at)
{
    struct disk_write *write = vec_add(&file->unsynced);
    *write = (struct disk_write){ .at = at, .len = n, .size = file->size };
    if (at < file->size) {
        write->n_old = file->size - at < n ? file->size - at : n;
        write->old = mem_resize(NULL, write->n_old); /* not zeroed only to be written */
        memcpy(write->old, file->data + at, write->n_old);
    }
    if (at + n > file->size)
        resize(file, at + n);
    memcpy(file->data + at, data, n);
}

/* ---- faults ---- */

static bool fails(struct disk *disk)
{
    if (disk->fail_in == 0)
        return false;
    if (disk->fail_in > 1) {
        disk->fail_in--;
        return false;
    }
    if (disk->fails == 0)
        disk->fail_in = 0; /* this was the last */
    else
        disk->fails--;
    return true;
}

static bool fails_to_write(struct disk *disk)
{
    return disk->how != DISK_SYNC && fails(disk);
}

static bool has_room(struct disk *disk, const struct disk_file *file, size_t end)
{
    size_t more = end > file->size ? end - file->size : 0;
    if (!disk->full || more == 0)
        return true;
    if (more > disk->room)
        return false;
    disk->room -= more;
    return true;
}

void disk_heal(struct disk *disk)
{
    disk->fail_in = disk->fails = 0;
    disk->full = false;
    disk->room = 0;
}

/* ---- SQLite's calls on an open file ---- */

static struct handle *handle_of(sqlite3_file *file)
{
    return (struct handle *)(void *)file;
}

static int file_close(sqlite3_file *file)
{
    (void)file;
    return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *out, int n, sqlite3_int64 offset)
{
    const struct disk_file *file = handle_of(base)->file;
    size_t at = (size_t)offset, want = (size_t)n;
    size_t have = at < file->size ? file->size - at : 0;
    if (have > want)
        have = want;
    if (have)
        memcpy(out, file->data + at, have);
    if (have == want)
        return SQLITE_OK;
    memset((unsigned char *)out + have, 0, want - have);
    return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *base, const void *data, int n, sqlite3_int64 offset)
{
    struct handle *h = handle_of(base);
    size_t at = (size_t)offset, len = (size_t)n;
    if (crash_point(h->disk->crash))
        return SQLITE_IOERR_WRITE;
    h->disk->writes++;
    if (fails_to_write(h->disk)) {
        if (h->disk->how == DISK_SHORT)
            put(h->file, data, len / 2, at);
        return SQLITE_IOERR_WRITE;
    }
    if (!has_room(h->disk, h->file, at + len))
        return SQLITE_FULL;
    put(h->file, data, len, at);
    return SQLITE_OK;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    struct handle *h = handle_of(base);
    if (crash_point(h->disk->crash) || fails_to_write(h->disk))
        return SQLITE_IOERR_TRUNCATE;
    forget_unsynced(h->file);
    resize(h->file, (size_t)size);
    return SQLITE_OK;
}

static int file_sync(sqlite3_file *base, int flags)
{
    struct handle *h = handle_of(base);
    (void)flags;
    if (crash_point(h->disk->crash) || fails(h->disk))
        return SQLITE_IOERR_FSYNC;
    h->disk->syncs++;
    if (!h->disk->skips_syncs)
        forget_unsynced(h->file);
    crash_point(h->disk->crash); /* it is on the disk, and nobody hears of it */
    return SQLITE_OK;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size)
{
    *size = (sqlite3_int64)handle_of(base)->file->size;
    return SQLITE_OK;
}

static int file_lock(sqlite3_file *file, int level)
{
    (void)file;
    (void)level;
    return SQLITE_OK;
}

static int file_check_reserved(sqlite3_file *file, int *out)
{
    (void)file;
    *out = 0;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int op, void *arg)
{
    (void)file;
    (void)op;
    (void)arg;
    return SQLITE_NOTFOUND;
}

static int sector_size(sqlite3_file *file)
{
    (void)file;
    return (int)SECTOR;
}

static int characteristics(sqlite3_file *file)
{
    (void)file;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE; /* as SQLite's own of Unix says */
}

static const sqlite3_io_methods methods = { .iVersion = 1,
                                            .xClose = file_close,
                                            .xRead = file_read,
                                            .xWrite = file_write,
                                            .xTruncate = file_truncate,
                                            .xSync = file_sync,
                                            .xFileSize = file_size,
                                            .xLock = file_lock,
                                            .xUnlock = file_lock,
                                            .xCheckReservedLock = file_check_reserved,
                                            .xFileControl = file_control,
                                            .xSectorSize = sector_size,
                                            .xDeviceCharacteristics = characteristics };

/* ---- SQLite's calls on the disk ---- */

static int disk_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *out)
{
    struct handle *h = handle_of(base);
    struct disk *disk = vfs->pAppData;
    h->base.pMethods = NULL;
    if (!name || strlen(name) >= DISK_NAME)
        return SQLITE_CANTOPEN;
    struct disk_file *file = find(disk, name);
    if (!file && !(flags & SQLITE_OPEN_CREATE))
        return SQLITE_CANTOPEN;
    if (!file) {
        file = find(disk, "");
        if (!file)
            BUG("more than %d files", DISK_FILES);
        if (crash_point(disk->crash))
            return SQLITE_CANTOPEN;
        memcpy(file->name, name, strlen(name) + 1);
        file->size = 0;
    }
    h->base.pMethods = &methods;
    h->disk = disk;
    h->file = file;
    if (out)
        *out = flags;
    return SQLITE_OK;
}

static int disk_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    struct disk *disk = vfs->pAppData;
    struct disk_file *file = find(disk, name);
    (void)sync;
    if (crash_point(disk->crash))
        return SQLITE_IOERR_DELETE;
    if (!file)
        return SQLITE_IOERR_DELETE_NOENT;
    drop(file);
    return SQLITE_OK;
}

static int disk_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    const struct disk_file *file = find(vfs->pAppData, name);
    *out = file && (flags != SQLITE_ACCESS_EXISTS || file->size > 0);
    return SQLITE_OK;
}

static int disk_path(sqlite3_vfs *vfs, const char *name, int n, char *out)
{
    size_t len = strlen(name);
    (void)vfs;
    if (len >= (size_t)n)
        return SQLITE_CANTOPEN;
    memcpy(out, name, len + 1);
    return SQLITE_OK;
}

static int disk_random(sqlite3_vfs *vfs, int n, char *out)
{
    memset(out, 7, (size_t)n); /* salts of a WAL only differ from the last ones */
    (void)vfs;
    return n;
}

static int disk_sleep(sqlite3_vfs *vfs, int us)
{
    (void)vfs;
    return us;
}

static int disk_time(sqlite3_vfs *vfs, double *out)
{
    (void)vfs;
    *out = 2460000.5;
    return SQLITE_OK;
}

static int disk_error(sqlite3_vfs *vfs, int n, char *out)
{
    (void)vfs;
    (void)n;
    (void)out;
    return 0;
}

void disk_register(struct disk *disk)
{
    static sqlite3_vfs vfs = { .iVersion = 1,
                               .szOsFile = (int)sizeof(struct handle),
                               .mxPathname = DISK_NAME,
                               .zName = "memory disk",
                               .xOpen = disk_open,
                               .xDelete = disk_delete,
                               .xAccess = disk_access,
                               .xFullPathname = disk_path,
                               .xRandomness = disk_random,
                               .xSleep = disk_sleep,
                               .xCurrentTime = disk_time,
                               .xGetLastError = disk_error };
    vfs.pAppData = disk;
    if (sqlite3_vfs_register(&vfs, 1) != SQLITE_OK)
        BUG("sqlite3_vfs_register");
}

/* ---- images ---- */

static void copy_file(struct disk_file *to, const struct disk_file *from)
{
    memcpy(to->name, from->name, sizeof to->name);
    make_room(to, from->size);
    if (from->size)
        memcpy(to->data, from->data, from->size);
    to->size = from->size;
}

void disk_keep(const struct disk *disk, struct disk_image *image)
{
    for (size_t i = 0; i < DISK_FILES; i++)
        copy_file(&image->files[i], &disk->files[i]);
}

void disk_begin(struct disk *disk, const struct disk_image *image)
{
    disk_heal(disk);
    disk->writes = disk->syncs = 0;
    for (size_t i = 0; i < DISK_FILES; i++) {
        drop(&disk->files[i]);
        if (image)
            copy_file(&disk->files[i], &image->files[i]);
    }
}

static void file_fini(struct disk_file *file)
{
    forget_unsynced(file);
    vec_fini(&file->unsynced);
    free(file->data);
    *file = (struct disk_file){ .size = 0 };
}

void disk_fini(struct disk *disk)
{
    for (size_t i = 0; i < DISK_FILES; i++)
        file_fini(&disk->files[i]);
}

void disk_image_fini(struct disk_image *image)
{
    for (size_t i = 0; i < DISK_FILES; i++)
        file_fini(&image->files[i]);
}

/* ---- the end mark ---- */

#define MARK_NAME "mark"

static struct disk_file *mark_of(struct disk *disk)
{
    struct disk_file *file = find(disk, MARK_NAME);
    if (file)
        return file;
    file = find(disk, "");
    if (!file)
        BUG("more than %d files", DISK_FILES);
    memcpy(file->name, MARK_NAME, sizeof MARK_NAME);
    file->size = 0;
    return file;
}

long disk_read_mark(struct disk *disk, void *out, size_t n, size_t at)
{
    const struct disk_file *file = mark_of(disk);
    size_t have = at < file->size ? file->size - at : 0;
    have = have < n ? have : n;
    if (have)
        memcpy(out, file->data + at, have);
    return (long)have;
}

long disk_write_mark(struct disk *disk, const void *data, size_t n, size_t at)
{
    struct disk_file *file = mark_of(disk);
    bool was = disk->crash->dead;
    if (crash_point(disk->crash)) {
        if (!was && dice_below(disk->dice, 2)) /* in the middle of it */
            put(file, data, n / 2, at);
        return -1;
    }
    if (fails(disk))
        return -1;
    put(file, data, n, at);
    if (dice_below(disk->dice, 16) == 0)
        forget_unsynced(file); /* by itself, as a kernel does */
    crash_point(disk->crash);
    return (long)n;
}

int disk_sync_mark(struct disk *disk)
{
    if (crash_point(disk->crash) || fails(disk))
        return -1;
    if (!disk->skips_syncs)
        forget_unsynced(mark_of(disk));
    return 0;
}

/* ---- power ---- */

/* The newest first: each then stands in the file as it was written. What is to be kept is set aside
 * in its place. */
static void take_back(struct disk_file *file, struct disk_write *write, bool keep)
{
    unsigned char *kept = NULL;
    if (keep && write->len) {
        kept = mem_new(write->len);
        memcpy(kept, file->data + write->at, write->len);
    }
    if (write->n_old)
        memcpy(file->data + write->at, write->old, write->n_old);
    file->size = write->size;
    free(write->old);
    write->old = kept;
    write->n_old = kept ? write->len : 0;
}

static void lose(struct disk_file *file, struct dice *dice, uint32_t keeps)
{
    for (size_t i = file->unsynced.n; i-- > 0;)
        take_back(file, &file->unsynced.at[i], dice_below(dice, 100) < keeps);
    for (size_t i = 0; i < file->unsynced.n; i++) {
        struct disk_write *write = &file->unsynced.at[i];
        size_t n = write->n_old;
        if (n > SECTOR && dice_below(dice, 4) == 0) /* torn */
            n = SECTOR * dice_below(dice, (uint32_t)(n / SECTOR) + 1);
        if (n && write->at + n > file->size)
            resize(file, write->at + n);
        if (n)
            memcpy(file->data + write->at, write->old, n);
    }
    forget_unsynced(file);
}

void disk_lose_power(struct disk *disk)
{
    static const uint32_t keeps[] = { 0, 0, 0, 50, 90 };
    uint32_t percent = keeps[dice_below(disk->dice, (uint32_t)ARRAY_LEN(keeps))];
    for (size_t i = 0; i < DISK_FILES; i++)
        lose(&disk->files[i], disk->dice, percent);
}
