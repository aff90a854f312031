/* Objects in the binary encoding that client-go prefers for Kubernetes' own kinds. Pure. */
#ifndef API_K8S_PROTOBUF_H
#define API_K8S_PROTOBUF_H

#include "base/err.h"
#include "text/tree.h"

#define KUBE_PROTOBUF "application/vnd.kubernetes.protobuf"

/* The object as its JSON would read: what has no effect when it is empty is left out, as clients
 * leave it out there; bytes are base64. Fields that a server writes, and unknown ones, are passed
 * over. NULL with ERR_INPUT (it cannot be read) or ERR_CANNOT (a kind that is taken as JSON only).
 */
struct text_node *kube_protobuf(struct arena *, const char *data, size_t len, struct err *);

#endif
