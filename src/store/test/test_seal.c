/* Keys, sealed texts, and records: nothing that is secret is in the files in clear, also not in
 * pages that were in use once. Older records are sealed when they are opened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "store/db.h"
#include "store/list_row.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define WORD "zyzzyva"

struct fix {
    char dir[64];
    char *db, *key;
    struct arena *arena;
};

static int make(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    snprintf(f->dir, sizeof f->dir, "/tmp/seal.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->db = file_join(f->dir, "db");
    f->key = file_join(f->dir, "keys/key");
    f->arena = arena_create();
    *state = f;
    return 0;
}

static int drop(void **state)
{
    struct fix *f = *state;
    file_remove_tree(f->dir, NULL);
    arena_destroy(f->arena);
    free(f->db);
    free(f->key);
    free(f);
    return 0;
}

static void put_key(const struct fix *f, const char *bytes, size_t len, mode_t mode)
{
    struct err err;
    AUTO_FREE char *dir = file_join(f->dir, "keys");
    assert_int_equal(file_mkdirs(dir, 0700, &err), 0);
    assert_int_equal(file_replace(f->key, bytes, len, mode, &err), 0);
    assert_int_equal(chmod(f->key, mode), 0);
}

static void test_key(void **state)
{
    struct fix *f = *state;
    unsigned char one[SEAL_KEY_LEN], two[SEAL_KEY_LEN];
    struct stat st;
    struct err err;
    assert_int_equal(seal_read_key(f->key, true, one, &err), -1);
    assert_int_equal(err.code, ERR_CANNOT);
    assert_int_equal(access(f->key, F_OK), -1); /* not made */
    assert_int_equal(seal_read_key(f->key, false, one, &err), 0);
    assert_int_equal(stat(f->key, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(seal_read_key(f->key, true, two, &err), 0);
    assert_memory_equal(one, two, SEAL_KEY_LEN);
}

static void test_bad_key(void **state)
{
    struct fix *f = *state;
    static const char bytes[SEAL_KEY_LEN + 1] = "0123456789abcdef0123456789abcdef";
    static const size_t lengths[] = { 0, 1, SEAL_KEY_LEN - 1, SEAL_KEY_LEN + 1 };
    unsigned char key[SEAL_KEY_LEN];
    struct stat st;
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        put_key(f, bytes, lengths[i], 0600);
        assert_int_equal(seal_read_key(f->key, false, key, &err), -1);
        assert_int_equal(err.code, ERR_CANNOT);
        assert_int_equal(stat(f->key, &st), 0);
        assert_int_equal(st.st_size, lengths[i]); /* as it was */
    }
    put_key(f, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", SEAL_KEY_LEN,
            0600);
    assert_int_equal(seal_read_key(f->key, false, key, &err), -1);
    assert_non_null(strstr(err.what, "nothing but zeros"));
    put_key(f, bytes, SEAL_KEY_LEN, 0640);
    assert_int_equal(seal_read_key(f->key, false, key, &err), -1);
    assert_int_equal(err.code, ERR_DENIED);
    put_key(f, bytes, SEAL_KEY_LEN, 0400);
    assert_int_equal(seal_read_key(f->key, false, key, &err), 0);
    assert_memory_equal(key, bytes, SEAL_KEY_LEN);
}

static void test_texts(void **state)
{
    struct fix *f = *state;
    struct err err;
    AUTO_FREE char *other_key = file_join(f->dir, "other");
    struct seal *seal = seal_open(f->key, false, &err);
    struct seal *other = seal_open(other_key, false, &err);
    AUTO_FREE char *one = seal_text(seal, WORD, strlen(WORD));
    AUTO_FREE char *two = seal_text(seal, WORD, strlen(WORD));
    AUTO_FREE char *empty = seal_text(seal, "", 0);
    assert_string_not_equal(one, two);
    assert_null(strstr(one, WORD));
    assert_string_equal(seal_reveal(seal, f->arena, one), WORD);
    assert_string_equal(seal_reveal(seal, f->arena, empty), "");
    assert_string_equal(seal_reveal(seal, f->arena, "plain"), "plain");
    assert_string_equal(seal_reveal(NULL, f->arena, "plain"), "plain");
    assert_null(seal_reveal(seal, f->arena, NULL));
    assert_null(seal_reveal(NULL, f->arena, one));
    assert_null(seal_reveal(other, f->arena, one));
    assert_null(seal_reveal(seal, f->arena, SEALED_MARK));
    assert_null(seal_reveal(seal, f->arena, SEALED_MARK "AAAA"));
    assert_null(seal_reveal(seal, f->arena, SEALED_MARK "!"));
    one[strlen(one) - 6] ^= 1;
    assert_null(seal_reveal(seal, f->arena, one));
    seal_destroy(seal);
    seal_destroy(other);
}

static struct store *open_records(const struct fix *f, bool sealed, bool *fits)
{
    struct err err;
    struct store *st = store_open(f->db, &err);
    assert_non_null(st);
    struct seal *seal = sealed ? seal_open(f->key, store_has_sealed(st), &err) : NULL;
    if (sealed)
        assert_int_equal(store_use_seal(st, seal, fits, &err), 0);
    return st;
}

static void put_all(const struct fix *f, struct store *st)
{
    struct origin_row origin = { .job = 1, .text = "{pw: " WORD "}", .masked = "{pw: ***}" };
    struct origin_row open = { .job = 2, .text = "{run: x}", .masked = "{run: x}" };
    struct object_row secret = { .kind = "k8s.secrets", .name = "s", .spec = "{a: " WORD "}" };
    struct object_row document = { .kind = "job.document", .name = "a", .spec = "{a: " WORD "}" };
    struct object_row other = { .kind = "job.tag", .name = "c", .spec = "{a: x}" };
    struct job_row job = { .id = 1,
                           .number = 1,
                           .owner = "ada",
                           .project = "",
                           .name = "j",
                           .queue = "default",
                           .dialect = "dlc",
                           .state = JOB_QUEUED,
                           .reason.text = "",
                           .spec = "{env: " WORD "}",
                           .site = "{differs: " WORD "}" };
    pairs_set(&job.facets, f->arena, "run", "searched for");
    assert_int_equal(store_put_job(st, &job, NULL), 0);
    assert_int_equal(store_put_origin(st, &origin, NULL), 0);
    assert_int_equal(store_put_origin(st, &open, NULL), 0);
    assert_int_equal(store_put_object(st, &secret, NULL), 0);
    assert_int_equal(store_put_object(st, &document, NULL), 0);
    assert_int_equal(store_put_object(st, &other, NULL), 0);
    assert_int_equal(store_put_secret(st, "ada", "registry/1", WORD, strlen(WORD), NULL), 0);
    assert_int_equal(store_commit(st, NULL), 0);
}

static bool in_files(const struct fix *f, const char *word)
{
    static const char *const names[] = { "db", "db-wal" };
    bool found = false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO_FREE char *path = file_join(f->dir, names[i]);
        AUTO_FREE char *data = NULL;
        size_t len = 0;
        if (file_read(path, 64u << 20, &data, &len, NULL) == 0)
            found = found || memmem(data, len, word, strlen(word));
    }
    return found;
}

static void is_as_put(const struct fix *f, struct store *st)
{
    struct origin_row origin;
    struct object_row secret = { .kind = "k8s.secrets", .name = "s" }, *all;
    struct said_ask ask = { .job = 1, .kind = "job.document", .name = "a", .text = SAID_MASKED };
    struct said_row said;
    struct job_row job;
    const char *spec;
    size_t n;
    assert_int_equal(store_get_job(st, f->arena, 1, &job, NULL), 1);
    assert_string_equal(job.spec, "{env: " WORD "}");
    assert_string_equal(job.site, "{differs: " WORD "}");
    assert_int_equal(store_get_spec(st, f->arena, 1, &spec, NULL), 1);
    assert_string_equal(spec, job.spec);
    assert_int_equal(store_get_said(st, f->arena, &ask, &said, NULL), 1);
    assert_string_equal(said.text, "{pw: ***}");
    ask.text = SAID_SPEC;
    assert_int_equal(store_get_said(st, f->arena, &ask, &said, NULL), 1);
    assert_string_equal(said.text, job.spec);
    assert_int_equal(store_get_origin(st, f->arena, 1, &origin, NULL), 1);
    assert_string_equal(origin.text, "{pw: " WORD "}");
    assert_string_equal(origin.masked, "{pw: ***}");
    assert_int_equal(store_get_object(st, f->arena, &secret, NULL), 1);
    assert_string_equal(secret.spec, "{a: " WORD "}");
    assert_int_equal(store_objects(st, f->arena, &secret, &all, &n, NULL), 0);
    assert_int_equal(n, 1);
    assert_string_equal(all[0].spec, "{a: " WORD "}");
}

static void test_records(void **state)
{
    struct fix *f = *state;
    bool fits = false;
    struct store *st = open_records(f, true, &fits);
    assert_true(fits);
    put_all(f, st);
    is_as_put(f, st);
    assert_false(in_files(f, WORD));
    assert_false(in_files(f, "{run: x}")); /* nothing of a job's text */
    assert_true(in_files(f, "searched for"));
    store_close(st);
    st = open_records(f, true, &fits);
    assert_true(fits);
    is_as_put(f, st);
    store_close(st);
}

/* What an older server wrote: in the records, and in pages that were in use once. */
static void test_older(void **state)
{
    struct fix *f = *state;
    struct origin_row gone = { .job = 9, .text = "{pw: " WORD "}", .masked = "{pw: ***}" };
    bool fits;
    struct store *st = open_records(f, false, &fits);
    put_all(f, st);
    assert_int_equal(store_put_origin(st, &gone, NULL), 0);
    assert_int_equal(store_commit(st, NULL), 0);
    assert_false(store_has_sealed(st));
    store_close(st);
    assert_true(in_files(f, WORD));
    st = open_records(f, true, &fits);
    assert_true(fits && store_has_sealed(st));
    is_as_put(f, st);
    assert_false(in_files(f, WORD));
    store_close(st);
}

/* A server that sealed credentials only: the rest is sealed by its key too, and by no other. */
static void test_credentials(void **state)
{
    struct fix *f = *state;
    struct err err;
    bool fits;
    struct store *st = open_records(f, true, &fits);
    struct seal *seal = seal_open(f->key, true, &err);
    AUTO_FREE char *mark = seal_text(seal, "the key of this server", 22);
    seal_destroy(seal);
    store_close(st);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(f->db, &db), SQLITE_OK);
    AUTO_FREE char *rows = mem_printf(
        "DELETE FROM secret; INSERT INTO secret VALUES ('', 'seal', CAST('%s' AS BLOB));", mark);
    assert_int_equal(sqlite3_exec(db, rows, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    st = open_records(f, false, &fits);
    assert_true(store_has_sealed(st));
    put_all(f, st);
    store_close(st);
    AUTO_FREE char *right = mem_printf("%s.right", f->key);
    assert_int_equal(rename(f->key, right), 0);
    put_key(f, "another key another key another!", SEAL_KEY_LEN, 0600);
    st = open_records(f, true, &fits);
    assert_false(fits);
    store_close(st);
    assert_true(in_files(f, WORD)); /* not sealed by it */
    assert_int_equal(rename(right, f->key), 0);
    st = open_records(f, true, &fits);
    assert_true(fits);
    is_as_put(f, st);
    assert_false(in_files(f, WORD));
    store_close(st);
}

#define HASHED "$argon2id$of-a-password"

static void put_people(struct store *st)
{
    for (unsigned i = 0; i < 20; i++) {
        char name[32], spec[120];
        snprintf(name, sizeof name, "person %u", i);
        snprintf(spec, sizeof spec, "{\"password\": \"" HASHED "\", \"role\": \"user\"}");
        struct object_row row = { .kind = "user", .project = "", .name = name, .spec = spec };
        assert_int_equal(store_put_object(st, &row, NULL), 0);
    }
    assert_int_equal(store_commit(st, NULL), 0);
}

/* Of a recording: it opens nothing, and knows the key. What is taken out of it does not lie in
 * unused parts of its pages, and neither does what the server's memory had in their place. */
static void test_copy(void **state)
{
    struct fix *f = *state;
    struct err err;
    bool fits;
    AUTO_FREE char *path = file_join(f->dir, "copy");
    struct store *st = open_records(f, true, &fits);
    put_all(f, st);
    put_people(st);
    assert_int_equal(store_copy(st, path, &err), 0);
    store_close(st);
    AUTO_FREE char *data = NULL;
    size_t len;
    assert_int_equal(file_read(path, 64u << 20, &data, &len, NULL), 0);
    assert_null(memmem(data, len, WORD, strlen(WORD)));
    assert_null(memmem(data, len, HASHED, strlen(HASHED)));
    assert_non_null(memmem(data, len, "person 7", 8));
    struct job_row job;
    for (int right = 1; right >= 0; right--) {
        if (!right)
            put_key(f, "another key another key another!", SEAL_KEY_LEN, 0600);
        st = store_open_copy(path, &err);
        assert_true(st && store_has_sealed(st));
        assert_int_equal(store_use_seal(st, seal_open(f->key, true, &err), &fits, &err), 0);
        assert_int_equal(fits, right);
        assert_int_equal(store_get_job(st, f->arena, 1, &job, NULL), 1);
        assert_int_equal(job.spec != NULL, right);
        store_close(st);
    }
}

static void test_another_key(void **state)
{
    struct fix *f = *state;
    bool fits;
    struct err err;
    struct origin_row origin;
    struct job_row job = { .id = 1, .state = JOB_FAILED, .reason.text = "" };
    struct store *st = open_records(f, true, &fits);
    put_all(f, st);
    store_close(st);
    assert_int_equal(unlink(f->key), 0);
    st = store_open(f->db, &err);
    assert_null(seal_open(f->key, store_has_sealed(st), &err)); /* no new one instead */
    assert_non_null(strstr(err.what, f->key));
    store_close(st);
    put_key(f, "another key another key another!", SEAL_KEY_LEN, 0600);
    st = open_records(f, true, &fits);
    assert_false(fits);
    assert_int_equal(store_get_origin(st, f->arena, 1, &origin, NULL), 1);
    assert_true(!origin.text && !origin.masked);
    assert_int_equal(store_get_job(st, f->arena, 1, &job, NULL), 1);
    assert_true(!job.spec && !job.site);
    /* no job that lives is lost by a mistake */
    assert_int_equal(store_change_seal(st, &err), -1);
    assert_non_null(strstr(err.what, "1 job lives"));
    job.state = JOB_FAILED;
    assert_int_equal(store_update_job(st, &job, NULL), 0);
    assert_int_equal(store_commit(st, NULL), 0);
    assert_int_equal(store_change_seal(st, &err), 0);
    store_close(st);
    st = open_records(f, true, &fits);
    assert_true(fits);
    store_close(st);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make, drop)
    const struct CMUnitTest tests[] = { T(test_key),         T(test_bad_key), T(test_texts),
                                        T(test_records),     T(test_older),   T(test_credentials),
                                        T(test_another_key), T(test_copy) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
