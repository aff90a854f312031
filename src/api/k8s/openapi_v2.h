/* The schemas of the resources for older clients. Private to this folder. */
#ifndef API_K8S_OPENAPI_V2_H
#define API_K8S_OPENAPI_V2_H

#include "base/buf.h"
#include "text/tree.h"

/* The same document as version 2 has it, in the protobuf of gnostic: all that kubectl takes. */
void kube_openapi_v2(const struct text_node *tree, struct buf *out);

#endif
