/* Memory and what grows in it: mem, arena, buf, vec, pairs. Zeroed and aligned memory, bounds, and
 * that a buffer which overflowed takes nothing more until it is cleared. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/pairs.h"
#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void mem_helpers(void **state)
{
    (void)state;
    AUTO_FREE char *zero = mem_new(0);
    assert_non_null(zero);
    AUTO_FREE char *text = mem_printf("%d-%s", 5, "x");
    assert_string_equal(text, "5-x");
    AUTO_FREE char *part = mem_strndup("abcdef", 3);
    assert_string_equal(part, "abc");
    assert_null(mem_strdup(NULL));
    char *mine = mem_strdup("gone");
    AUTO_FREE char *theirs = TAKE(mine);
    assert_null(mine);
    assert_string_equal(theirs, "gone");
}

static void arena_gives_zeroed_aligned_memory(void **state)
{
    (void)state;
    struct arena *a = arena_create();
    for (int round = 0; round < 3; round++) {
        size_t seen = 0;
        for (size_t n = 0; n < 3000; n += 7) {
            unsigned char *p = arena_alloc(a, n);
            assert_non_null(p);
            assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(p[i], 0);
            memset(p, 0xff, n);
            seen += n;
        }
        assert_true(arena_used(a) >= seen);
        arena_reset(a);
        assert_int_equal(arena_used(a), 0);
    }
    arena_destroy(a);
    arena_destroy(NULL);
}

static void arena_for_texts_holds_them(void **state)
{
    (void)state;
    const char *texts[] = { "owner", NULL, "", "a name of more than sixteen bytes" };
    char *copies[ARRAY_LEN(texts)];
    struct arena *a = arena_create_for(texts, ARRAY_LEN(texts));
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
            copies[i] = arena_strdup(a, texts[i]);
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
            if (texts[i])
                assert_string_equal(copies[i], texts[i]);
        assert_null(copies[1]);
        char *more = arena_alloc(a, 1000); /* it grows as any other */
        memset(more, 1, 1000);
        assert_string_equal(copies[3], texts[3]);
        arena_reset(a);
    }
    arena_destroy(a);
    a = arena_create_for(NULL, 0);
    assert_string_equal(arena_strdup(a, "x"), "x");
    arena_destroy(a);
}

static void arena_takes_large_and_texts(void **state)
{
    (void)state;
    struct arena *a = arena_create();
    char *small = arena_strdup(a, "small");
    char *large = arena_alloc(a, 40u << 20);
    large[(40u << 20) - 1] = 'x';
    assert_string_equal(small, "small");
    assert_null(arena_strdup(a, NULL));
    assert_string_equal(arena_strndup(a, "abc\0def", 7), "abc");
    assert_string_equal(arena_printf(a, "%s=%d", "n", 4), "n=4");
    char long_text[1000];
    memset(long_text, 'a', sizeof long_text);
    long_text[sizeof long_text - 1] = '\0';
    assert_string_equal(arena_printf(a, "%s", long_text), long_text);
    int *numbers = ARENA_ARRAY(a, 10, int);
    assert_int_equal(numbers[9], 0);
    arena_destroy(a);
}

static void buf_grows_and_drops(void **state)
{
    (void)state;
    AUTO_BUF struct buf b = BUF_INIT(10000);
    assert_string_equal(buf_str(&b), "");
    buf_puts(&b, "one ");
    buf_addf(&b, "%d", 2);
    buf_putc(&b, '!');
    assert_string_equal(buf_str(&b), "one 2!");
    buf_add_hex(&b, "\0\xa9", 2);
    assert_string_equal(buf_str(&b), "one 2!00a9");
    b.len -= 4;
    b.data[b.len] = '\0';
    buf_drop(&b, 4);
    assert_string_equal(buf_str(&b), "2!");
    buf_drop(&b, 400);
    assert_int_equal(b.len, 0);
    assert_string_equal(buf_str(&b), "");
    buf_addf(&b, "%0500d", 7);
    assert_int_equal(b.len, 500);
    char *text = buf_take(&b);
    assert_int_equal(strlen(text), 500);
    free(text);
    assert_int_equal(b.len, 0);
    text = buf_take(&b);
    assert_string_equal(text, "");
    free(text);
}

static void buf_overflows_without_holes(void **state)
{
    (void)state;
    AUTO_BUF struct buf b = BUF_INIT(5);
    buf_puts(&b, "abc");
    buf_puts(&b, "def");
    assert_true(b.overflow);
    buf_puts(&b, "g"); /* would fit, and would be a lie */
    assert_string_equal(buf_str(&b), "abc");
    buf_clear(&b);
    assert_false(b.overflow);
    buf_addf(&b, "%s", "12345");
    assert_string_equal(buf_str(&b), "12345");
    assert_false(b.overflow);
    buf_addf(&b, "%0300d", 1);
    assert_true(b.overflow);
    assert_int_equal(b.len, 5);
}

static void vec_grows_and_closes_gaps(void **state)
{
    (void)state;
    VEC(int) v = { .n = 0 };
    for (int i = 0; i < 1000; i++)
        vec_push(&v, i);
    int *fresh = vec_add(&v);
    assert_int_equal(*fresh, 0);
    vec_remove(&v, 0);
    vec_remove(&v, v.n - 1);
    assert_int_equal(v.n, 999);
    for (size_t i = 0; i < v.n; i++)
        assert_int_equal(v.at[i], (int)i + 1);
    vec_clear(&v);
    assert_int_equal(*vec_add(&v), 0);
    vec_fini(&v);
    assert_null(v.at);
}

static void pairs_keep_order(void **state)
{
    (void)state;
    struct arena *a = arena_create();
    struct pairs p = { .n = 0 };
    for (int i = 0; i < 50; i++) {
        char name[16];
        snprintf(name, sizeof name, "N%d", i);
        pairs_setf(&p, a, name, "%d", i);
    }
    pairs_set(&p, a, "N3", "three");
    assert_int_equal(p.n, 50);
    assert_string_equal(p.at[3].value, "three");
    assert_string_equal(pairs_get(&p, "N49"), "49");
    assert_null(pairs_get(&p, "n49"));
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mem_helpers),
        cmocka_unit_test(arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(arena_for_texts_holds_them),
        cmocka_unit_test(arena_takes_large_and_texts),
        cmocka_unit_test(buf_grows_and_drops),
        cmocka_unit_test(buf_overflows_without_holes),
        cmocka_unit_test(vec_grows_and_closes_gaps),
        cmocka_unit_test(pairs_keep_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
