/* The shape of objects as clients send them. Pure. */
#ifndef API_K8S_SHAPE_H
#define API_K8S_SHAPE_H

#include "text/tree.h"

/* What in it cannot be read: "metadata.labels", when that is no map of texts; NULL: nothing.
 * Numbers are taken for texts, as the ElasticJob page writes them. */
const char *kube_unreadable(const struct text_node *object);

#endif
