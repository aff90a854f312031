/* A report and its lines, there and back: devices, processes, links, figures. Then lines that are
 * cut off or wrong. */
#include "gpu/lines.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void there_and_back(void **state)
{
    struct gpu_process two[] = { { .pid = 12, .memory = 1 << 20 }, { .pid = 13 } };
    struct gpu_link links[] = { { .to = 1, .nvlinks = 4 },
                                { .to = 2, .has_path = true, .path = 50 } };
    struct gpu_device devices[] = {
        { .number = 0,
          .minor = 3,
          .model = "NVIDIA H100 80GB HBM3",
          .uuid = "GPU-1",
          .pci = "00000000:17:00.0",
          .memory = UINT64_C(85899345920),
          .figures = { [GPU_MEMORY_USED] = { true, 7 },
                       [GPU_THROTTLE] = { true, UINT64_C(1) << 40 },
                       [GPU_NUMA] = { true, 0 } },
          .links = links,
          .n_links = 2,
          .processes = two,
          .n_processes = 2,
          .error = "" },
        { .number = 1,
          .minor = 1,
          .model = "",
          .uuid = "",
          .pci = "",
          .error = "lost = gone",
          .divided = true },
    };
    const struct gpu_report said = {
        .driver = "580.1", .cuda = 13000, .error = "", .at = devices, .n = 2
    };
    struct gpu_report heard;
    struct arena *a = arena_create();
    AUTO_BUF struct buf lines = BUF_INIT(1 << 16), again = BUF_INIT(1 << 16);
    (void)state;
    gpu_lines_put(&said, &lines);
    assert_int_equal(gpu_lines_read(a, buf_str(&lines), &heard), 0);
    gpu_lines_put(&heard, &again);
    assert_string_equal(buf_str(&again), buf_str(&lines));
    assert_int_equal(heard.n, 2);
    assert_string_equal(heard.at[1].error, "lost = gone");
    assert_int_equal(heard.at[0].processes[1].pid, 13);
    assert_memory_equal(heard.at[0].figures, devices[0].figures, sizeof devices[0].figures);
    assert_int_equal(heard.at[0].links[1].path, 50);
    assert_true(heard.at[1].divided);
    assert_false(heard.at[1].figures[GPU_UTILISATION].has);
    for (size_t n = 0; n + 1 < lines.len; n++)
        assert_int_equal(gpu_lines_read(a, arena_strndup(a, buf_str(&lines), n), &heard), -1);
    arena_destroy(a);
}

static void wrong_lines_are_refused(void **state)
{
    static const char *const texts[] = { "",
                                         "end\n",
                                         "driver\nend=1\n",
                                         "process=1\nend=1\n",
                                         "device=x\nend=1\n",
                                         "device=0\nmemory=-1\nend=1\n",
                                         "device=0\nminor=5000000000\nend=1\n",
                                         "colour=red\nend=1\n",
                                         "utilisation=1\nend=1\n",
                                         "link=1\nend=1\n",
                                         "device=0\ndivided=2\nend=1\n",
                                         "device=0\nutilisation=x\nend=1\n" };
    struct gpu_report heard;
    struct arena *a = arena_create();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(gpu_lines_read(a, texts[i], &heard), -1);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(there_and_back),
                                        cmocka_unit_test(wrong_lines_are_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
