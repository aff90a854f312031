/* The shape of objects as clients send them. Pure. */
#ifndef API_K8S_SHAPE_H
#define API_K8S_SHAPE_H

#include "base/report.h"
#include "text/tree.h"

struct kube_fault { /* what is wrong with a field of an object */
    const char *field;
    enum problem_kind kind;
    const char *text;
};

/* Of one map. What is kept may be compared and patched member by member. */
#define KUBE_MEMBERS_MAX 4096u

bool kube_crowded(const struct text_node *); /* a map in it has more members */
/* What in it cannot be read: "metadata.labels", when that is no map of texts; NULL: nothing. Unless
 * it is strict (clients decode the kind by its types) numbers are taken for texts, as the
 * ElasticJob page writes them. */
const char *kube_unreadable(const struct text_node *object, bool strict);
/* A label or annotation of the metadata that is none, and was not in old (may be NULL): what is
 * wrong, text in arena. false: all are good. */
bool kube_bad_label(struct arena *, const struct text_node *metadata, const struct text_node *old,
                    struct kube_fault *);

#endif
