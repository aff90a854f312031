/* Label and field selectors of Kubernetes. Pure. */
#ifndef API_K8S_SELECTOR_H
#define API_K8S_SELECTOR_H

#include "base/err.h"
#include "job/words.h"
#include "text/tree.h"

enum selector_op { SELECT_IS, SELECT_IS_NOT, SELECT_IN, SELECT_NOT_IN, SELECT_HAS, SELECT_LACKS };
struct selector_term {
    const char *key; /* a label, or the path of a field: "metadata.name" */
    enum selector_op op;
    struct words values;
};
struct selector {
    struct selector_term *labels, *fields;
    size_t n_labels, n_fields;
};

/* "a=b,c!=d,e in (f,g),h notin (i),j,!k" and "metadata.name=x,type!=y"; NULL or "": everything.
 * Texts are in arena. ERR_INPUT when it is none. */
int selector_parse(struct arena *, const char *labels, const char *fields, struct selector *out,
                   struct err *err);
bool selector_fits(const struct selector *, const struct text_node *object);
/* The value that the field has to have; NULL: any. */
const char *selector_field(const struct selector *, const char *path);

#endif
