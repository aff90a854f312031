/* Lines out of records, and the reader of log directories: growth, rotation, gaps, torn ends,
 * tails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/log_text.h"

#include "base/file.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

struct fix {
    char dir[64];
    uint64_t end; /* logical */
};

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-log-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    file_remove_tree(f->dir, NULL);
    free(f);
    return 0;
}

/* Appends a record to the segment that starts at `segment`. */
static void put(struct fix *f, uint64_t segment, const char *text)
{
    char name[SEGMENT_NAME];
    unsigned char head[RECORD_HEAD];
    struct record record = { .len = (uint32_t)strlen(text), .stream = RECORD_STDOUT, .time_us = 7 };
    AUTO_FREE char *path = mem_printf("%s/%s", f->dir, segment_name(name, segment));
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    record_put(head, &record);
    assert_int_equal(file_write_all(fd, head, sizeof head), 0);
    assert_int_equal(file_write_all(fd, text, strlen(text)), 0);
    f->end += RECORD_HEAD + strlen(text);
}

static void expect(struct log_reader *r, const char *text)
{
    struct log_item item;
    assert_int_equal(log_reader_next(r, &item), 1);
    assert_int_equal(item.gap, 0);
    assert_int_equal(item.record.len, strlen(text));
    assert_memory_equal(item.data, text, strlen(text));
}

static void reader_follows_growth_and_rotation(void **state)
{
    struct fix *f = *state;
    struct log_item item;
    struct log_reader *r = log_reader_create(f->dir, 0);
    assert_int_equal(log_reader_next(r, &item), 0);
    put(f, 0, "one\n");
    put(f, 0, "two\n");
    expect(r, "one\n");
    expect(r, "two\n");
    assert_int_equal(log_reader_next(r, &item), 0);
    put(f, 0, "three\n");
    expect(r, "three\n");
    uint64_t second = f->end;
    put(f, second, "four\n");
    expect(r, "four\n");
    assert_int_equal(log_reader_next(r, &item), 0);
    log_reader_destroy(r);
    r = log_reader_create(f->dir, second);
    expect(r, "four\n");
    log_reader_destroy(r);
}

static void hole_is_a_gap(void **state)
{
    struct fix *f = *state;
    struct log_item item;
    put(f, 0, "one\n");
    f->end += 1000;
    put(f, f->end, "far\n");
    struct log_reader *r = log_reader_create(f->dir, 0);
    expect(r, "one\n");
    assert_int_equal(log_reader_next(r, &item), 1);
    assert_int_equal(item.gap, 1000);
    expect(r, "far\n");
    log_reader_destroy(r);
}

static void half_a_record_is_waited_for(void **state)
{
    struct fix *f = *state;
    struct log_item item;
    char name[SEGMENT_NAME];
    unsigned char head[RECORD_HEAD];
    struct record record = { .len = 6, .stream = RECORD_STDERR, .time_us = 1 };
    AUTO_FREE char *path = mem_printf("%s/%s", f->dir, segment_name(name, 0));
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT, 0600);
    struct log_reader *r = log_reader_create(f->dir, 0);
    record_put(head, &record);
    assert_int_equal(file_write_all(fd, head, sizeof head), 0);
    assert_int_equal(file_write_all(fd, "abc", 3), 0);
    assert_int_equal(log_reader_next(r, &item), 0);
    assert_int_equal(file_write_all(fd, "def", 3), 0);
    expect(r, "abcdef");
    log_reader_destroy(r);
}

static void torn_segment_ends_in_a_gap(void **state)
{
    struct fix *f = *state;
    struct log_item item;
    char name[SEGMENT_NAME];
    put(f, 0, "one\n");
    AUTO_FREE char *path = mem_printf("%s/%s", f->dir, segment_name(name, 0));
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_APPEND);
    assert_int_equal(file_write_all(fd, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16), 0);
    struct log_reader *r = log_reader_create(f->dir, 0);
    expect(r, "one\n");
    assert_int_equal(log_reader_next(r, &item), 0);
    f->end += 16;
    put(f, f->end, "two\n");
    assert_int_equal(log_reader_next(r, &item), 1);
    assert_int_equal(item.gap, 16);
    expect(r, "two\n");
    log_reader_destroy(r);
}

static void many_small_records_read_fast_enough_to_finish(void **state)
{
    struct fix *f = *state;
    struct log_item item;
    for (int i = 0; i < 20000; i++)
        put(f, 0, "x\n");
    struct log_reader *r = log_reader_create(f->dir, 0);
    int n = 0;
    while (log_reader_next(r, &item) == 1)
        n++;
    assert_int_equal(n, 20000);
    log_reader_destroy(r);
}

static void tail_is(struct log_reader *r, uint64_t lines, uint64_t offset, size_t skip)
{
    struct log_tail tail = { .lines = lines };
    log_reader_seek(r, 0);
    log_tail_find(r, &tail);
    assert_int_equal(tail.offset, offset);
    assert_int_equal(tail.skip, skip);
    tail = (struct log_tail){ .stream = RECORD_STDERR, .lines = lines };
    log_reader_seek(r, 0);
    log_tail_find(r, &tail);
    assert_int_equal(tail.offset, 0); /* nothing was written there */
}

static void tail_counts_lines_not_records(void **state)
{
    struct fix *f = *state;
    put(f, 0, "a\nb\nc\n");
    uint64_t second = f->end;
    put(f, 0, "d\ne");
    put(f, 0, "e\nf\n");
    struct log_reader *r = log_reader_create(f->dir, 0);
    tail_is(r, 2, second, 2); /* "ee" begins in the second record */
    tail_is(r, 100, 0, 0);
    tail_is(r, 4, 0, 4);
    log_reader_destroy(r);
}

static void names_stand_before_lines(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF_INIT(4096);
    struct log_text t = { .names = true };
    log_text_add(&t, "w/0", "one\ntw", 6, &out);
    log_text_add(&t, "w/0", "o\n", 2, &out);
    log_text_add(&t, "w/0", "half", 4, &out);
    log_text_add(&t, "w/1", "other\n", 6, &out);
    log_text_gap(&t, "w/1", 12, &out);
    assert_string_equal(buf_str(&out),
                        "w/0  one\nw/0  two\nw/0  half\nw/1  other\n"
                        "w/1  [12 bytes of output were dropped here, over the log's limit]\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reader_follows_growth_and_rotation),
        TEST(hole_is_a_gap),
        TEST(half_a_record_is_waited_for),
        TEST(torn_segment_ends_in_a_gap),
        TEST(many_small_records_read_fast_enough_to_finish),
        TEST(tail_counts_lines_not_records),
        TEST(names_stand_before_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
