/* The audit record over a real database: a chain that anybody can check again, undone with its
 * turn, and refused to who would change it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "store/audit.h"

#include "base/file.h"
#include "base/mem.h"

#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

struct fix {
    char dir[64];
    char *db;
    struct arena *arena;
    struct store *store;
    struct err err;
};

static int make(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    snprintf(f->dir, sizeof f->dir, "/tmp/audit.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->db = file_join(f->dir, "db");
    f->arena = arena_create();
    f->store = store_open(f->db, &f->err);
    assert_non_null(f->store);
    *state = f;
    return 0;
}

static int drop(void **state)
{
    struct fix *f = *state;
    store_close(f->store);
    file_remove_tree(f->dir, NULL);
    arena_destroy(f->arena);
    free(f->db);
    free(f);
    return 0;
}

static struct audit_row entry(const char *object, uint64_t at_ms)
{
    return (struct audit_row){ .at_ms = at_ms,
                               .user = "ada",
                               .role = "admin",
                               .known = "socket",
                               .from = "uid 1 pid 2",
                               .action = "job.stop",
                               .object = object,
                               .outcome = "ok" };
}

static void add(struct fix *f, const char *object, uint64_t at_ms)
{
    struct audit_row row = entry(object, at_ms);
    assert_int_equal(store_add_audit(f->store, &row, &f->err), 0);
}

static struct audit_row *all(struct fix *f, size_t *n)
{
    struct audit_row *rows;
    const struct audit_range range = { .limit = 100000 };
    assert_int_equal(store_audits(f->store, f->arena, &range, &rows, n, &f->err), 0);
    return rows;
}

/* From the hash of nothing, or of what was removed. */
static void check_chain(struct fix *f, size_t expected)
{
    struct audit_mark at;
    size_t n;
    const struct audit_row *rows = all(f, &n);
    assert_int_equal(n, expected);
    assert_int_equal(store_audit_floor(f->store, &at, &f->err), 0);
    for (size_t i = 0; i < n; i++) {
        AUTO_BUF struct buf text = BUF_INIT(AUDIT_TEXT_MAX);
        assert_int_equal(rows[i].seq, at.seq + 1);
        audit_text(&rows[i], at.hash, &text);
        crypto_hash_sha256(at.hash, (const unsigned char *)buf_str(&text), text.len);
        assert_memory_equal(at.hash, rows[i].hash, AUDIT_HASH);
        at.seq = rows[i].seq;
    }
    const struct audit_mark head = store_audit_head(f->store);
    assert_int_equal(head.seq, at.seq);
    assert_memory_equal(head.hash, at.hash, AUDIT_HASH);
}

static void reopen(struct fix *f)
{
    store_close(f->store);
    f->store = store_open(f->db, &f->err);
    assert_non_null(f->store);
}

static void chain_goes_on_after_a_restart(void **state)
{
    struct fix *f = *state;
    add(f, "job 1 of bob", 1000);
    add(f, "", 2000);
    assert_int_equal(store_commit(f->store, &f->err), 0);
    reopen(f);
    add(f, "job 2 of bob", 3000);
    assert_int_equal(store_commit(f->store, &f->err), 0);
    check_chain(f, 3);
}

static void undone_with_its_turn(void **state)
{
    struct fix *f = *state;
    add(f, "kept", 1000);
    assert_int_equal(store_commit(f->store, &f->err), 0);
    add(f, "undone", 2000);
    store_rollback(f->store);
    add(f, "next", 3000);
    assert_int_equal(store_commit(f->store, &f->err), 0);
    check_chain(f, 2);
}

static void database_refuses_changes(void **state)
{
    static const char *const attacks[] = {
        "UPDATE audit SET user = 'bob' WHERE seq = 1",
        "DELETE FROM audit WHERE seq = 1",
        "DELETE FROM audit",
        "INSERT OR REPLACE INTO audit SELECT * FROM audit WHERE seq = 1",
        ("INSERT INTO audit SELECT 0, at, user, role, known, source, action, object, outcome, hash"
         " FROM audit WHERE seq = 2"),
    };
    struct fix *f = *state;
    add(f, "one", 1000);
    add(f, "two", 1000);
    assert_int_equal(store_commit(f->store, &f->err), 0);
    store_close(f->store);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(f->db, &db), SQLITE_OK);
    for (size_t i = 0; i < sizeof attacks / sizeof attacks[0]; i++)
        assert_int_equal(sqlite3_exec(db, attacks[i], NULL, NULL, NULL), SQLITE_CONSTRAINT);
    sqlite3_close(db);
    f->store = store_open(f->db, &f->err);
    check_chain(f, 2);
}

static void old_ones_go_and_say_so(void **state)
{
    struct fix *f = *state;
    struct audit_mark floor;
    struct audit_row cut = entry("", 9000);
    cut.action = AUDIT_CUT;
    for (uint64_t i = 1; i <= 5; i++)
        add(f, "one", i * 1000);
    assert_int_equal(store_cut_audit(f->store, 1000, &cut, &f->err), 0); /* none is older */
    check_chain(f, 5);
    assert_int_equal(store_cut_audit(f->store, 4000, &cut, &f->err), 0);
    assert_int_equal(store_commit(f->store, &f->err), 0);
    assert_int_equal(store_audit_floor(f->store, &floor, &f->err), 0);
    assert_int_equal(floor.seq, 3);
    check_chain(f, 3); /* 4, 5 and the cut */
    reopen(f);
    check_chain(f, 3);
    /* However old: the newest stays, so that there is something to go on from. */
    assert_int_equal(store_cut_audit(f->store, UINT64_MAX >> 1, &cut, &f->err), 0);
    assert_int_equal(store_commit(f->store, &f->err), 0);
    check_chain(f, 2);
}

static void marks_are_read_as_written(void **state)
{
    char text[AUDIT_MARK_TEXT], longer[AUDIT_MARK_TEXT + 1];
    struct audit_mark mark = { .seq = INT64_MAX }, read;
    (void)state;
    for (unsigned char i = 0; i < AUDIT_HASH; i++)
        mark.hash[i] = (unsigned char)(i * 8 + 7);
    assert_true(audit_mark_parse(audit_mark_text(text, &mark), &read));
    assert_int_equal(read.seq, mark.seq);
    assert_memory_equal(read.hash, mark.hash, AUDIT_HASH);
    snprintf(longer, sizeof longer, "%s0", text);
    assert_false(audit_mark_parse(longer, &read));
    text[strlen(text) - 1] = 'G';
    assert_false(audit_mark_parse(text, &read));
    assert_false(audit_mark_parse("12", &read));
    assert_false(audit_mark_parse("", &read));
}

/* Fields end where they say: no text can pass for two. */
static void texts_are_told_apart(void **state)
{
    static const unsigned char none[AUDIT_HASH];
    AUTO_BUF struct buf one = BUF_INIT(AUDIT_TEXT_MAX), two = BUF_INIT(AUDIT_TEXT_MAX);
    struct audit_row a = entry("x,1:y", 1), b = entry("x", 1);
    (void)state;
    a.outcome = "ok";
    b.outcome = "y,2:ok";
    audit_text(&a, none, &one);
    audit_text(&b, none, &two);
    assert_string_not_equal(buf_str(&one), buf_str(&two));
    assert_non_null(strstr(buf_str(&one), "0,1:1,3:ada,5:admin,6:socket,11:uid 1 pid 2,8:job.stop,"
                                          "5:x,1:y,2:ok,"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(chain_goes_on_after_a_restart, make, drop),
        cmocka_unit_test_setup_teardown(undone_with_its_turn, make, drop),
        cmocka_unit_test_setup_teardown(database_refuses_changes, make, drop),
        cmocka_unit_test_setup_teardown(old_ones_go_and_say_so, make, drop),
        cmocka_unit_test(marks_are_read_as_written),
        cmocka_unit_test(texts_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
