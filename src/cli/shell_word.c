/* Quoting for sh: everything is plain inside single quotes but the quote itself, which is written
 * between them. */
#include "cli/shell_word.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool is_plain(const char *word)
{
    for (const char *c = word; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_@%+=:,./-", *c))
            return false;
    return *word;
}

void shell_word(struct buf *out, const char *word)
{
    if (is_plain(word)) {
        buf_puts(out, word);
        return;
    }
    buf_putc(out, '\'');
    for (; *word; word++)
        buf_puts(out, *word == '\'' ? "'\\''" : (char[]){ *word, '\0' });
    buf_putc(out, '\'');
}
