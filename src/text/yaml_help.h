/* The parts of reading YAML that need no parser: what a plain scalar is, and what libyaml's
 * complaints mean. */
#ifndef TEXT_YAML_HELP_H
#define TEXT_YAML_HELP_H

#include "text/tree.h"

/* Core schema of YAML 1.2 without octal, hexadecimal, infinity and not-a-number, which stay text.
 */
enum text_kind yaml_scalar_kind(const char *s);

struct yaml_fault {
    const char *problem, *context; /* libyaml's words; may be NULL */
    struct place place, context_place;
    bool reader; /* a character that may not be in a YAML text */
};
/* Reports one error for it in our words. */
void yaml_explain(const char *src, size_t len, const struct yaml_fault *, struct report *);

/* True for a text of several lines of which none is indented although some open a block: what is
 * left when a page or a chat swallowed the spaces. *place: the first line that opens one. */
bool yaml_lost_indentation(const char *src, size_t len, struct place *place);

#endif
