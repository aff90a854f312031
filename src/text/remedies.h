/* What to do after a refusal, as members of its tree: "hint" says all of it in one line, "advice"
 * and "remedies" [{kind, args, argv, what}] say it apart. */
#ifndef TEXT_REMEDIES_H
#define TEXT_REMEDIES_H

#include "base/remedy.h"
#include "text/tree.h"

/* hint and remedies may be NULL. Nothing is written when there is nothing to say. */
void remedies_write(struct arena *, struct text_node *map, const char *hint,
                    const struct remedies *, const struct refused *);
/* The same in one line, for edges that have no other place; "" when there is nothing to say. */
const char *remedies_line(struct arena *, const char *hint, const struct remedies *);
/* Adds the remedies of the map to out (kinds that are not known here are left out) and returns what
 * it says beside them; "" when nothing. */
const char *remedies_read(struct arena *, const struct text_node *map, struct remedies *out);

#endif
