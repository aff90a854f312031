/* Answers as a Kubernetes server gives them: each ends the request. Private to this folder. */
#ifndef API_K8S_ANSWER_H
#define API_K8S_ANSWER_H

#include "api/k8s/request.h"
#include "api/k8s/shape.h"

struct kube_status {
    unsigned code;
    const char *reason, *message;
    const struct report *causes; /* its errors, NULL: none */
};
void kube_answer(struct kube *, unsigned status, const struct text_node *);
void kube_text(struct kube *, unsigned status, const char *type, const struct buf *);
void kube_fail(struct kube *, const struct kube_status *);
void kube_bad(struct kube *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void kube_problem(struct kube *, const struct err *, const struct report *);
void kube_not_found(struct kube *);
void kube_conflict(struct kube *);
void kube_exists(struct kube *, const char *name);
void kube_invalid(struct kube *, const char *name, const struct kube_fault *);
void kube_refused(struct kube *, const char *name, const struct report *);
void kube_success(struct kube *, const struct text_node *object);
void kube_warn(struct kube *, const char *text); /* a Warning header */
void kube_warnings(struct kube *, const struct report *);
void kube_free(struct kube *); /* without an answer of its own */
struct text_node *kube_status_tree(struct arena *, const struct kube_status *);
/* One object: as it is, or as a Table of one row. */
void kube_show(struct kube *, unsigned status, const struct text_node *object);

#endif
