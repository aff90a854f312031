/* The mix in its rows: what arrived lately in the small one, all of it in the large one when a
 * commit had failed or much has arrived; and what is read again for the same devices only. */
#include "learn/packing.h"

#include "base/file.h"
#include "base/mem.h"
#include "sched/cluster.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#define MANY 70 /* more than the small row takes */

struct fix {
    char dir[40];
    struct arena *arena;
    struct store *store;
    struct cluster *cluster;
    struct packing *packing;
};

static void open_with(struct fix *f, const char *gpu_type)
{
    const struct node_spec node = { .name = "vm",
                                    .host = "vm",
                                    .address = "127.0.0.1",
                                    .cpu_milli = 64000,
                                    .memory = UINT64_C(64) << 30,
                                    .gpus = 8,
                                    .gpu_type = gpu_type };
    f->cluster = cluster_create(20000, 20100, 20000);
    cluster_set_up(f->cluster, cluster_put(f->cluster, &node), true);
    f->packing = packing_create(f->store, f->cluster);
}

static void close_all(struct fix *f)
{
    cluster_destroy(f->cluster);
    packing_destroy(f->packing); /* after what places by it */
}

static int setup(void **state)
{
    static struct fix f;
    struct err err;
    f = (struct fix){ .dir = "/tmp/muster-learn-XXXXXX", .arena = arena_create() };
    assert_non_null(mkdtemp(f.dir));
    f.store = store_open(arena_printf(f.arena, "%s/db", f.dir), &err);
    assert_non_null(f.store);
    open_with(&f, "T4");
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fix *f = *state;
    struct err err;
    close_all(f);
    store_close(f->store);
    arena_destroy(f->arena);
    return file_remove_tree(f->dir, &err);
}

static void arrive(struct fix *f, uint64_t gpu_milli)
{
    struct role role = { .name = "w", .replicas = 1, .min = 1 };
    const struct job_spec job = { .name = "j", .roles = &role, .n_roles = 1 };
    role.resources.cpu_milli = 1000;
    role.resources.gpu_milli = gpu_milli;
    packing_learn(f->packing, &job);
}

static void commit(struct fix *f)
{
    struct err err;
    packing_record(f->packing);
    assert_int_equal(store_commit(f->store, &err), 0);
}

/* NULL: there is no such row. */
static const char *row(struct fix *f, const char *name)
{
    struct object_row row = { .kind = "mix", .project = "", .name = name };
    return store_get_object(f->store, f->arena, &row, NULL) == 1 ? row.spec : NULL;
}

static size_t arrivals(struct fix *f)
{
    size_t n = 0;
    for (const char *at = row(f, "last"); at && (at = strstr(at, "[1000,")); at++)
        n++;
    return n;
}

static void lately_is_a_small_row(void **state)
{
    struct fix *f = *state;
    commit(f);
    assert_null(row(f, "last"));
    arrive(f, 1000);
    arrive(f, 2000);
    commit(f);
    assert_int_equal(arrivals(f), 2);
    assert_null(row(f, "mix"));
    for (int i = 0; i < MANY; i++)
        arrive(f, 1000);
    commit(f);
    assert_non_null(row(f, "mix"));
    assert_int_equal(arrivals(f), 0);
}

static void a_failed_commit_writes_all(void **state)
{
    struct fix *f = *state;
    arrive(f, 1000);
    packing_record(f->packing);
    store_rollback(f->store);
    packing_undone(f->packing);
    commit(f);
    assert_non_null(strstr(row(f, "mix"), "[1000,"));
}

static void the_same_devices_are_known_again(void **state)
{
    struct fix *f = *state;
    arrive(f, 1000);
    commit(f);
    close_all(f);
    open_with(f, "T4");
    arrive(f, 1000);
    commit(f);
    assert_int_equal(arrivals(f), 2);
    close_all(f);
    open_with(f, "H100");
    arrive(f, 1000);
    commit(f);
    assert_int_equal(arrivals(f), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = { TEST(lately_is_a_small_row),
                                        TEST(a_failed_commit_writes_all),
                                        TEST(the_same_devices_are_known_again) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
