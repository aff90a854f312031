/* doc/protocol.md and the fuzzers' words are what the tables say; the shortest message of a kind is
 * one that is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "replay/entry.h"
#include "replay/test/protocol.h"
#include "wire/message.h"
#include "wire/rendezvous.h"
#include "wire/step.h"

#include <stdlib.h>
#include <string.h>

static void assert_current(const struct buf *now, const char *file, const char *how)
{
    AUTO_FREE char *path = mem_printf("%s/%s", SOURCE_ROOT, file);
    AUTO_FREE char *was = NULL;
    struct err err = { 0 };
    size_t len = 0;
    assert_false(now->overflow);
    if (file_read(path, 1 << 20, &was, &len, &err) != 0)
        fail_msg("%s", err.what);
    if (strcmp(was, buf_str(now)) != 0)
        fail_msg("%s is out of date: run BUILD/src/replay/protocol_reference%s > %s", file, how,
                 file);
}

static void the_page_is_current(void **state)
{
    (void)state;
    AUTO_BUF struct buf now = BUF_INIT(1 << 20);
    protocol_page(&now);
    assert_current(&now, "doc/protocol.md", "");
}

static void words_are_current(void **state)
{
    static const char *const targets[] = { "wire", "rdzv", "recording" };
    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        AUTO_BUF struct buf now = BUF_INIT(1 << 20);
        AUTO_FREE char *file = mem_printf("fuzz/%s.dict", targets[i]);
        AUTO_FREE char *how = mem_printf(" %s", targets[i]);
        assert_true(protocol_dictionary(&now, targets[i]));
        assert_current(&now, file, how);
    }
}

static size_t rows_without_words(const struct codec_row *rows)
{
    size_t n = 0;
    for (const struct codec_row *row = rows; row->type; row++) {
        bool named = row->doc && (*row->doc || row->table);
        n += !named;
        if (row->table && row->table->name)
            n += rows_without_words(row->table);
    }
    return n;
}

/* Every member has a meaning; the shortest body has the least size and is read, where no member
 * has to be below another. */
static void look_at(const struct codec_message *messages, size_t n, size_t first)
{
    for (size_t i = first; i < n; i++) {
        const struct codec_message *m = &messages[i];
        assert_non_null(m->name);
        assert_true(*m->way && *m->doc);
        if (!m->rows)
            continue;
        AUTO_BUF struct buf body = BUF_INIT(1 << 16);
        struct arena *arena = arena_create();
        codec_shortest(&body, m->rows);
        assert_int_equal(body.len, codec_least(m->rows));
        const unsigned char *at = (const unsigned char *)buf_str(&body);
        void *into = arena_alloc(arena, 4096);
        if (codec_get((struct wire_reader){ .at = at, .end = at + body.len }, arena, m->rows,
                      into) != 0)
            fail_msg("the shortest %s is not read", m->name);
        if (rows_without_words(m->rows))
            fail_msg("%s: %zu members without a meaning", m->name, rows_without_words(m->rows));
        arena_destroy(arena);
    }
}

static void tables_are_whole(void **state)
{
    (void)state;
    look_at(wire_messages, WIRE_KIND_N, 1);
    look_at(rdzv_messages, RDZV_MESSAGES, 0);
    look_at(step_messages, STEP_MESSAGES, 0);
    look_at(entry_inputs, INPUT_N, 1);
    look_at(entry_others, 3, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_is_current),
        cmocka_unit_test(words_are_current),
        cmocka_unit_test(tables_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
