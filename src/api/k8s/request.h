/* One request of a Kubernetes client. Private to this folder. */
#ifndef API_K8S_REQUEST_H
#define API_K8S_REQUEST_H

#include "api/facade.h"
#include "api/k8s/resource.h"
#include "api/k8s/selector.h"

enum kube_validation { VALIDATE_IGNORE, VALIDATE_WARN, VALIDATE_STRICT };

struct kube {
    struct call *call;
    struct arena *arena;   /* of the request */
    struct arena *scratch; /* of one object */
    struct ctl *ctl;
    const struct kube_resource *of;
    const char *ns, *name, *sub; /* NULL: none is named */
    struct selector selector;
    enum kube_validation validation;
    enum table_include include;
    bool table, dry_run, applied, pruned;
    const char *manager;
    struct text_node *body; /* what is written, or DeleteOptions */
    void *pending;          /* of a command on its way */
    uint64_t job;           /* that the command is about */
    uint64_t subject;       /* job of the object in hand; 0: it is of none */
    bool gone;              /* the object in hand is not there any more */
    unsigned status;        /* of the good answer */
};

#endif
