/* What programs and users wrote, as a terminal may have it: colours (SGR), tabs, carriage returns
 * and line feeds pass, every other control is shown ("^[", "^G"; "\x9b" for C1 and for bytes that
 * are no UTF-8), so that no text sets a clipboard or a title, moves the cursor, or asks the
 * terminal what it then answers as if somebody typed. A colour ends with its line. */
#ifndef CLI_VISIBLE_TEXT_H
#define CLI_VISIBLE_TEXT_H

#include "base/buf.h"

#include <stdbool.h>

/* A stream of text; all zero at its beginning. Held is what may become a colour, or a character of
 * several bytes, when more comes. */
struct visible_text {
    char held[32];
    size_t n;
    bool colored;
};
void visible_text_add(struct visible_text *, const char *text, size_t len, struct buf *out);
/* At the end of the stream: shows what is held, and ends a colour. */
void visible_text_end(struct visible_text *, struct buf *out);

#endif
