/* Secrets by name over a real store: whose they are, who may set and see them, which one a job of
 * somebody finds, and that a copy of the database has no value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "account/identity.h"
#include "account/vault.h"
#include "base/file.h"
#include "base/mem.h"
#include "job/secret.h"
#include "store/seal.h"
#include "store/store.h"

#include "account/accounts.h"

#include <stdio.h>
#include <string.h>

#define VALUE "zyzzyva-value"

struct fix {
    struct arena *arena;
    struct store *store;
    struct accounts *accounts;
    char dir[64], event[64];
};

static uint64_t now(const void *arg)
{
    (void)arg;
    return 1700000000000ull;
}

static uint64_t same(const void *arg, uint64_t at_ms)
{
    (void)arg;
    return at_ms;
}

static bool never(const void *arg)
{
    (void)arg;
    return false;
}

static void note(void *arg, const char *type, const char *text)
{
    struct fix *f = arg;
    assert_null(strstr(text, VALUE));
    snprintf(f->event, sizeof f->event, "%s", type);
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    struct err err;
    bool fits;
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-part-XXXXXX");
    if (!mkdtemp(f->dir))
        return -1;
    AUTO_FREE char *db = file_join(f->dir, "db"), *key = file_join(f->dir, "key");
    f->arena = arena_create();
    f->store = store_open(db, &err);
    struct seal *seal = f->store ? seal_open(key, false, &err) : NULL;
    if (!seal || store_use_seal(f->store, seal, &fits, &err) != 0)
        return -1;
    f->accounts = accounts_create(&(struct accounts_config){
        .store = f->store, .admin = "boss", .server = { f, now, now, same, never, note } });
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    struct err err;
    accounts_destroy(f->accounts);
    store_close(f->store);
    arena_destroy(f->arena);
    (void)file_remove_tree(f->dir, &err);
    free(f);
    return 0;
}

static void add_user(struct fix *f, const char *name, enum user_role role, const char *project)
{
    struct err err;
    const char *projects[] = { project };
    const struct user_change ask = { .by = "boss",
                                     .name = name,
                                     .create = true,
                                     .set_role = true,
                                     .role = role,
                                     .set_projects = project != NULL,
                                     .projects = { .at = projects, .n = project != NULL } };
    assert_non_null(change_user(f->accounts, f->arena, &ask, &err));
}

static enum err_code put(struct fix *f, const char *by, const char *owner, const char *project,
                         const char *name, const char *value)
{
    struct err err = { .code = ERR_NONE };
    const struct secret_change ask = { .by = by,
                                       .name = name,
                                       .owner = owner,
                                       .project = project,
                                       .value = value,
                                       .len = value ? strlen(value) : 0 };
    const struct secret_view *view = change_secret(f->accounts, f->arena, &ask, &err);
    assert_true((view == NULL) == (err.code != ERR_NONE));
    assert_null(strstr(err.what, VALUE));
    return err.code;
}

/* "" when there is none. */
static const char *found(struct fix *f, const char *name, const char *project, const char *secret)
{
    struct err err;
    struct secret_value value;
    const struct secret_user user = { .name = name, .project = project };
    int rc = find_secret(f->accounts, f->arena, &user, secret, &value, &err);
    assert_true(rc >= 0);
    assert_int_equal(has_secret(f->accounts, &user, secret), rc);
    if (rc == 0)
        return "";
    const char *text = arena_strndup(f->arena, (const char *)value.at, value.len);
    secret_wipe(&value);
    return text;
}

static size_t listed(struct fix *f, const char *by, const char *owner, const char *project)
{
    struct err err;
    struct secret_list list;
    const struct secret_ask ask = { .by = by, .owner = owner, .project = project };
    return list_secrets(f->accounts, f->arena, &ask, &list, &err) == 0 ? list.n : SIZE_MAX;
}

static void each_finds_its_own(void **state)
{
    struct fix *f = *state;
    add_user(f, "ada", ROLE_USER, "vision");
    add_user(f, "bob", ROLE_USER, NULL);
    assert_int_equal(put(f, "ada", NULL, NULL, "token", VALUE), ERR_NONE);
    assert_string_equal(f->event, "secret.created");
    assert_int_equal(put(f, "ada", NULL, "vision", "token", "of vision"), ERR_NONE);
    assert_int_equal(put(f, "ada", NULL, "vision", "db/user", "shared"), ERR_NONE);
    assert_int_equal(put(f, "boss", NULL, "default", "mirror", "for all"), ERR_NONE);
    assert_string_equal(found(f, "ada", "vision", "token"), VALUE);
    assert_string_equal(found(f, "ada", "vision", "db/user"), "shared");
    assert_string_equal(found(f, "ada", "", "db/user"), "");
    assert_string_equal(found(f, "bob", "vision", "token"), ""); /* he only says so */
    assert_string_equal(found(f, "bob", "", "mirror"), "for all");
    assert_int_equal(put(f, "ada", NULL, NULL, "token", "another"), ERR_NONE);
    assert_string_equal(f->event, "secret.changed");
    assert_string_equal(found(f, "ada", "", "token"), "another");
    const struct secret_user ada = { .name = "ada", .project = "vision" };
    const struct words names = names_of_secrets(f->accounts, f->arena, &ada);
    assert_int_equal(names.n, 2);
    note_secret_use(f->accounts, &(struct secret_use){ &ada, "token", "secret token, job 7", 7 });
    struct secret_list list;
    struct err err;
    const struct secret_ask ask = { .by = "ada", .owner = "ada" };
    assert_int_equal(list_secrets(f->accounts, f->arena, &ask, &list, &err), 0);
    assert_int_equal(list.at[0].used_job, 7);
    assert_int_equal(put(f, "ada", NULL, NULL, "token", NULL), ERR_NONE);
    assert_string_equal(found(f, "ada", "vision", "token"), "of vision");
    assert_int_equal(put(f, "ada", NULL, NULL, "token", NULL), ERR_NOT_FOUND);
}

static void rights_are_asked(void **state)
{
    struct fix *f = *state;
    add_user(f, "ada", ROLE_USER, "vision");
    add_user(f, "eve", ROLE_USER, NULL);
    add_user(f, "rob", ROLE_READER, "vision");
    assert_int_equal(put(f, "eve", "ada", NULL, "x", VALUE), ERR_DENIED);
    assert_int_equal(put(f, "eve", NULL, "vision", "x", VALUE), ERR_DENIED);
    assert_int_equal(put(f, "eve", NULL, "default", "x", VALUE), ERR_DENIED);
    assert_int_equal(put(f, "rob", NULL, NULL, "x", VALUE), ERR_DENIED);
    assert_int_equal(put(f, "boss", "ada", NULL, "x", VALUE), ERR_NONE);
    assert_int_equal(put(f, "ada", NULL, "vision", "y", VALUE), ERR_NONE);
    assert_int_equal(listed(f, "ada", NULL, NULL), 2);
    assert_int_equal(listed(f, "rob", NULL, NULL), 1);
    assert_int_equal(listed(f, "eve", NULL, NULL), 0);
    assert_int_equal(listed(f, "eve", "ada", NULL), SIZE_MAX);
    assert_int_equal(listed(f, "eve", NULL, "vision"), SIZE_MAX);
    assert_int_equal(listed(f, "boss", "ada", NULL), 1);
    struct err err;
    assert_non_null(remove_user(f->accounts, f->arena, "boss", "ada", &err));
    assert_int_equal(listed(f, "boss", "ada", NULL), 0);
    assert_string_equal(found(f, "ada", "", "x"), "");
}

static void bad_input_is_refused(void **state)
{
    static const char *const bad[] = { "", ".", "..", "a/..", "/a", "a/", "a/b/c", "-a", "a b" };
    struct fix *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(put(f, "boss", NULL, NULL, bad[i], VALUE), ERR_INPUT);
    assert_int_equal(put(f, "boss", NULL, NULL, "a", ""), ERR_INPUT);
    assert_int_equal(put(f, "boss", "ada", "vision", "a", VALUE), ERR_INPUT);
    AUTO_FREE char *large = mem_new(SECRET_VALUE_MAX + 2);
    memset(large, 'x', SECRET_VALUE_MAX + 1);
    assert_int_equal(put(f, "boss", NULL, NULL, "a", large), ERR_TOO_LARGE);
    large[SECRET_VALUE_MAX] = '\0';
    assert_int_equal(put(f, "boss", NULL, NULL, "a", large), ERR_NONE);
    assert_int_equal(strlen(found(f, "boss", "", "a")), SECRET_VALUE_MAX);
    for (unsigned i = 0; i + 1 < SECRETS_OF_OWNER; i++)
        assert_int_equal(put(f, "boss", NULL, NULL, arena_printf(f->arena, "n%u", i), "v"),
                         ERR_NONE);
    assert_int_equal(put(f, "boss", NULL, NULL, "one-more", "v"), ERR_CANNOT);
    assert_int_equal(put(f, "boss", NULL, NULL, "n0", "another"), ERR_NONE);
}

static void no_file_has_a_value(void **state)
{
    struct fix *f = *state;
    struct err err;
    assert_int_equal(put(f, "boss", NULL, NULL, "token", VALUE VALUE), ERR_NONE);
    assert_int_equal(store_commit(f->store, &err), 0);
    static const char *const files[] = { "db", "db-wal" };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        AUTO_FREE char *path = file_join(f->dir, files[i]), *bytes = NULL;
        size_t len;
        assert_int_equal(file_read(path, 64u << 20, &bytes, &len, &err), 0);
        assert_null(memmem(bytes, len, VALUE, strlen(VALUE)));
        assert_null(memmem(bytes, len, "enl6enl2YS12YWx1", 16)); /* its base64 */
    }
    assert_string_equal(found(f, "boss", "", "token"), VALUE VALUE);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(each_finds_its_own),
        T(rights_are_asked),
        T(bad_input_is_refused),
        T(no_file_has_a_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
