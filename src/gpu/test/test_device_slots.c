/* Devices that come, fail, leave and come back: each keeps its slot. Then the file that gives the
 * slots back to another server, and what its bounds leave out. */
#include "gpu/device_slots.h"

#include "base/file.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define FAILS "GPU is lost"

struct fixture {
    struct arena *a;
    struct gpu_report known;
    char path[64];
};

static struct gpu_device device(uint32_t number, const char *uuid)
{
    return (struct gpu_device){ .number = number,
                                .minor = number + 4,
                                .model = "A",
                                .uuid = uuid,
                                .pci = "",
                                .memory = 7,
                                .figures = { [GPU_MEMORY_USED] = { true, 3 } },
                                .error = "" };
}

static struct gpu_device failing(uint32_t number)
{
    return (struct gpu_device){
        .number = number, .minor = number, .model = "", .uuid = "", .pci = "", .error = FAILS
    };
}

static bool follow(struct fixture *f, struct gpu_device *devices, size_t n)
{
    const struct gpu_report now = { .driver = "580", .error = "", .at = devices, .n = n };
    bool other = gpu_slots_follow(f->a, &f->known, &now);
    if (other)
        gpu_offer(f->a, &f->known, NULL);
    return other;
}

static int setup(void **state)
{
    struct fixture *f = mem_new(sizeof *f);
    struct gpu_device three[] = { device(0, "GPU-a"), device(1, "GPU-b"), device(2, "GPU-c") };
    f->a = arena_create();
    f->known = (struct gpu_report){ .driver = "", .error = "" };
    snprintf(f->path, sizeof f->path, "/tmp/muster-known-%d", (int)getpid());
    assert_true(follow(f, three, 3));
    assert_int_equal(f->known.n_slots, 3);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    (void)unlink(f->path);
    arena_destroy(f->a);
    free(f);
    return 0;
}

static void one_leaves_and_comes_back(void **state)
{
    struct fixture *f = *state;
    struct gpu_device two[] = { device(0, "GPU-b"), device(1, "GPU-c") };
    struct gpu_device three[] = { device(0, "GPU-a"), device(1, "GPU-b"), device(2, "GPU-c") };
    assert_false(follow(f, two, 2));
    assert_int_equal(f->known.n_slots, 3);
    assert_true(f->known.at[0].gone);
    assert_false(f->known.at[0].figures[GPU_MEMORY_USED].has);
    assert_string_not_equal(f->known.at[0].error, "");
    assert_int_equal(gpu_in_slot(&f->known, 1)->number, 0);
    assert_int_equal(gpu_in_slot(&f->known, 2)->number, 1);
    assert_false(follow(f, three, 3));
    assert_false(f->known.at[0].gone);
    assert_string_equal(f->known.at[0].error, "");
    assert_int_equal(gpu_in_slot(&f->known, 1)->number, 1);
}

static void one_fails(void **state)
{
    struct fixture *f = *state;
    struct gpu_device three[] = { device(0, "GPU-a"), failing(1), device(2, "GPU-c") };
    assert_false(follow(f, three, 3));
    assert_string_equal(gpu_in_slot(&f->known, 1)->error, FAILS);
    assert_string_equal(gpu_in_slot(&f->known, 1)->uuid, "GPU-b");
    assert_int_equal(gpu_in_slot(&f->known, 1)->minor, 5);
    assert_false(gpu_in_slot(&f->known, 1)->figures[GPU_MEMORY_USED].has);
}

static void what_is_new_comes_last(void **state)
{
    struct fixture *f = *state;
    struct gpu_device four[] = { device(0, "GPU-x"), device(1, "GPU-a"), device(2, "GPU-b"),
                                 device(3, "GPU-c") };
    assert_true(follow(f, four, 4));
    assert_int_equal(f->known.n_slots, 4);
    assert_string_equal(gpu_in_slot(&f->known, 3)->uuid, "GPU-x");
    assert_int_equal(gpu_in_slot(&f->known, 0)->number, 1);
}

static void the_driver_fails(void **state)
{
    struct fixture *f = *state;
    struct gpu_device three[] = { device(0, "GPU-a"), device(1, "GPU-b"), device(2, "GPU-c") };
    gpu_slots_fail(&f->known, FAILS);
    assert_string_equal(f->known.error, FAILS);
    for (size_t i = 0; i < 3; i++)
        assert_false(f->known.at[i].figures[GPU_MEMORY_USED].has);
    assert_true(follow(f, three, 3));
    assert_string_equal(f->known.error, "");
    assert_int_equal(f->known.n_slots, 3);
}

static void read_back(struct fixture *f)
{
    struct err err;
    assert_int_equal(gpu_slots_write(f->path, &f->known, &err), 0);
    gpu_slots_read(f->a, f->path, &f->known);
}

static void the_next_server_knows_them(void **state)
{
    struct fixture *f = *state;
    struct gpu_device whole = device(3, "GPU-d"), part = device(3, "MIG-d");
    whole.divided = true;
    part.figures[GPU_MIG] = (struct gpu_number){ true, 2 };
    part.figures[GPU_MIG_GI] = (struct gpu_number){ true, 9 };
    struct gpu_device now[] = { device(0, "GPU-b"), device(1, "GPU-c"), whole, part };
    assert_true(follow(f, now, 4));
    read_back(f);
    assert_int_equal(f->known.n, 4); /* no slot: not there */
    assert_int_equal(f->known.n_slots, 4);
    assert_string_equal(gpu_in_slot(&f->known, 0)->uuid, "GPU-a");
    assert_int_equal(gpu_in_slot(&f->known, 1)->minor, 4);
    assert_int_equal(gpu_in_slot(&f->known, 1)->memory, 7);
    assert_false(gpu_in_slot(&f->known, 1)->figures[GPU_MEMORY_USED].has);
    assert_string_equal(gpu_in_slot(&f->known, 3)->uuid, "MIG-d");
    assert_int_equal(gpu_part_of(gpu_in_slot(&f->known, 3)).gi, 9);
    follow(f, now, 4);
    assert_int_equal(f->known.n_slots, 4);
    assert_true(gpu_in_slot(&f->known, 0)->gone);
}

static void what_it_may_not_offer_is_barred(void **state)
{
    struct fixture *f = *state;
    gpu_bar(&f->known, "1,GPU-c");
    assert_true(gpu_in_slot(&f->known, 0)->barred);
    assert_false(gpu_in_slot(&f->known, 1)->barred);
    assert_false(gpu_in_slot(&f->known, 2)->barred);
    gpu_bar(&f->known, NULL);
    assert_false(gpu_in_slot(&f->known, 0)->barred);
}

/* Its number may be another's by now. */
static void one_that_left_is_not_named_by_number(void **state)
{
    struct fixture *f = *state;
    struct gpu_device two[] = { device(0, "GPU-b"), device(1, "GPU-c") };
    follow(f, two, 2);
    assert_int_equal(gpu_count_visible(&f->known, "0"), 1);
    gpu_bar(&f->known, "0");
    assert_false(gpu_in_slot(&f->known, 1)->barred);
    assert_true(gpu_in_slot(&f->known, 2)->barred);
}

static void no_file_and_bad_files(void **state)
{
    struct fixture *f = *state;
    static const char *const bad[] = { "", "device=0\n", "nonsense", "device=x\nend=1\n" };
    struct gpu_report none;
    struct err err;
    gpu_slots_read(f->a, f->path, &none);
    assert_int_equal(none.n, 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(file_replace(f->path, bad[i], strlen(bad[i]), 0600, &err), 0);
        gpu_slots_read(f->a, f->path, &none);
        assert_int_equal(none.n, 0);
        assert_int_equal(none.n_slots, 0);
    }
    assert_int_equal(gpu_slots_write("/proc/none/file", &f->known, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(one_leaves_and_comes_back),
        TEST(one_fails),
        TEST(what_is_new_comes_last),
        TEST(the_driver_fails),
        TEST(the_next_server_knows_them),
        TEST(what_it_may_not_offer_is_barred),
        TEST(one_that_left_is_not_named_by_number),
        TEST(no_file_and_bad_files),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
