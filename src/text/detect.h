/* Which syntax a text is written in. */
#ifndef TEXT_DETECT_H
#define TEXT_DETECT_H

#include "text/tree.h"

/* First significant character (after comments) '{' or '[': JSON with comments; first line
 * `key=...`: a parameter file, as a map of texts; a batch script (below): one text; else YAML.
 * Parses accordingly. */
struct text_node *text_parse(struct arena *, const char *src, size_t len, struct report *);

/* The same, but a YAML text of several documents becomes a list of them; *documents says how many
 * there are (1: the root is that document). */
struct text_node *text_parse_documents(struct arena *, const char *src, size_t len,
                                       size_t *documents, struct report *);

/* Does it begin as a script or with an option line, and has it a line that begins with #SBATCH? No
 * job in YAML has both. */
bool script_like(const char *src, size_t len);
/* The whole text as one node, whatever it begins with. NULL: it is no text (source_check). */
struct text_node *script_parse(struct arena *, const char *src, size_t len, struct report *);

#endif
