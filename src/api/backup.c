/* POST /v1/backup: a tar of the records, of the packed code that live jobs need, and last of what
 * it holds, with hashes. One stream in three phases: the files are listed and the records copied in
 * slices between turns; then the answer begins, so that what fails until there is a problem
 * document; then files go out as fast as the client reads. A stream that breaks off lacks its end.
 *
 * No key is in it, and nothing that opens a door by itself (doc/operating.md). */
#include "api/file_drop.h"
#include "api/work.h"

#include "answer/archives.h"
#include "backup/records_copy.h"
#include "base/mem.h"
#include "base/tar.h"
#include "base/turn_meter.h"
#include "base/vec.h"
#include "job/job.h"
#include "text/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define STREAM_ROOM  ((size_t)256 << 10)
#define PIECE        ((size_t)64 << 10)
#define MANIFEST_MAX ((size_t)16 << 20)
#define HASH_LEN     64
#define RECORDS_NAME "muster.db"
#define HASH_TEXT    (2 * crypto_hash_sha256_BYTES + 1)

enum phase { LIST_BEFORE, COPY, LIST_AFTER, RECORDS, ARCHIVES, MANIFEST, END };

struct backup {
    struct call *call;
    struct records_copy *copy;
    enum phase phase;
    DIR *dir;
    VEC(char *) archives; /* hashes, in the call's arena */
    size_t at;            /* of archives: the next */
    struct text_node *root, *members;
    int records; /* the copy, open; -1: not yet */
    /* the member that is sent */
    int fd;
    struct tar_member member;
    uint64_t left;
    crypto_hash_sha256_state hash;
};

static void free_backup(struct backup *b)
{
    struct err err;
    if (b->fd >= 0 && b->fd != b->records)
        close(b->fd);
    if (b->dir)
        closedir(b->dir);
    if (b->records < 0)
        b->records = records_copy_open(b->copy, &err);
    records_copy_end(b->copy);
    file_drop(b->call->api->config.loop, b->records);
    vec_fini(&b->archives);
    free(b);
}

/* ---- what goes in ---- */

static bool has_archive(const struct backup *b, const char *hash)
{
    for (size_t i = 0; i < b->archives.n; i++)
        if (strcmp(b->archives.at[i], hash) == 0)
            return true;
    return false;
}

/* One file of the archives. false: that was the last. Looked through before the records are copied
 * and after: what a job of the copy needs was needed at one of these times. */
static bool list_one(struct backup *b)
{
    const struct api_config *c = &b->call->api->config;
    struct arena *a = b->call->arena;
    if (!b->dir)
        b->dir = opendir(arena_printf(a, "%s/archives", c->state_dir));
    const struct dirent *entry = b->dir ? readdir(b->dir) : NULL;
    if (!entry) {
        if (b->dir)
            closedir(TAKE(b->dir));
        return false;
    }
    if (strlen(entry->d_name) == HASH_LEN && !has_archive(b, entry->d_name) &&
        answer_needs_archive(c->ctl, arena_printf(a, CODE_ARCHIVE "%s", entry->d_name)))
        vec_push(&b->archives, arena_strdup(a, entry->d_name));
    return true;
}

/* ---- the stream ---- */

static void begin_member(struct backup *b, const char *name, uint64_t size)
{
    unsigned char block[TAR_BLOCK];
    b->member = (struct tar_member){ .size = size, .time_s = (uint64_t)time(NULL) };
    snprintf(b->member.name, sizeof b->member.name, "%s", name);
    b->left = size;
    crypto_hash_sha256_init(&b->hash);
    tar_header(&b->member, block);
    http_stream_write(b->call->request, block, sizeof block);
}

static void end_member(struct backup *b)
{
    static const char zeros[TAR_BLOCK];
    unsigned char hash[crypto_hash_sha256_BYTES];
    char text[HASH_TEXT];
    struct arena *a = b->call->arena;
    struct text_node *map = text_map(a, b->members, NULL);
    crypto_hash_sha256_final(&b->hash, hash);
    text_str(a, map, "name", b->member.name);
    text_int(a, map, "size", (int64_t)b->member.size);
    text_str(a, map, "sha256", sodium_bin2hex(text, sizeof text, hash, sizeof hash));
    http_stream_write(b->call->request, zeros, tar_padding(b->member.size));
    int fd = mem_give_fd(&b->fd);
    if (fd != b->records)
        close(fd);
}

/* -1: the file ended early, or cannot be read. */
static int send_piece(struct backup *b, size_t room)
{
    char piece[PIECE];
    size_t most = room < sizeof piece ? room : sizeof piece;
    ssize_t n = read(b->fd, piece, b->left < most ? (size_t)b->left : most);
    if (n <= 0)
        return -1;
    crypto_hash_sha256_update(&b->hash, (const unsigned char *)piece, (size_t)n);
    http_stream_write(b->call->request, piece, (size_t)n);
    b->left -= (uint64_t)n;
    return 0;
}

static int begin_records(struct backup *b)
{
    struct stat st;
    struct err err;
    b->fd = b->records = records_copy_open(b->copy, &err);
    if (b->fd < 0 || fstat(b->fd, &st) != 0)
        return -1;
    begin_member(b, RECORDS_NAME, (uint64_t)st.st_size);
    return 0;
}

/* One that went away meanwhile is no job's any more. */
static void begin_archive(struct backup *b, const char *hash)
{
    struct stat st;
    struct arena *a = b->call->arena;
    const char *name = arena_printf(a, "archives/%s", hash);
    const char *path = arena_printf(a, "%s/%s", b->call->api->config.state_dir, name);
    b->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (b->fd >= 0 && fstat(b->fd, &st) == 0)
        begin_member(b, name, (uint64_t)st.st_size);
}

static void send_manifest(struct backup *b)
{
    static const char zeros[TAR_BLOCK + TAR_END];
    unsigned char block[TAR_BLOCK];
    AUTO_BUF struct buf text = BUF_INIT(MANIFEST_MAX);
    struct tar_member m = { .name = "manifest.json", .time_s = (uint64_t)time(NULL) };
    json_print(b->root, 2, &text);
    buf_putc(&text, '\n');
    m.size = text.len;
    tar_header(&m, block);
    http_stream_write(b->call->request, block, sizeof block);
    http_stream_write(b->call->request, buf_str(&text), text.len);
    http_stream_write(b->call->request, zeros, tar_padding(m.size) + TAR_END);
}

/* The next member. false: there is none, or the stream has to break off. */
static bool next_member(struct backup *b)
{
    switch (b->phase) {
    case RECORDS: b->phase = ARCHIVES; return begin_records(b) == 0;
    case ARCHIVES:
        if (b->at < b->archives.n)
            begin_archive(b, b->archives.at[b->at++]);
        else
            b->phase = MANIFEST;
        return true;
    case MANIFEST:
        b->phase = END;
        send_manifest(b);
        return true;
    default: return false;
    }
}

static void pump(void *arg)
{
    struct backup *b = arg;
    TURN_WORK(b->call->api->config.meter, "backup", 0);
    bool more = true;
    for (size_t room; more && (room = http_stream_room(b->call->request)) > 0;) {
        if (b->fd < 0)
            more = next_member(b);
        else if (b->left == 0)
            end_member(b);
        else
            more = send_piece(b, room) == 0;
    }
    if (!more)
        http_stream_end(b->call->request);
}

static void on_gone(void *arg)
{
    struct backup *b = arg;
    struct call *call = b->call;
    free_backup(b);
    call_free(call);
}

static void begin_stream(struct backup *b)
{
    struct arena *a = b->call->arena;
    records_copy_put(b->copy, a, b->root, "records");
    b->members = text_list(a, b->root, "members");
    http_set_arg(b->call->request, b, on_gone);
    http_stream_begin(b->call->request, 200, "application/x-tar", STREAM_ROOM, pump);
    pump(b);
}

/* ---- slices ---- */

static bool refuse(struct backup *b, const struct err *err)
{
    struct call *call = b->call;
    free_backup(b);
    call_problem(call, err, NULL);
    return false;
}

static bool step(void *arg)
{
    struct backup *b = arg;
    struct err err;
    switch (b->phase) {
    case COPY: {
        int rc = records_copy_step(b->copy, &err);
        if (rc < 0)
            return refuse(b, &err);
        b->phase = rc ? LIST_AFTER : COPY;
        return true;
    }
    default:
        if (list_one(b))
            return true;
        if (b->phase == LIST_BEFORE) {
            b->phase = COPY;
            return true;
        }
        b->phase = RECORDS;
        begin_stream(b);
        return false;
    }
}

static void on_left(void *arg)
{
    free_backup(arg); /* the call is freed by who calls */
}

static const char *setting(const struct api_config *c, const char *name)
{
    for (size_t i = 0; i < c->n_settings; i++)
        if (strcmp(c->settings[i].name, name) == 0)
            return c->settings[i].value;
    return "";
}

void backup_post(struct call *call)
{
    const struct api_config *c = &call->api->config;
    struct arena *a = call->arena;
    struct err err;
    struct records_copy *copy = ctl_copy_records(c->ctl, false, &err);
    if (!copy) {
        call_problem(call, &err, NULL);
        return;
    }
    struct backup *b = mem_new(sizeof *b);
    *b = (struct backup){ .call = call, .copy = copy, .records = -1, .fd = -1 };
    b->root = text_map(a, NULL, NULL);
    text_int(a, b->root, "muster_backup", 1);
    text_str(a, b->root, "muster", c->version);
    text_int(a, b->root, "made_ms", (int64_t)time(NULL) * 1000);
    text_str(a, b->root, "state_dir", c->state_dir);
    text_str(a, b->root, "seal_key", setting(c, "seal_key"));
    answer_work(call, &(struct answer_work){ .step = step, .left = on_left, .arg = b });
}
