/* Text for a terminal: what passes, what is shown instead, and that neither depends on how it was
 * cut. Random texts of escape sequences leave the terminal alone. */
#include "cli/visible_text.h"

#include "base/dice.h"
#include "base/scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SHOWS(text, wanted)                                                                        \
    {                                                                                              \
        (text), sizeof(text) - 1, (wanted)                                                         \
    }
static const struct {
    const char *text;
    size_t len;
    const char *shown;
} rows[] = {
    SHOWS("plain, 训练 é 🙂\n", "plain, 训练 é 🙂\n"),
    SHOWS("50 %\r100 %\t.\r\n", "50 %\r100 %\t.\r\n"),
    SHOWS("\033[1;31mred\033[0m \033[38:2::1:2:3mx\033[m\n",
          "\033[1;31mred\033[0m \033[38:2::1:2:3mx\033[m\n"),
    /* a colour ends with its line, and with the stream */
    SHOWS("\033[32mgreen\nplain\n", "\033[32mgreen\033[0m\nplain\n"),
    SHOWS("\033[32mgreen\r\n", "\033[32mgreen\r\033[0m\n"),
    SHOWS("\033[0;7mx", "\033[0;7mx\033[0m"),
    SHOWS("\033]52;c;ZXZpbA==\a", "^[]52;c;ZXZpbA==^G"),
    SHOWS("\033]0;title\033\\", "^[]0;title^[\\"),
    SHOWS("\033[2J\033[H\033[3A\033[6n\033[c", "^[[2J^[[H^[[3A^[[6n^[[c"),
    SHOWS("\033[?25m\033[>4;2m\033[1 m\033[1\n31m", "^[[?25m^[[>4;2m^[[1 m^[[1\n31m"),
    SHOWS("\033c\033(0\033P$q m\033\033[31mx\n", "^[c^[(0^[P$q m^[\033[31mx\033[0m\n"),
    SHOWS("\b\v\f\016\177", "^H^K^L^N^?"),
    SHOWS("a\0b", "a^@b"),
    SHOWS("\302\2332J \302\205", "\\x9b2J \\x85"),
    SHOWS("\2332J \377 \300\200 \355\240\200", "\\x9b2J \\xff \\xc0\\x80 \\xed\\xa0\\x80"),
    SHOWS("\345\256", "\\xe5\\xae"),
    SHOWS("\345\256x\345\033[1m\345", "\\xe5\\xaex\\xe5\033[1m\\xe5\033[0m"),
    SHOWS("\033", "^["),
    SHOWS("\033[31", "^[[31"),
    SHOWS("\033[1111111111111111111111111111m", "\033[1111111111111111111111111111m\033[0m"),
    SHOWS("\033[111111111111111111111111111111m", "^[[111111111111111111111111111111m"),
};

static void show(const char *text, size_t len, size_t piece, struct buf *out)
{
    struct visible_text v = { .n = 0 };
    for (size_t i = 0; i < len; i += piece)
        visible_text_add(&v, text + i, len - i < piece ? len - i : piece, out);
    visible_text_end(&v, out);
}

static void shows_what_is_no_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t piece = 1; piece <= rows[i].len; piece++) {
            AUTO_BUF struct buf out = BUF_INIT(4096);
            show(rows[i].text, rows[i].len, piece, &out);
            assert_string_equal(buf_str(&out), rows[i].shown);
        }
}

/* What a terminal does with it, apart from showing it: nothing but colours. */
static void assert_only_text(const struct buf *out)
{
    bool colored = false;
    for (size_t i = 0; i < out->len;) {
        uint32_t code;
        size_t len = scan_char(out->data + i, out->len - i, &code);
        assert_true(len > 0);
        i += len;
        if (code == 0x1b) {
            assert_int_equal(out->data[i++], '[');
            size_t n = strspn(out->data + i, "0123456789;:");
            colored = strspn(out->data + i, "0;") != n;
            i += n;
            assert_int_equal(out->data[i++], 'm');
        } else if (code == '\n') {
            assert_false(colored);
        } else {
            assert_true(code == '\t' || code == '\r' || (code >= 0x20 && code < 0x7f) ||
                        code >= 0xa0);
        }
    }
    assert_false(colored);
}

/* Random texts of what sequences are made of: cut anywhere the same, safe, and safe text stays. */
static void any_text_is_safe(void **state)
{
    static const char *const parts[] = { "\033", "[",    "31",   ";",    ":", "m",  "0",   "\n",
                                         "\r",   "\t",   "\302", "\233", "J", "\a", "]",   "?",
                                         "\345", "\256", "\211", "\360", "x", "é",  "\177" };
    struct dice dice = { .state = 7 };
    (void)state;
    for (int round = 0; round < 20000; round++) {
        AUTO_BUF struct buf text = BUF_INIT(4096), whole = BUF_INIT(16384), cut = BUF_INIT(16384),
                            again = BUF_INIT(16384);
        for (uint32_t n = dice_below(&dice, 40); n > 0; n--)
            if (dice_below(&dice, 8) == 0)
                buf_putc(&text, (char)dice_below(&dice, 256));
            else
                buf_puts(&text, parts[dice_below(&dice, sizeof parts / sizeof parts[0])]);
        show(buf_str(&text), text.len, text.len + 1, &whole);
        show(buf_str(&text), text.len, 1 + dice_below(&dice, 5), &cut);
        assert_string_equal(buf_str(&whole), buf_str(&cut));
        assert_only_text(&whole);
        show(buf_str(&whole), whole.len, whole.len + 1, &again);
        assert_string_equal(buf_str(&again), buf_str(&whole));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_what_is_no_text),
        cmocka_unit_test(any_text_is_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
