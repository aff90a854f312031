/* What is read of a store's answers: elements by name, and their text. Answers of S3 have no
 * attributes that matter, no comments and no CDATA; what is not of that form is not found. */
#ifndef SHIP_S3_XML_H
#define SHIP_S3_XML_H

#include <stdbool.h>
#include <stddef.h>

struct xml_span {
    const char *at;
    size_t len;
};
/* The next element of that name in the rest, whose content goes to inside (rest and inside may not
 * be the same); the rest then begins behind it. Not for an element that holds one of its name. */
bool xml_next(struct xml_span *rest, const char *name, struct xml_span *inside);
/* The text of the first element of that name, entities resolved, cut where it does not fit. "" and
 * false: there is none. */
bool xml_text(struct xml_span in, const char *name, char *out, size_t size);

#endif
