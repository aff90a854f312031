/* JSON merge patches (RFC 7386) and JSON patches (RFC 6902). Pure. */
#ifndef API_K8S_PATCH_H
#define API_K8S_PATCH_H

#include "base/err.h"
#include "text/tree.h"

#define PATCH_OPS_MAX   10000u
#define PATCH_NODES_MAX 200000u /* that "copy" and "add" may put in, of one patch */

/* target with the patch in it, a new tree in arena. target NULL: nothing was there. */
struct text_node *kube_merge(struct arena *, const struct text_node *target,
                             const struct text_node *patch);
/* The same for a list of operations. NULL with ERR_INPUT (it is no patch), ERR_CANNOT (a path leads
 * nowhere, a test fails). */
struct text_node *kube_json_patch(struct arena *, const struct text_node *target,
                                  const struct text_node *ops, struct err *err);
/* A strategic merge patch without its directives, for objects whose lists are replaced. */
struct text_node *kube_plain_patch(struct arena *, const struct text_node *patch);

#endif
