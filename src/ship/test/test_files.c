/* Files of a chain as they may come back: cut anywhere, altered anywhere, of another form or from a
 * newer muster. And a directory as their target, where something else lies already. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/tar.h"
#include "ship/backup_file.h"
#include "ship/backup_tar.h"
#include "ship/chain.h"
#include "ship/target.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define ARCHIVE BACKUP_ARCHIVES HASH
#define HASH    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct fix {
    char dir[64];
    struct arena *arena;
    struct target *target;
    struct buf tar;
    struct err err;
};

static int set_up(void **state)
{
    static struct fix f;
    f = (struct fix){ .dir = "/tmp/muster-files-XXXXXX",
                      .arena = arena_create(),
                      .tar = BUF_INIT(8u << 20) };
    assert_non_null(mkdtemp(f.dir));
    f.target = target_open(&(struct target_place){ .where = f.dir }, &f.err);
    *state = &f;
    return f.target ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    target_close(f->target);
    buf_fini(&f->tar);
    arena_destroy(f->arena);
    return file_remove_tree(f->dir, NULL);
}

/* ---- files ---- */

static int add_bytes(void *arg, const void *data, size_t n, struct err *err)
{
    buf_add(arg, data, n);
    return ((struct buf *)arg)->overflow ? err_set(err, ERR_FULL, "there is no room") : 0;
}

static int file_of(const char *text)
{
    int fd = memfd_create("of", MFD_CLOEXEC);
    assert_int_equal(file_write_all(fd, text, strlen(text)), 0);
    return fd;
}

/* Of a backup with one archive; the text of each is its name. */
static void write_backup(struct fix *f, const char *kind, int version, const char *const *names)
{
    struct backup_tar tar;
    char sha256[SHA256_TEXT];
    struct text_node *root = text_map(f->arena, NULL, NULL);
    text_int(f->arena, root, kind, version);
    text_str(f->arena, root, "muster", "9.9");
    buf_clear(&f->tar);
    backup_tar_begin(&tar, (struct byte_sink){ add_bytes, &f->tar }, f->arena, root);
    for (size_t i = 0; names[i]; i++) {
        AUTO_CLOSE int fd = file_of(names[i]);
        assert_int_equal(backup_tar_add(&tar, names[i], fd, &f->err), 0);
    }
    assert_int_equal(backup_tar_end(&tar, sha256, &f->err), 0);
}

struct bytes {
    const char *at;
    size_t len, most; /* most: so many are read at once */
};

static ssize_t read_bytes(void *arg, void *to, size_t n, struct err *err)
{
    struct bytes *from = arg;
    (void)err;
    n = n < from->most ? n : from->most;
    n = n < from->len ? n : from->len;
    memcpy(to, from->at, n);
    from->at += n;
    from->len -= n;
    return (ssize_t)n;
}

static const struct text_node *read_backup(struct fix *f, size_t len, const char *dir)
{
    struct bytes bytes = { .at = f->tar.data, .len = len, .most = 1000 };
    const struct backup_stream stream = { .kind = BACKUP_WHOLE,
                                          .name = "it",
                                          .dir = dir,
                                          .from = { .read = read_bytes, .arg = &bytes } };
    f->err = (struct err){ 0 };
    return backup_stream_read(f->arena, &stream, &f->err);
}

static const char *const whole[] = { BACKUP_RECORDS, ARCHIVE, NULL };

static void test_every_cut(void **state)
{
    struct fix *f = *state;
    write_backup(f, "muster_backup", 1, whole);
    const struct text_node *m = read_backup(f, f->tar.len, NULL);
    assert_non_null(m);
    assert_int_equal(text_number(m, "archives"), 1);
    assert_int_equal(text_number(m, "bytes"), strlen(whole[0]) + strlen(whole[1]));
    for (size_t len = 0; len + TAR_BLOCK < f->tar.len; len += 171) {
        assert_null(read_backup(f, len, NULL));
        assert_int_equal(f->err.code, ERR_INPUT);
    }
}

/* But for what no hash is of: dates in headers, padding. */
static void test_every_byte_of_data(void **state)
{
    struct fix *f = *state;
    write_backup(f, "muster_backup", 1, whole);
    for (size_t i = 0; i < strlen(whole[1]); i++) {
        char *byte = &f->tar.data[3 * TAR_BLOCK + i];
        *byte = (char)(*byte ^ 1);
        assert_null(read_backup(f, f->tar.len, NULL));
        assert_non_null(strstr(f->err.what, "is not what was written"));
        *byte = (char)(*byte ^ 1);
    }
    assert_non_null(read_backup(f, f->tar.len, NULL));
}

static void test_other_forms(void **state)
{
    struct fix *f = *state;
    static const struct {
        const char *kind, *names[4], *why;
        int version;
        enum err_code code;
    } cases[] = {
        { "muster_backup", { BACKUP_RECORDS }, "written by muster 9.9", 2, ERR_CANNOT },
        { "muster_backup", { ARCHIVE }, "its manifest has are missing", 1, ERR_INPUT },
        { "muster_backup", { BACKUP_PAGES }, "it holds \"muster.pages\"", 1, ERR_INPUT },
        { "muster_backup", { BACKUP_RECORDS, "../up" }, "it holds \"../up\"", 1, ERR_INPUT },
        { "muster_backup", { BACKUP_RECORDS, "archives/0/../x" }, "it holds", 1, ERR_INPUT },
        { "muster_backup", { BACKUP_RECORDS, "archives/" HASH "0" }, "it holds", 1, ERR_INPUT },
        { "muster_segment", { BACKUP_RECORDS }, "there is no manifest in it", 1, ERR_INPUT },
    };
    AUTO_FREE char *archives = file_join(f->dir, BACKUP_ARCHIVES);
    assert_int_equal(mkdir(archives, 0700), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        write_backup(f, cases[i].kind, cases[i].version, cases[i].names);
        assert_null(read_backup(f, f->tar.len, f->dir));
        assert_non_null(strstr(f->err.what, cases[i].why));
        assert_int_equal(f->err.code, cases[i].code);
        AUTO_FREE char *there = file_join(f->dir, BACKUP_RECORDS);
        (void)unlink(there);
    }
}

/* What is there is never written over, and a link is not followed. */
static void test_nothing_is_written_over(void **state)
{
    struct fix *f = *state;
    AUTO_FREE char *there = file_join(f->dir, BACKUP_RECORDS);
    AUTO_FREE char *elsewhere = file_join(f->dir, "elsewhere");
    write_backup(f, "muster_backup", 1, (const char *const[]){ BACKUP_RECORDS, NULL });
    assert_int_equal(symlink(elsewhere, there), 0);
    assert_null(read_backup(f, f->tar.len, f->dir));
    assert_int_equal(access(elsewhere, F_OK), -1);
    assert_int_equal(unlink(there), 0);
    assert_non_null(read_backup(f, f->tar.len, f->dir));
    assert_null(read_backup(f, f->tar.len, f->dir)); /* the one of before */
}

static void test_a_sink_that_fails(void **state)
{
    struct fix *f = *state;
    struct backup_tar tar;
    struct text_node *root = text_map(f->arena, NULL, NULL);
    AUTO_BUF struct buf small = BUF_INIT(TAR_BLOCK + 3);
    AUTO_CLOSE int fd = file_of("longer than that");
    backup_tar_begin(&tar, (struct byte_sink){ add_bytes, &small }, f->arena, root);
    assert_int_equal(backup_tar_add(&tar, BACKUP_RECORDS, fd, &f->err), -1);
    assert_int_equal(f->err.code, ERR_FULL);
    assert_int_equal(backup_tar_add(&tar, BACKUP_RECORDS, -1, &f->err), -1);
}

/* ---- a directory ---- */

static void put_text(struct fix *f, const char *name, const char *text)
{
    assert_int_equal(target_write(f->target, name, text, strlen(text), &f->err), 0);
}

static void test_a_directory(void **state)
{
    struct fix *f = *state;
    AUTO_FREE char *text = NULL, *part = file_join(f->dir, "00000001/base.tar.part");
    size_t len;
    assert_null(target_create(f->target, "00000001/base.tar", &f->err)); /* no room was made */
    assert_int_equal(target_begin(f->target, 1, &f->err), 0);
    assert_int_equal(target_begin(f->target, 1, &f->err), -1);
    assert_int_equal(target_read(f->target, "00000001/base.tar", &text, &len, &f->err), -1);
    assert_int_equal(f->err.code, ERR_NOT_FOUND);
    struct target_file *file = target_create(f->target, "00000001/base.tar", &f->err);
    assert_int_equal(target_put(file, "half", 4, &f->err), 0);
    assert_null(target_get(f->target, "00000001/base.tar", &f->err)); /* it has no name yet */
    target_abandon(file);
    assert_int_equal(access(part, F_OK), -1);
    put_text(f, "00000001/base.tar", "first");
    put_text(f, "00000001/base.tar", "second");
    assert_int_equal(target_read(f->target, "00000001/base.tar", &text, &len, &f->err), 0);
    assert_true(len == 6 && memcmp(text, "second", 6) == 0);
    assert_int_equal(target_remove(f->target, 1, 0, &f->err), 0);
    assert_null(target_get(f->target, "00000001/base.tar", &f->err));
}

static void test_a_text_has_a_limit(void **state)
{
    struct fix *f = *state;
    const size_t most = 4u << 20;
    AUTO_FREE char *long_one = mem_new(most + 2), *text = NULL;
    size_t len;
    memset(long_one, 'x', most + 1);
    put_text(f, "long", long_one);
    assert_int_equal(target_read(f->target, "long", &text, &len, &f->err), -1);
    assert_int_equal(f->err.code, ERR_TOO_LARGE);
    assert_null(text);
    long_one[most] = '\0';
    put_text(f, "long", long_one);
    assert_int_equal(target_read(f->target, "long", &text, &len, &f->err), 0);
    assert_int_equal(len, most);
}

static void test_only_chains_are_listed(void **state)
{
    struct fix *f = *state;
    static const char *const others[] = { "00000000", "0000001",  "000000012",
                                          "0000000a", "+0000001", "lost+found" };
    struct chains found = { .all.n = 0 };
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        AUTO_FREE char *path = file_join(f->dir, others[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_int_equal(target_begin(f->target, 99999999, &f->err), 0);
    assert_int_equal(target_begin(f->target, 7, &f->err), 0);
    assert_int_equal(target_list(f->target, &found, &f->err), 0);
    assert_true(found.all.n == 2 && found.all.at[0] == 7 && found.all.at[1] == 99999999);
    vec_fini(&found.all);
}

/* ---- heads ---- */

static void test_damaged_heads(void **state)
{
    struct fix *f = *state;
    static const char *const texts[] = { "",
                                         "{",
                                         "[]",
                                         "{\"chain\":3}",
                                         "{\"chain\":3,\"sha256\":\"" HASH "0\"}",
                                         "{\"chain\":3,\"sha256\":7}",
                                         "{\"chain\":-3,\"sha256\":\"" HASH "\"}",
                                         "{\"chain\":4,\"sha256\":\"" HASH "\"}" };
    struct chain_head head = { .chain = 77 };
    assert_int_equal(target_begin(f->target, 3, &f->err), 0);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        put_text(f, "00000003/" CHAIN_HEAD, texts[i]);
        assert_int_equal(chain_read_head(f->target, f->arena, 3, &head, &f->err), -1);
        assert_int_equal(f->err.code, ERR_INPUT);
        assert_int_equal(head.chain, 77);
    }
    put_text(f, "00000003/" CHAIN_HEAD, "{\"chain\":3,\"number\":2,\"sha256\":\"" HASH "\"}");
    assert_int_equal(chain_read_head(f->target, f->arena, 3, &head, &f->err), 0);
    assert_true(head.chain == 3 && head.number == 2);
}

/* An older chain is not taken for the newest one when that lost its head. */
static void test_a_lost_head(void **state)
{
    struct fix *f = *state;
    struct chain_head head;
    assert_int_equal(chain_newest(f->target, f->arena, &head, &f->err), -1);
    assert_int_equal(f->err.code, ERR_NOT_FOUND);
    assert_int_equal(target_begin(f->target, 1, &f->err), 0);
    assert_int_equal(target_begin(f->target, 2, &f->err), 0);
    put_text(f, "00000001/" CHAIN_HEAD, "{\"chain\":1,\"sha256\":\"" HASH "\"}");
    put_text(f, "00000002/base.tar", "begun");
    assert_int_equal(chain_newest(f->target, f->arena, &head, &f->err), 0);
    assert_int_equal(head.chain, 1);
    put_text(f, "00000002/00000001.tar", "goes on");
    assert_int_equal(chain_newest(f->target, f->arena, &head, &f->err), -1);
    assert_int_equal(f->err.code, ERR_INPUT);
    assert_non_null(strstr(f->err.what, "of chain 2 is missing"));
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_every_cut),          T(test_every_byte_of_data),
        T(test_other_forms),        T(test_nothing_is_written_over),
        T(test_a_sink_that_fails),  T(test_a_directory),
        T(test_a_text_has_a_limit), T(test_only_chains_are_listed),
        T(test_damaged_heads),      T(test_a_lost_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
