/* A copy of records that are written meanwhile: one at a time, whole at the end, and nothing of it
 * left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "account/accounts.h"
#include "backup/records_copy.h"
#include "live/live.h"
#include "store/store.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t now(const void *arg)
{
    (void)arg;
    return 1000;
}

static uint64_t same(const void *arg, uint64_t at_ms)
{
    (void)arg;
    return at_ms;
}

static bool always(const void *arg)
{
    (void)arg;
    return true;
}

static void a_copy_is_made_and_opened_once(void **state)
{
    (void)state;
    char dir[] = "/tmp/muster-copy-XXXXXX", file[80];
    struct err err = { 0 };
    struct stat st;
    assert_non_null(mkdtemp(dir));
    AUTO_FREE char *db = file_join(dir, "db");
    struct arena *arena = arena_create();
    struct store *store = store_open(db, &err);
    assert_non_null(store);
    struct live *live = live_create();
    const struct job_row row = { .id = 7, .tasks = 1, .state = JOB_RUNNING, .name = "j" };
    live_add(live, &row);
    struct accounts *accounts = accounts_create(&(struct accounts_config){
        .store = store,
        .admin = "boss",
        .server = { .now = now, .date = now, .date_of = same, .replays = always } });
    const struct records_copy_config config = {
        .store = store, .accounts = accounts, .live = live, .state_dir = dir
    };
    struct records_copy *copy = records_copy_begin(&config, true, &err);
    assert_non_null(copy);
    assert_null(records_copy_begin(&config, false, &err));
    assert_int_equal(err.code, ERR_BUSY);
    int rc = 0;
    while (rc == 0)
        rc = records_copy_step(copy, &err);
    assert_int_equal(rc, 1);
    struct text_node *map = text_map(arena, NULL, NULL);
    records_copy_put(copy, arena, map, "records");
    assert_int_equal(text_number(text_get(map, "records"), "live"), 1);
    int fd = records_copy_open(copy, &err);
    assert_true(fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0);
    close(fd);
    assert_int_equal(records_copy_open(copy, &err), -1); /* it has no name any more */
    records_copy_end(copy);
    snprintf(file, sizeof file, "%s/backup.db", dir);
    assert_int_equal(access(file, F_OK), -1);
    records_copy_end(NULL);
    accounts_destroy(accounts);
    live_destroy(live);
    store_close(store);
    file_remove_tree(dir, NULL);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_copy_is_made_and_opened_once) };
    return cmocka_run_group_tests_name("backup/records_copy", tests, NULL, NULL);
}
