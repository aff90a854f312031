/* The log writer: segments, the cap with its hole in the middle, a disk that is full for a while.
 * What was lost is said in the log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/logfile.h"
#include "wire/log_reader.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

struct place {
    char top[40], dir[48];
};

static int make_place(void **state)
{
    struct place *place = mem_new(sizeof *place);
    snprintf(place->top, sizeof place->top, "/tmp/muster-log-XXXXXX");
    if (!mkdtemp(place->top))
        return -1;
    snprintf(place->dir, sizeof place->dir, "%s/a/b", place->top);
    *state = place;
    return 0;
}

static int drop_place(void **state)
{
    struct place *place = *state;
    struct err err;
    int rc = file_remove_tree(place->top, &err);
    free(place);
    return rc;
}

struct seen {
    uint64_t first[64], end; /* logical offsets of segments; end of the last */
    size_t segments, records;
    uint64_t bytes;
    char text[400]; /* of records by muster */
};

static void look_at_segment(const char *path, uint64_t start, struct seen *seen)
{
    AUTO_FREE char *data = NULL;
    size_t len;
    struct err err;
    assert_int_equal(file_read(path, SEGMENT_MAX, &data, &len, &err), 0);
    seen->first[seen->segments++] = start;
    seen->end = start + len;
    for (size_t at = 0; at < len;) {
        struct record record;
        assert_int_equal(record_get((unsigned char *)data + at, len - at, &record), 1);
        assert_true(record.len <= len - at - RECORD_HEAD);
        assert_true(record.time_us > 0);
        if (record.stream == RECORD_MUSTER)
            snprintf(seen->text, sizeof seen->text, "%.*s", (int)record.len,
                     data + at + RECORD_HEAD);
        seen->records++;
        seen->bytes += record.len;
        at += RECORD_HEAD + record.len;
    }
}

static struct seen look(const char *dir)
{
    struct seen seen = { .segments = 0 };
    struct dirent **entries;
    int n = scandir(dir, &entries, NULL, alphasort);
    assert_true(n >= 2);
    for (int i = 0; i < n; i++) {
        uint64_t offset;
        AUTO_FREE char *path = mem_printf("%s/%s", dir, entries[i]->d_name);
        if (segment_parse(entries[i]->d_name, &offset) == 0)
            look_at_segment(path, offset, &seen);
        free(entries[i]);
    }
    free(entries);
    return seen;
}

static const struct record out_record = { .stream = RECORD_STDOUT, .time_us = 1 };

static void fill(struct logfile *log, size_t records, size_t size)
{
    char *bytes = mem_new(size);
    memset(bytes, 'x', size);
    for (size_t i = 0; i < records; i++)
        logfile_add(log, &out_record, bytes, size);
    free(bytes);
}

static void records_in_segments(void **state)
{
    struct place *place = *state;
    struct err err;
    struct logfile *log = logfile_create(place->dir, 0, 0, &err);
    assert_non_null(log);
    assert_true(logfile_end(log) == 0);
    logfile_say(log, "started");
    fill(log, 200, RECORD_MAX);
    uint64_t end = logfile_end(log);
    assert_true(end == (RECORD_HEAD + 8) + 200ull * (RECORD_HEAD + RECORD_MAX));
    logfile_destroy(log);
    struct seen seen = look(place->dir);
    assert_int_equal(seen.records, 201);
    assert_true(seen.segments == 4 && seen.end == end);
    assert_string_equal(seen.text, "started\n");
}

static void the_middle_goes(void **state)
{
    struct place *place = *state;
    struct err err;
    struct logfile *log = logfile_create(place->dir, 1u << 20, 5u << 20, &err);
    fill(log, 1000, RECORD_MAX);
    uint64_t end = logfile_end(log);
    logfile_destroy(log);
    struct seen seen = look(place->dir);
    assert_true(seen.first[0] == 0);
    assert_true(seen.end == end);
    assert_true(seen.segments >= 3 && seen.segments <= 4);
    assert_true(seen.first[1] > 2ull * SEGMENT_MAX); /* the hole */
    assert_true(seen.first[1] + (5u << 20) <= end);  /* the tail is whole */
}

static void a_full_disk_loses_output_and_says_so(void **state)
{
    struct place *place = *state;
    struct err err;
    struct logfile *log = logfile_create(place->dir, 0, 0, &err);
    logfile_add(log, &out_record, "before\n", 7);
    uint64_t before = logfile_end(log);
    /* A limit on the file's size stands for the full disk: the write is cut in the middle of a
     * record. */
    struct rlimit old, small = { .rlim_cur = before + 100 };
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    fill(log, 3, 1000);
    assert_true(logfile_end(log) == before);
    assert_true(logfile_lost(log) == 3000);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    logfile_add(log, &out_record, "after\n", 6);
    assert_true(logfile_lost(log) == 0);
    uint64_t end = logfile_end(log);
    logfile_destroy(log);
    struct seen seen = look(place->dir);
    assert_int_equal(seen.records, 3);
    assert_true(seen.end == end);
    assert_non_null(strstr(seen.text, "3000 bytes of output are lost: "));
}

/* The disk stays full until the task ends, and has no room for a line about it. */
static void what_is_lost_at_the_end_is_a_hole(void **state)
{
    struct place *place = *state;
    struct err err;
    struct logfile *log = logfile_create(place->dir, 0, 0, &err);
    logfile_add(log, &out_record, "before\n", 7);
    uint64_t before = logfile_end(log);
    struct rlimit old, small = { .rlim_cur = before };
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    fill(log, 3, 1000);
    small.rlim_cur = 10; /* nor in a new segment */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    logfile_finish(log);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_true(logfile_lost(log) == 0 && logfile_end(log) == before + 3000);
    logfile_finish(log); /* once */
    assert_true(logfile_end(log) == before + 3000);
    logfile_destroy(log);
    struct log_reader *reader = log_reader_create(place->dir, 0);
    struct log_item item;
    assert_int_equal(log_reader_next(reader, &item), 1);
    assert_true(item.gap == 0 && item.end == before);
    assert_int_equal(log_reader_next(reader, &item), 1);
    assert_true(item.gap == 3000 && item.end == before + 3000);
    assert_int_equal(log_reader_next(reader, &item), 0);
    log_reader_destroy(reader);
}

static void what_is_lost_at_the_end_is_said(void **state)
{
    struct place *place = *state;
    struct err err;
    struct logfile *log = logfile_create(place->dir, 0, 0, &err);
    struct rlimit old, small = { .rlim_cur = 500 };
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    fill(log, 1, 1000);
    logfile_finish(log);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    logfile_destroy(log);
    assert_non_null(strstr(look(place->dir).text, "1000 bytes of output are lost: "));
}

static void a_place_that_cannot_be_made(void **state)
{
    struct place *place = *state;
    struct err err;
    AUTO_FREE char *file = mem_printf("%s/file", place->top);
    assert_int_equal(file_replace(file, "x", 1, 0600, &err), 0);
    AUTO_FREE char *below = mem_printf("%s/log", file);
    assert_null(logfile_create(below, 0, 0, &err));
    assert_non_null(strstr(err.what, file));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_in_segments, make_place, drop_place),
        cmocka_unit_test_setup_teardown(the_middle_goes, make_place, drop_place),
        cmocka_unit_test_setup_teardown(a_full_disk_loses_output_and_says_so, make_place,
                                        drop_place),
        cmocka_unit_test_setup_teardown(what_is_lost_at_the_end_is_a_hole, make_place, drop_place),
        cmocka_unit_test_setup_teardown(what_is_lost_at_the_end_is_said, make_place, drop_place),
        cmocka_unit_test_setup_teardown(a_place_that_cannot_be_made, make_place, drop_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
