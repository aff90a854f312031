/* Finding dialects and conventions, by name and by the look of a text; the order in which an
 * environment is made, and the job's own values expanded in it. */
#include "dialect/dialect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int sure_of(const struct text_node *root, const char *key, int sure)
{
    return text_get(root, key) ? sure : 0;
}
static int detect_a(const struct text_node *root)
{
    return sure_of(root, "a", 90);
}
static int detect_b(const struct text_node *root)
{
    return sure_of(root, "b", 50);
}

static const struct dialect dialect_a = { .name = "alpha-v1",
                                          .title = "alpha v1",
                                          .detect = detect_a };
static int detect_a2(const struct text_node *root)
{
    return sure_of(root, "a2", 90);
}
static const struct dialect dialect_a2 = { .name = "alpha-v2",
                                           .title = "alpha v2",
                                           .detect = detect_a2 };
static const struct dialect dialect_b = { .name = "beta", .title = "Gamma", .detect = detect_b };

static void env_native(struct arena *arena, const struct job_spec *job,
                       const struct job_place *place, uint32_t flat, const struct site *site,
                       struct pairs *out)
{
    (void)job;
    (void)site;
    pairs_setf(out, arena, "WHO", "native %u of %u", flat, place->n);
    pairs_set(out, arena, "OWN", "native");
}
static void env_alpha(struct arena *arena, const struct job_spec *job,
                      const struct job_place *place, uint32_t flat, const struct site *site,
                      struct pairs *out)
{
    (void)job;
    (void)place;
    (void)flat;
    (void)site;
    pairs_set(out, arena, "WHO", "alpha");
    pairs_set(out, arena, "ALPHA", "1");
}
static struct end_words classify(const struct job_spec *job, const struct ending *ending)
{
    (void)job;
    (void)ending;
    return (struct end_words){ .class = END_USER };
}

static const struct convention native = { .name = "native",
                                          .env = env_native,
                                          .classify = classify };
static const struct convention alpha = { .name = "alpha-v1",
                                         .env = env_alpha,
                                         .classify = classify };
static const struct convention extra = { .name = "extra", .env = env_alpha };
static const struct convention silent = { .name = "silent" };
static const char *host_of(struct arena *arena, const struct dialect_task *task)
{
    return task->flat == 0 ? arena_printf(arena, "first-%u", task->flat) : NULL;
}
static const struct convention meeting = { .name = "meeting", .one_world = true, .host = host_of };
/* Who the task is so far, its position, the value. */
static const char *after_known(struct arena *arena, const struct dialect_task *task,
                               const struct pairs *known, const char *value)
{
    const char *who = pairs_get(known, "WHO");
    return arena_printf(arena, "%s/%u/%s", who ? who : "", task->flat, value);
}
static const struct convention filling = { .name = "filling", .expand = after_known };
static const struct dialect *const dialects[] = { &dialect_a, &dialect_a2, &dialect_b };
static const struct convention *const conventions[] = { &native, &alpha,   &extra,
                                                        &silent, &filling, &meeting };
static const struct dialects all = { dialects, 3, conventions, 6, &native };

static void test_find(void **state)
{
    (void)state;
    assert_ptr_equal(dialect_find(&all, "alpha-v1"), &dialect_a);
    assert_ptr_equal(dialect_find(&all, "alpha"), &dialect_a2);
    assert_ptr_equal(dialect_find(&all, "beta"), &dialect_b);
    assert_ptr_equal(dialect_find(&all, "gamma"), &dialect_b);
    assert_ptr_equal(dialect_find(&all, "alpha v1"), &dialect_a);
    assert_null(dialect_find(&all, "alph"));
    assert_null(dialect_find(&all, ""));
    assert_ptr_equal(convention_find(&all, "extra"), &extra);
    assert_null(convention_find(&all, "alpha"));
}

static void test_detect(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct text_node *root = text_map(arena, NULL, NULL);
    assert_null(dialect_detect(&all, root));
    text_int(arena, root, "b", 1);
    assert_ptr_equal(dialect_detect(&all, root), &dialect_b);
    text_int(arena, root, "a", 1);
    assert_ptr_equal(dialect_detect(&all, root), &dialect_a);
    arena_destroy(arena);
}

static void test_named(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct text_node *root = text_map(arena, NULL, NULL);
    text_int(arena, root, "b", 1);
    assert_ptr_equal(dialect_named(&all, "alpha", root), &dialect_a2); /* the newest */
    assert_ptr_equal(dialect_named(&all, "alpha-v1", root), &dialect_a);
    text_int(arena, root, "a", 1);
    assert_ptr_equal(dialect_named(&all, "alpha", root), &dialect_a);
    assert_ptr_equal(dialect_named(&all, "alpha-v2", root), &dialect_a2);
    assert_ptr_equal(dialect_named(&all, "beta", root), &dialect_b);
    assert_null(dialect_named(&all, "delta", root));
    arena_destroy(arena);
}

static void env_of(struct arena *arena, const char **names, size_t n, struct pairs *out)
{
    struct role role = { .name = "w" };
    struct job_spec job = { .roles = &role, .n_roles = 1, .conventions = { names, n } };
    struct task_place task = { .role = 0 };
    struct job_place place = { .tasks = &task, .n = 1 };
    struct site site = { .owner = "ada" };
    pairs_set(&role.env, arena, "OWN", "mine");
    *out = (struct pairs){ 0 };
    struct dialect_task one = { .job = &job, .place = &place, .site = &site };
    dialect_env(&all, arena, &one, out);
}

static void test_env_order(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct pairs env;
    const char *classing[] = { "alpha-v1" }, *adding[] = { "silent", "extra" },
               *named[] = { "extra", "native" };
    env_of(arena, NULL, 0, &env);
    assert_string_equal(pairs_get(&env, "WHO"), "native 0 of 1");
    assert_string_equal(pairs_get(&env, "OWN"), "mine");
    env_of(arena, classing, 1, &env); /* a whole foreign world: nothing native in it */
    assert_string_equal(pairs_get(&env, "WHO"), "alpha");
    assert_int_equal(env.n, 3);
    env_of(arena, adding, 2, &env); /* one that only adds: native stays */
    assert_string_equal(pairs_get(&env, "WHO"), "alpha");
    assert_string_equal(pairs_get(&env, "ALPHA"), "1");
    assert_string_equal(env.at[0].name, "WHO");
    env_of(arena, named, 2, &env); /* named: at its place in the order */
    assert_string_equal(pairs_get(&env, "WHO"), "native 0 of 1");
    arena_destroy(arena);
}

static void test_own_values_are_expanded(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct pairs env;
    const char *both[] = { "silent", "alpha-v1", "filling" };
    env_of(arena, both, 3, &env);
    assert_string_equal(pairs_get(&env, "OWN"), "alpha/0/mine");
    assert_string_equal(pairs_get(&env, "ALPHA"), "1"); /* only the job's own */
    arena_destroy(arena);
}

static void test_peers(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    const char *names[] = { "silent", "meeting" };
    struct job_spec job = { .conventions = { names, 1 } };
    struct dialect_task task = { .job = &job };
    assert_false(dialect_one_world(&all, &job));
    assert_null(dialect_host(&all, arena, &task, 0));
    job.conventions.n = 2;
    assert_true(dialect_one_world(&all, &job));
    assert_string_equal(dialect_host(&all, arena, &task, 1), "first-0");
    task.flat = 1;
    assert_null(dialect_host(&all, arena, &task, 1));
    arena_destroy(arena);
}

static void test_convention_of(void **state)
{
    (void)state;
    const char *names[] = { "unknown", "silent", "extra", "alpha-v1" };
    struct job_spec job = { .conventions = { names, 4 } };
    assert_ptr_equal(convention_of(&all, &job), &alpha);
    job.conventions.n = 3;
    assert_ptr_equal(convention_of(&all, &job), &native);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_detect),
        cmocka_unit_test(test_named),
        cmocka_unit_test(test_env_order),
        cmocka_unit_test(test_own_values_are_expanded),
        cmocka_unit_test(test_convention_of),
        cmocka_unit_test(test_peers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
