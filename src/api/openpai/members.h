/* Members of bodies and answers, with what OpenPAI's clients mean by them. Private to api/openpai/.
 */
#ifndef API_OPENPAI_MEMBERS_H
#define API_OPENPAI_MEMBERS_H

#include "job/words.h"
#include "text/tree.h"

const char *pai_text(const struct text_node *map, const char *key); /* NULL: no such text */
bool pai_true(const struct text_node *map, const char *key);        /* true, also "true" */
const char *pai_said(const char *text);                             /* NULL: nothing, or "" */
struct words pai_list(struct arena *, const char *text);            /* "a,b" */
/* null where there is no such text or time. */
void pai_put_text(struct arena *, struct text_node *map, const char *key, const char *text);
void pai_put_ms(struct arena *, struct text_node *map, const char *key, uint64_t ms);

#endif
