/* What no output may show, in whole and in parts, values by name, and files of secrets in their
 * directories. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/secrets.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void check_cover(const struct masks *masks, const char *text, const char *covered)
{
    AUTO_FREE char *bytes = mem_strdup(text);
    assert_int_equal(masks_cover(masks, bytes, strlen(bytes), strlen(bytes)), 0);
    assert_string_equal(bytes, covered);
}

static void values_are_covered(void **state)
{
    struct masks masks = { .list = { .n = 0 } };
    (void)state;
    check_cover(&masks, "nothing is looked for", "nothing is looked for");
    masks_add(&masks, "password", 8);
    masks_add(&masks, "short", 5);
    masks_add(&masks, "two lines of it\r\nx\nand another\n", 30);
    check_cover(&masks, "a password, passwor", "a ********, passwor");
    check_cover(&masks, "passwordpassword short", "**************** short");
    check_cover(&masks, "[two lines of it]\nx\nand another", "[***************]\nx\n***********");
    masks_add(&masks, "wordplay", 8);
    check_cover(&masks, "a passwordplay", "a ************"); /* one over the other */
    masks_add(&masks, "aaaaaaaa", 8);
    check_cover(&masks, "aaaaaaaaaa.", "**********.");
    masks_fini(&masks);
}

static void long_lines_are_covered_in_pieces(void **state)
{
    struct masks masks = { .list = { .n = 0 } };
    char line[3 * MASK_PIECE + 6], text[3 * MASK_PIECE + 20];
    (void)state;
    for (size_t i = 0; i + 1 < sizeof line; i++)
        line[i] = (char)('a' + (i * i + i / 7) % 26);
    line[sizeof line - 1] = '\0';
    masks_add(&masks, line, strlen(line));
    int n = snprintf(text, sizeof text, "<%s>", line);
    assert_int_equal(masks_cover(&masks, text, (size_t)n, (size_t)n), 0);
    assert_int_equal(strspn(text + 1, "*"), strlen(line));
    assert_int_equal(text[n - 1], '>');
    masks_fini(&masks);
}

static void the_end_may_go_on_as_one(void **state)
{
    struct masks masks = { .list = { .n = 0 } };
    (void)state;
    assert_int_equal(masks_open(&masks, "pass", 4), 0);
    masks_add(&masks, "password", 8);
    masks_add(&masks, "wordplay!", 9);
    assert_int_equal(masks_open(&masks, "say pass", 8), 4);
    assert_int_equal(masks_open(&masks, "say pas.", 8), 0);
    assert_int_equal(masks_open(&masks, "p", 1), 1);
    assert_int_equal(masks_open(&masks, "password", 8), 4); /* it is whole, "word" goes on */
    assert_int_equal(masks_open(&masks, "", 0), 0);
    char cut[] = "a password";
    assert_int_equal(masks_cover(&masks, cut, 6, 10), 4);
    assert_string_equal(cut, "a ****word");
    masks_fini(&masks);
}

/* ---- files ---- */

static const struct secret_place places[] = {
    { .name = "token" },
    { .name = "token", .env = "TOKEN" },
    { .name = "token", .file = "token" },
    { .name = "db/user", .file = "db/user" },
    { .name = "token", .file = "/run/mine/t" },
    { .name = "absent", .file = "absent" },
};

static struct launch_task a_task(void)
{
    return (struct launch_task){ .secrets = (struct secret_place *)(uintptr_t)places,
                                 .n_secrets = ARRAY_LEN(places) };
}

static void put(struct secrets *secrets, const char *name, const char *value)
{
    const struct launch_secret one = { .name = name, .at = value, .len = strlen(value) };
    (void)secrets_take(secrets, &one, 1);
}

static void check_file(const char *dir, const char *name, const char *value)
{
    AUTO_FREE char *path = file_join(dir, name), *text = NULL;
    size_t len;
    struct stat st;
    assert_int_equal(file_read(path, 1000, &text, &len, NULL), 0);
    assert_int_equal(len, strlen(value));
    assert_memory_equal(text, value, len);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0400);
}

static void files_are_written_and_replaced(void **state)
{
    char own[] = "/tmp/muster-part-XXXXXX", mine[] = "/tmp/muster-part-XXXXXX";
    const struct launch_task task = a_task();
    struct arena *arena = arena_create();
    struct secrets *secrets = secrets_create();
    struct secret_files files;
    struct err err;
    (void)state;
    assert_non_null(mkdtemp(own));
    assert_non_null(mkdtemp(mine));
    put(secrets, "token", "first-value");
    put(secrets, "db/user", "");
    assert_int_equal(secret_files_plan(&files, arena, &task, own, NULL, &err), 0);
    assert_int_equal(files.n, 2);
    assert_string_equal(files.at[0], own);
    assert_string_equal(files.at[1], "/run/mine");
    files.fd[0] = open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* in memory, in a task's view */
    files.fd[1] = open(mine, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(secret_files_write(&files, secrets, &task, &err), 0);
    check_file(own, "token", "first-value");
    check_file(own, "db/user", "");
    check_file(mine, "t", "first-value");
    AUTO_CLOSE int was = openat(files.fd[1], "t", O_RDONLY | O_CLOEXEC);
    put(secrets, "token", "second-value");
    assert_int_equal(secret_files_write(&files, secrets, &task, &err), 0);
    check_file(own, "token", "second-value");
    check_file(mine, "t", "second-value");
    char text[20] = "";
    assert_int_equal(read(was, text, sizeof text - 1), 11); /* who had it open reads the old one */
    assert_string_equal(text, "first-value");
    secret_files_close(&files);
    secrets_destroy(secrets);
    arena_destroy(arena);
    assert_int_equal(file_remove_tree(own, &err), 0);
    assert_int_equal(file_remove_tree(mine, &err), 0);
}

static void values_are_known_by_name(void **state)
{
    const struct launch_task task = a_task();
    struct arena *arena = arena_create();
    struct secrets *secrets = secrets_create();
    struct pairs env = { .n = 0 };
    const struct launch_secret one = { .name = "token", .at = "a-value-of-it", .len = 13 };
    (void)state;
    assert_true(secrets_take(secrets, &one, 1));
    assert_false(secrets_take(secrets, &one, 1));
    secrets_put_env(secrets, &task, arena, &env);
    assert_int_equal(env.n, 1);
    assert_string_equal(pairs_get(&env, "TOKEN"), "a-value-of-it");
    put(secrets, "token", "other-value");
    check_cover(secrets_masks(secrets), "a-value-of-it other-value",
                "************* ***********"); /* what it was stays covered */
    secrets_destroy(secrets);
    secrets_destroy(NULL);
    arena_destroy(arena);
}

static void bad_places_are_refused(void **state)
{
    struct arena *arena = arena_create();
    struct secret_place many[SECRET_DIRS_MAX + 1], climbs = { .name = "a", .file = "/a/../b/c" };
    struct launch_task task = { .secrets = &climbs, .n_secrets = 1 };
    struct secret_files files;
    struct err err;
    (void)state;
    assert_int_equal(secret_files_plan(&files, arena, &task, "/own", NULL, &err), -1);
    climbs.file = "/top";
    assert_int_equal(secret_files_plan(&files, arena, &task, "/own", NULL, &err), -1);
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = (struct secret_place){ .name = "a", .file = arena_printf(arena, "/dir%zu/a", i) };
    task = (struct launch_task){ .secrets = many, .n_secrets = ARRAY_LEN(many) };
    assert_int_equal(secret_files_plan(&files, arena, &task, "/own", NULL, &err), -1);
    task.n_secrets--;
    assert_int_equal(secret_files_plan(&files, arena, &task, "/own", NULL, &err), 0);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_covered),
        cmocka_unit_test(long_lines_are_covered_in_pieces),
        cmocka_unit_test(the_end_may_go_on_as_one),
        cmocka_unit_test(files_are_written_and_replaced),
        cmocka_unit_test(values_are_known_by_name),
        cmocka_unit_test(bad_places_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
