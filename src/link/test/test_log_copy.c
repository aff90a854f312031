/* A log's copy on the disk: segments as at the node, pieces that come again, holes, the cap, what a
 * killed server left, and a disk that is full for a while. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "link/log_copy.h"
#include "wire/log_reader.h"
#include "wire/message.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define TEXT   100u /* bytes of output of a record */
#define RECORD (RECORD_HEAD + TEXT)

struct copied {
    char top[40], dir[48];
    struct log_copy *copy;
    unsigned char records[64 * RECORD];
};

static void reopen(struct copied *place)
{
    struct err err;
    log_copy_destroy(place->copy);
    place->copy = log_copy_open(place->dir, &err);
    assert_non_null(place->copy);
}

static int set_up(void **state)
{
    struct copied *place = mem_new(sizeof *place);
    snprintf(place->top, sizeof place->top, "/tmp/muster-copy-XXXXXX");
    if (!mkdtemp(place->top))
        return -1;
    snprintf(place->dir, sizeof place->dir, "%s/a/b", place->top);
    for (size_t i = 0; i < sizeof place->records / RECORD; i++) {
        struct record record = { .len = TEXT, .stream = RECORD_STDOUT, .time_us = i };
        record_put(place->records + i * RECORD, &record);
        memset(place->records + i * RECORD + RECORD_HEAD, (int)('A' + i), TEXT);
    }
    reopen(place);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct copied *place = *state;
    struct err err;
    log_copy_destroy(place->copy);
    int rc = file_remove_tree(place->top, &err);
    free(place);
    return rc;
}

/* n records from the first one on, at that offset of a segment. */
static struct log_copy_piece piece_of(struct copied *place, uint64_t segment, uint64_t offset,
                                      size_t first, size_t n)
{
    return (struct log_copy_piece){ .segment = segment,
                                    .from = offset,
                                    .offset = offset,
                                    .at = place->records + first * RECORD,
                                    .len = n * RECORD };
}

static enum log_copy_result add(struct copied *place, struct log_copy_piece piece)
{
    struct err err;
    assert_true(log_copy_accepts(&piece));
    return log_copy_add(place->copy, &piece, &err);
}

/* What a reader sees: a letter for each record, '.' for a hole. */
static void shows(struct copied *place, const char *letters)
{
    struct log_reader *reader = log_reader_create(place->dir, 0);
    struct log_item item;
    char seen[100];
    size_t n = 0;
    while (log_reader_next(reader, &item) == 1)
        seen[n++] = item.gap ? '.' : (char)item.data[0];
    seen[n] = '\0';
    assert_string_equal(seen, letters);
    log_reader_destroy(reader);
}

static void pieces_come_again(void **state)
{
    struct copied *place = *state;
    assert_int_equal(log_copy_end(place->copy), 0);
    assert_int_equal(add(place, piece_of(place, 0, 0, 0, 2)), LOG_COPY_HAS);
    assert_int_equal(add(place, piece_of(place, 0, RECORD, 1, 1)), LOG_COPY_HAS);
    assert_int_equal(log_copy_end(place->copy), 2 * RECORD);
    assert_int_equal(add(place, piece_of(place, 0, RECORD, 1, 3)), LOG_COPY_HAS);
    assert_int_equal(log_copy_end(place->copy), 4 * RECORD);
    shows(place, "ABCD");
    reopen(place);
    assert_int_equal(log_copy_end(place->copy), 4 * RECORD);
    assert_int_equal(add(place, piece_of(place, 0, 4 * RECORD, 4, 1)), LOG_COPY_HAS);
    shows(place, "ABCDE");
}

static void what_does_not_follow_is_lacking(void **state)
{
    struct copied *place = *state;
    assert_int_equal(add(place, piece_of(place, 0, RECORD, 1, 1)), LOG_COPY_LACKS);
    assert_int_equal(access(place->dir, F_OK), -1);
    assert_int_equal(add(place, piece_of(place, 0, 0, 0, 1)), LOG_COPY_HAS);
    assert_int_equal(add(place, piece_of(place, 0, 2 * RECORD, 2, 1)), LOG_COPY_LACKS);
    struct log_copy_piece hole = piece_of(place, RECORD, 2 * RECORD, 2, 1);
    hole.from = RECORD; /* a hole ends where a segment begins */
    assert_int_equal(add(place, hole), LOG_COPY_LACKS);
    shows(place, "A");
}

static void holes_of_the_cap_are_gaps(void **state)
{
    struct copied *place = *state;
    assert_int_equal(add(place, piece_of(place, 0, 0, 0, 1)), LOG_COPY_HAS);
    struct log_copy_piece later = piece_of(place, 5 * RECORD, 5 * RECORD, 5, 1);
    later.from = RECORD;
    assert_int_equal(add(place, later), LOG_COPY_HAS);
    shows(place, "A.F");
    assert_int_equal(log_copy_end(place->copy), 6 * RECORD);
}

/* The same segments go as at the node: neither in the first head nor in the last tail bytes. */
static void the_cap_holds_for_the_copy(void **state)
{
    struct copied *place = *state;
    for (size_t i = 0; i < 6; i++) {
        struct log_copy_piece piece = piece_of(place, i * RECORD, i * RECORD, i, 1);
        piece.head = 1;
        piece.tail = RECORD + 1;
        if (i == 3)
            reopen(place);
        assert_int_equal(add(place, piece), LOG_COPY_HAS);
    }
    shows(place, "A.DEF");
}

static void half_a_record_is_cut_off(void **state)
{
    struct copied *place = *state;
    struct err err;
    AUTO_FREE char *path = mem_printf("%s/0000000000000000.log", place->dir);
    assert_int_equal(file_mkdirs(place->dir, 0755, &err), 0);
    for (size_t cut = 0; cut < RECORD; cut += 7) {
        assert_int_equal(file_replace(path, place->records, RECORD + cut, 0644, &err), 0);
        reopen(place);
        assert_int_equal(log_copy_end(place->copy), RECORD);
        assert_int_equal(add(place, piece_of(place, 0, RECORD, 1, 1)), LOG_COPY_HAS);
        shows(place, "AB");
    }
}

static void what_never_came_is_a_hole(void **state)
{
    struct copied *place = *state;
    struct err err;
    assert_int_equal(log_copy_close(place->copy, 0, &err), 0);
    assert_int_equal(access(place->dir, F_OK), -1);
    assert_int_equal(log_copy_close(place->copy, 2 * RECORD, &err), 0);
    shows(place, ".");
    assert_int_equal(add(place, piece_of(place, 2 * RECORD, 2 * RECORD, 2, 1)), LOG_COPY_HAS);
    assert_int_equal(log_copy_close(place->copy, 2 * RECORD, &err), 0); /* it is there */
    shows(place, ".C");
    assert_int_equal(log_copy_close(place->copy, 9 * RECORD, &err), 0);
    reopen(place);
    assert_int_equal(log_copy_end(place->copy), 9 * RECORD);
    shows(place, ".C.");
}

static void full_disks_change_nothing(void **state)
{
    struct copied *place = *state;
    struct rlimit limit;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(add(place, piece_of(place, 0, 0, 0, 1)), LOG_COPY_HAS);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    struct rlimit small = { .rlim_cur = 2 * RECORD + 5, .rlim_max = limit.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(add(place, piece_of(place, 0, RECORD, 1, 3)), LOG_COPY_FAILED);
    assert_int_equal(log_copy_end(place->copy), RECORD);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    shows(place, "A");
    assert_int_equal(add(place, piece_of(place, 0, RECORD, 1, 3)), LOG_COPY_HAS);
    shows(place, "ABCD");
}

static void strange_pieces_are_refused(void **state)
{
    struct copied *place = *state;
    const struct log_copy_piece good = piece_of(place, RECORD, 3 * RECORD, 0, 2);
    struct log_copy_piece bad[8];
    for (size_t i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].len = 0;
    bad[1].len--;
    bad[2].len = RECORD_HEAD - 1;
    bad[3].from = good.offset + 1;
    bad[4].segment = good.offset + 1;
    bad[5].offset = RECORD + SEGMENT_MAX - RECORD;
    bad[6].offset = bad[6].segment = UINT64_MAX - 3;
    bad[7].at = good.at + 1;
    assert_true(log_copy_accepts(&good));
    for (size_t i = 0; i < 8; i++)
        assert_false(log_copy_accepts(&bad[i]));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pieces_come_again),         TEST(what_does_not_follow_is_lacking),
        TEST(holes_of_the_cap_are_gaps), TEST(the_cap_holds_for_the_copy),
        TEST(half_a_record_is_cut_off),  TEST(what_never_came_is_a_hole),
        TEST(full_disks_change_nothing), TEST(strange_pieces_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
