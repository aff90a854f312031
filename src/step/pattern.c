/* One pass over the text. A number between % and its letter is the least width of a number, filled
 * with zeros; the letters are those of sbatch 22.05. */
#include "step/pattern.h"

#include "base/buf.h"

#include <string.h>

enum { NAME_MAX_BYTES = 4096, WIDTH_MAX = 10 };
#define NO_ARRAY 4294967294u /* NO_VAL of Slurm */

static void add_number(struct buf *out, unsigned width, const char *text)
{
    for (size_t n = strlen(text); n < width; n++)
        buf_putc(out, '0');
    buf_puts(out, text);
}

static void add_u32(struct buf *out, unsigned width, uint32_t n)
{
    buf_addf(out, "%0*u", (int)width, n);
}

/* false: it is no pattern. */
static bool add_one(struct buf *out, char letter, unsigned width, const struct pattern_facts *f)
{
    switch (letter) {
    case '%': buf_putc(out, '%'); return true;
    case 'A': add_number(out, width, f->array_job ? f->array_job : f->job); return true;
    case 'a':
        if (f->array_index)
            add_number(out, width, f->array_index);
        else
            add_u32(out, width, NO_ARRAY); /* as Slurm has it */
        return true;
    case 'J':
        buf_puts(out, f->job);
        if (f->has_step)
            buf_addf(out, ".%u", f->step);
        return true;
    case 'j': add_number(out, width, f->job); return true;
    case 'N': buf_puts(out, f->node); return true;
    case 'n': add_u32(out, width, f->node_id); return true;
    case 's':
        if (f->has_step)
            add_u32(out, width, f->step);
        else
            buf_puts(out, "batch");
        return true;
    case 't': add_u32(out, width, f->task); return true;
    case 'u': buf_puts(out, f->user); return true;
    case 'x': buf_puts(out, f->name); return true;
    default: return false;
    }
}

const char *pattern_expand(struct arena *arena, const char *text, const struct pattern_facts *f)
{
    AUTO_BUF struct buf out = BUF_INIT(NAME_MAX_BYTES);
    bool plain = strchr(text, '\\') != NULL;
    while (*text) {
        unsigned width = 0;
        const char *at = text + 1;
        while (*text == '%' && *at >= '0' && *at <= '9' && width < 1000)
            width = width * 10 + (unsigned)(*at++ - '0');
        if (width > WIDTH_MAX)
            width = WIDTH_MAX;
        if (*text == '%' && !plain && add_one(&out, *at, width, f)) {
            text = at + 1;
            continue;
        }
        if (*text != '\\')
            buf_putc(&out, *text);
        text++;
    }
    return arena_strdup(arena, buf_str(&out));
}

bool pattern_by_task(const char *text)
{
    for (; !strchr(text, '\\') && (text = strchr(text, '%')); text++) {
        text++;
        text += strspn(text, "0123456789");
        if (*text == 't' || *text == 'n' || *text == 'N')
            return true;
        if (!*text)
            return false;
    }
    return false;
}
