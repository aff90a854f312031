/* Members of answers, as nodes of a tree or straight as text: lists of thousands of jobs are
 * written without a tree. Both ways give the same JSON. */
#include "api/openpai/writer.h"

#include "base/scan.h"
#include "text/print.h"

static void put_key(struct pai_writer *o, const char *key)
{
    print_key(key, o->more, o->text);
    o->more = true;
}

void pai_write_text(struct pai_writer *o, const char *key, const char *text)
{
    if (o->tree && text) {
        text_str(o->a, o->tree, key, text);
    } else if (o->tree) {
        text_null(o->a, o->tree, key);
    } else {
        put_key(o, key);
        if (text)
            print_quoted(text, false, o->text);
        else
            buf_puts(o->text, "null");
    }
}

void pai_write_int(struct pai_writer *o, const char *key, int64_t value)
{
    char text[FMT_MAX];
    if (o->tree) {
        text_int(o->a, o->tree, key, value);
        return;
    }
    put_key(o, key);
    buf_puts(o->text, fmt_int(text, value));
}

void pai_write_ms(struct pai_writer *o, const char *key, uint64_t ms)
{
    if (ms)
        pai_write_int(o, key, (int64_t)ms);
    else
        pai_write_text(o, key, NULL);
}

void pai_write_words(struct pai_writer *o, const char *key, const struct words *words)
{
    struct text_node *list = o->tree ? text_list(o->a, o->tree, key) : NULL;
    if (list) {
        for (size_t i = 0; i < words->n; i++)
            text_str(o->a, list, NULL, words->at[i]);
        return;
    }
    put_key(o, key);
    buf_putc(o->text, '[');
    for (size_t i = 0; i < words->n; i++) {
        if (i)
            buf_putc(o->text, ',');
        print_quoted(words->at[i], false, o->text);
    }
    buf_putc(o->text, ']');
}

struct pai_writer pai_write_map(struct pai_writer *o, const char *key)
{
    struct pai_writer inner = { .a = o->a, .text = o->text };
    if (o->tree) {
        inner.tree = text_map(o->a, o->tree, key);
        return inner;
    }
    put_key(o, key);
    buf_putc(o->text, '{');
    return inner;
}

void pai_write_end(struct pai_writer *o)
{
    if (!o->tree)
        buf_putc(o->text, '}');
}
