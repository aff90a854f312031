/* A chain is put together as it was written; a file of it that is missing, another or elsewhere is
 * refused with its place; old chains go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "ship/backup_file.h"
#include "ship/chain.h"
#include "ship/gather.h"
#include "store/pages.h"
#include "text/json.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct fix {
    char dir[64], *there, *copy, *out;
    struct arena *arena;
    struct store *st;
    struct store_pages *pages;
    struct target *target;
    char sha256[SHA256_TEXT];
    uint64_t at[8]; /* event that each file of the chain reaches */
    struct err err;
};

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-chain-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    AUTO_FREE char *path = file_join(f->dir, "muster.db");
    f->there = file_join(f->dir, "there");
    f->copy = file_join(f->dir, "copy.db");
    f->out = file_join(f->dir, "out");
    f->arena = arena_create();
    assert_int_equal(file_mkdirs(f->there, 0700, &f->err), 0);
    f->st = store_open(path, &f->err);
    f->pages = store_pages_begin(f->st, &f->err);
    f->target = target_open(&(struct target_place){ .where = f->there }, &f->err);
    assert_true(f->st && f->pages && f->target);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    target_close(f->target);
    store_pages_end(f->pages);
    store_close(f->st);
    file_remove_tree(f->dir, NULL);
    arena_destroy(f->arena);
    free(f->there);
    free(f->copy);
    free(f->out);
    free(f);
    return 0;
}

static void put_events(struct fix *f, unsigned n)
{
    for (; n > 0; n--) {
        struct event_row event = { .type = "told", .at_ms = 1, .body = "{}" };
        assert_int_equal(store_add_event(f->st, &event, &f->err), 0);
    }
    assert_int_equal(store_commit(f->st, &f->err), 0);
}

static void write_head(struct fix *f, uint64_t chain, uint64_t number)
{
    AUTO_BUF struct buf text = BUF_INIT(4096);
    struct text_node *root = text_map(f->arena, NULL, NULL);
    text_int(f->arena, root, "chain", (int64_t)chain);
    text_int(f->arena, root, "number", (int64_t)number);
    text_str(f->arena, root, "sha256", f->sha256);
    json_print(root, 0, &text);
    const char *name = arena_printf(f->arena, "%08" PRIu64 "/" CHAIN_HEAD, chain);
    assert_int_equal(target_write(f->target, name, text.data, text.len, &f->err), 0);
}

/* As the child does it: the file, then the head. */
static void put_file(struct fix *f, uint64_t chain, uint64_t number, int from)
{
    struct backup_tar tar;
    enum backup_kind kind = number ? BACKUP_SEGMENT : BACKUP_WHOLE;
    struct text_node *root = text_map(f->arena, NULL, NULL);
    text_int(f->arena, root, backup_kind_key(kind), BACKUP_KIND);
    text_int(f->arena, root, "chain", (int64_t)chain);
    text_int(f->arena, root, "number", (int64_t)number);
    if (number)
        text_str(f->arena, root, "previous", f->sha256);
    const char *name = chain_file(f->arena, chain, number);
    struct target_file *file = target_create(f->target, name, &f->err);
    assert_true(file && from >= 0);
    backup_tar_begin(&tar, target_sink(file), f->arena, root);
    assert_int_equal(backup_tar_add(&tar, backup_kind_data(kind), from, &f->err), 0);
    assert_int_equal(backup_tar_end(&tar, f->sha256, &f->err), 0);
    assert_int_equal(target_publish(file, &f->err), 0);
    close(from);
    f->at[number] = store_reach_now(f->st).event;
    write_head(f, chain, number);
}

static void put_base(struct fix *f, uint64_t chain)
{
    int rc;
    assert_int_equal(target_begin(f->target, chain, &f->err), 0);
    struct store_backup *b = store_backup_begin(f->st, f->copy, &f->err);
    while ((rc = store_backup_step(b, &f->err)) == 0) {}
    assert_int_equal(rc, 1);
    store_backup_end(b);
    store_pages_reset(f->pages);
    put_file(f, chain, 0, open(f->copy, O_RDONLY));
    assert_int_equal(unlink(f->copy), 0);
}

static void put_chain(struct fix *f, uint64_t chain, uint64_t segments)
{
    put_events(f, 200);
    put_base(f, chain);
    for (uint64_t i = 1; i <= segments; i++) {
        put_events(f, 20);
        put_file(f, chain, i, store_pages_take(f->pages, &f->err));
    }
}

/* The event that comes back; 0: refused. */
static uint64_t gather(struct fix *f, const uint64_t *segments)
{
    struct store_reach reach;
    AUTO_FREE char *archives = file_join(f->out, BACKUP_ARCHIVES);
    AUTO_FREE char *db = file_join(f->out, BACKUP_RECORDS);
    const struct gather_ask ask = { .from = f->there, .dir = f->out, .segments = segments };
    f->err = (struct err){ 0 };
    assert_int_equal(file_remove_tree(f->out, &f->err), 0);
    assert_int_equal(file_mkdirs(archives, 0700, &f->err), 0);
    const struct text_node *m = gather_chain(f->arena, &ask, &f->err);
    if (!m)
        return 0;
    assert_int_equal(store_look_at_copy(db, &reach, &f->err), 0);
    return reach.event;
}

static char *path_of(const struct fix *f, uint64_t chain, uint64_t number)
{
    return mem_printf("%s/%s", f->there, chain_file(f->arena, chain, number));
}

static void test_comes_back(void **state)
{
    struct fix *f = *state;
    put_chain(f, 1, 2);
    put_chain(f, 12, 4);
    assert_int_equal(gather(f, NULL), store_reach_now(f->st).event);
    for (uint64_t i = 0; i <= 4; i++)
        assert_int_equal(gather(f, &i), f->at[i]);
    assert_int_equal(gather(f, &(uint64_t){ 5 }), 0); /* there are four */
    put_events(f, 1);
    assert_true(gather(f, NULL) < store_reach_now(f->st).event);
}

/* The child was killed behind the file, before the head. */
static void test_head_lags(void **state)
{
    struct fix *f = *state;
    char before[SHA256_TEXT], after[SHA256_TEXT];
    put_chain(f, 1, 3);
    memcpy(before, f->sha256, sizeof before);
    put_events(f, 5);
    put_file(f, 1, 4, store_pages_take(f->pages, &f->err));
    memcpy(after, f->sha256, sizeof after);
    memcpy(f->sha256, before, sizeof before);
    write_head(f, 1, 3);
    assert_int_equal(gather(f, NULL), f->at[4]);
    memcpy(f->sha256, after, sizeof after);
    write_head(f, 1, 5); /* one that leads: segment 5 was there, and is not */
    assert_int_equal(gather(f, NULL), 0);
    assert_non_null(strstr(f->err.what, "segment 5"));
}

static void test_missing(void **state)
{
    struct fix *f = *state;
    char word[32];
    put_chain(f, 1, 4);
    for (uint64_t i = 4; i >= 2; i--) {
        AUTO_FREE char *path = path_of(f, 1, i);
        AUTO_FREE char *away = mem_printf("%s.away", path);
        assert_int_equal(rename(path, away), 0);
        assert_int_equal(gather(f, NULL), 0);
        snprintf(word, sizeof word, "segment %" PRIu64, i);
        assert_int_equal(f->err.code, ERR_INPUT);
        assert_non_null(strstr(f->err.what, word));
        assert_int_equal(gather(f, &(uint64_t){ i - 1 }), f->at[i - 1]);
        assert_int_equal(rename(away, path), 0);
    }
    assert_int_equal(gather(f, NULL), f->at[4]);
}

/* Files that are whole, and not the ones that were written there. */
static void test_exchanged(void **state)
{
    struct fix *f = *state;
    put_chain(f, 1, 3);
    put_chain(f, 2, 3);
    AUTO_FREE char *second = path_of(f, 2, 2);
    AUTO_FREE char *keep = mem_printf("%s.keep", second);
    assert_int_equal(rename(second, keep), 0);
    const struct {
        uint64_t chain, number;
    } others[] = { { 2, 3 }, { 2, 1 }, { 1, 2 } };
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        AUTO_FREE char *other = path_of(f, others[i].chain, others[i].number);
        assert_int_equal(link(other, second), 0);
        assert_int_equal(gather(f, NULL), 0);
        assert_non_null(strstr(f->err.what, "00000002.tar is not segment 2 of chain 2"));
        assert_int_equal(unlink(second), 0);
    }
    /* The same number of a chain of the same number, made by somebody else. */
    snprintf(f->sha256, sizeof f->sha256, "%064d", 7);
    put_events(f, 1);
    put_file(f, 2, 2, store_pages_take(f->pages, &f->err));
    assert_int_equal(gather(f, NULL), 0);
    assert_non_null(strstr(f->err.what, "does not follow"));
}

static void test_thinned(void **state)
{
    struct fix *f = *state;
    struct chains left = { .all.n = 0 };
    struct chain_head head;
    for (uint64_t i = 1; i <= 5; i++)
        put_chain(f, i, 1);
    assert_int_equal(target_begin(f->target, 6, &f->err), 0); /* has no head */
    assert_int_equal(target_begin(f->target, 5, &f->err), -1);
    assert_int_equal(chain_newest(f->target, f->arena, &head, &f->err), 0);
    assert_true(head.chain == 5 && head.number == 1);
    put_chain(f, 7, 0);
    const struct chain_keep keep = { .before = 7, .keep = 2 };
    assert_int_equal(chain_thin(f->target, f->arena, &keep, &f->err), 0);
    assert_int_equal(target_list(f->target, &left, &f->err), 0);
    assert_int_equal(left.all.n, 3);
    assert_true(left.all.at[0] == 4 && left.all.at[1] == 5 && left.all.at[2] == 7);
    vec_fini(&left.all);
}

static void test_names(void **state)
{
    uint64_t chain = 0;
    (void)state;
    assert_true(chain_of_path("/a/b/00000012", &chain) && chain == 12);
    assert_true(chain_of_path("00000007//", &chain) && chain == 7);
    assert_false(chain_of_path("/a/b/100000012", &chain));
    assert_false(chain_of_path("/a/b", &chain));
    assert_false(chain_of_path("/a/0000001x", &chain));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_head_lags, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_exchanged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_thinned, set_up, tear_down),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
