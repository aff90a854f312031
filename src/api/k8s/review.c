/* Questions about rights, which are made like objects and kept by nobody: `auth can-i`, its --list,
 * `auth whoami`. What a kind's verbs are and who is a reader decides; whose a single object is, the
 * request for it. */
#include "api/k8s/review.h"

#include "api/k8s/answer.h"
#include "api/k8s/body.h"
#include "api/k8s/discovery.h"
#include "api/k8s/object.h"
#include "api/k8s/pods.h"
#include "base/mem.h"

#include <string.h>

#define WRITES (~(unsigned)KUBE_READ)

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static unsigned verbs_of(const struct kube *k, const struct kube_resource *r)
{
    return k->call->who.role == ROLE_READER ? r->verbs & ~WRITES : r->verbs;
}

static struct text_node *answer_of(struct kube *k)
{
    struct text_node *tree = text_map(k->arena, NULL, NULL);
    text_str(k->arena, tree, "kind", kube_in(k->body, "kind", NULL));
    text_str(k->arena, tree, "apiVersion", kube_in(k->body, "apiVersion", NULL));
    text_map(k->arena, tree, "metadata");
    if (text_get(k->body, "spec"))
        text_copy(k->arena, tree, "spec", text_get(k->body, "spec"));
    return tree;
}

/* ---- may I ---- */

static bool may(const struct kube *k, const struct text_node *asked)
{
    const char *group = kube_in(asked, "group", NULL), *verb = kube_in(asked, "verb", NULL);
    const char *plural = kube_in(asked, "resource", NULL),
               *sub = kube_in(asked, "subresource", NULL);
    size_t n;
    const struct kube_resource *all = kube_resources(&n);
    for (size_t i = 0; i < n; i++) {
        if (!is(all[i].plural, plural) || (!is(group, "*") && !is(all[i].group, group)))
            continue;
        if (*sub)
            return all[i].each == pods_each && is(sub, "log") && is(verb, "get");
        unsigned has = verbs_of(k, &all[i]);
        return is(verb, "*") ? has == KUBE_ALL : (has & kube_verb(verb)) != 0;
    }
    return false;
}

static void may_i(struct kube *k)
{
    struct text_node *tree = answer_of(k);
    const struct text_node *spec = text_get(k->body, "spec");
    const struct text_node *asked = spec ? text_get(spec, "resourceAttributes") : NULL;
    const struct text_node *path = spec ? text_get(spec, "nonResourceAttributes") : NULL;
    bool yes = asked ? may(k, asked) : path && is(kube_in(path, "verb", NULL), "get");
    struct text_node *status = text_map(k->arena, tree, "status");
    text_bool(k->arena, status, "allowed", yes);
    if (!yes && k->call->who.role == ROLE_READER)
        text_str(k->arena, status, "reason", "a reader changes nothing");
    kube_answer(k, 201, tree);
}

/* ---- what may I ---- */

static void put_rule(struct kube *k, struct text_node *rules, const struct kube_resource *r,
                     const char *plural, unsigned verbs)
{
    struct arena *a = k->arena;
    struct text_node *one = text_map(a, rules, NULL);
    kube_put_verbs(a, one, verbs);
    text_str(a, text_list(a, one, "apiGroups"), NULL, r->group);
    text_str(a, text_list(a, one, "resources"), NULL, plural);
}

static void what_may_i(struct kube *k)
{
    struct text_node *tree = answer_of(k), *status = text_map(k->arena, tree, "status");
    struct text_node *list = text_list(k->arena, status, "resourceRules");
    size_t n;
    const struct kube_resource *all = kube_resources(&n);
    for (size_t i = 0; i < n; i++) {
        put_rule(k, list, &all[i], all[i].plural, verbs_of(k, &all[i]));
        if (all[i].each == pods_each)
            put_rule(k, list, &all[i], "pods/log", KUBE_GET);
    }
    text_list(k->arena, status, "nonResourceRules");
    text_bool(k->arena, status, "incomplete", false);
    kube_answer(k, 201, tree);
}

/* ---- who am I ---- */

static void who_am_i(struct kube *k)
{
    static const char *const roles[ROLE_N] = {
        [ROLE_READER] = "muster:reader", [ROLE_USER] = "muster:user", [ROLE_ADMIN] = "muster:admin"
    };
    struct text_node *tree = answer_of(k);
    struct text_node *user = text_map(k->arena, text_map(k->arena, tree, "status"), "userInfo");
    struct text_node *groups = text_list(k->arena, user, "groups");
    text_str(k->arena, user, "username", k->call->owner);
    text_str(k->arena, groups, NULL, roles[k->call->who.role]);
    text_str(k->arena, groups, NULL, "system:authenticated");
    kube_answer(k, 201, tree);
}

bool kube_review(struct kube *k, const struct words *path)
{
    static const struct {
        const char *group, *plural, *kind;
        void (*run)(struct kube *);
    } reviews[] = {
        { "authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview", may_i },
        { "authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview", what_may_i },
        { "authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview", who_am_i },
    };
    if (path->n != 4 || !is(path->at[0], "apis") || !is(http_method(k->call->request), "POST"))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(reviews); i++) {
        if (!is(path->at[1], reviews[i].group) || !is(path->at[3], reviews[i].plural))
            continue;
        if (!kube_read_body(k, "POST"))
            return true;
        if (!is(kube_in(k->body, "kind", NULL), reviews[i].kind))
            kube_bad(k, "the body is no %s", reviews[i].kind);
        else
            reviews[i].run(k);
        return true;
    }
    return false;
}
