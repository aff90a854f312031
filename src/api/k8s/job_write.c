/* ElasticJobs that are made, changed and deleted. What the text says is read by its dialect alone:
 * here unknown fields are refused or taken out as the client wishes, problems become causes and
 * warnings become headers. */
#include "api/k8s/job_write.h"

#include "answer/jobs.h"
#include "api/accounts.h"
#include "api/k8s/answer.h"
#include "api/k8s/jobs.h"
#include "api/k8s/object.h"
#include "api/k8s/read.h"
#include "base/buf.h"
#include "base/clock.h"
#include "documents/documents.h"
#include "job/ids.h"
#include "text/json.h"
#include "text/remedies.h"

#include <stdlib.h>
#include <string.h>

#define GROUP "pod-group.scheduling.sigs.k8s.io"

/* ---- unknown fields ---- */

static bool is_unknown(const struct problem *p)
{
    return p->severity == SEVERITY_ERROR && p->kind == PROBLEM_UNKNOWN_FIELD;
}

/* As Kubernetes says it. */
static const char *unknown_text(struct arena *arena, const struct problem *p)
{
    return arena_printf(arena, "unknown field \"%s%s%s\"", p->path, *p->path ? "." : "", p->field);
}

/* "spec.replicaSpecs.worker.template.spec.containers[0]" */
static struct text_node *at_path(struct arena *arena, struct text_node *node, const char *path)
{
    while (node && *path) {
        size_t n = strcspn(path, ".[");
        if (n)
            node = text_get(node, arena_strndup(arena, path, n));
        path += n;
        if (*path == '[') {
            unsigned long index = strtoul(path + 1, NULL, 10);
            for (node = node ? node->first : NULL; node && index; index--)
                node = node->next;
            path += strcspn(path, "]");
            path += *path == ']';
        }
        path += *path == '.';
    }
    return node;
}

static bool any_unknown(const struct report *report)
{
    for (size_t i = 0; report && i < report->n; i++)
        if (is_unknown(&report->at[i]))
            return true;
    return false;
}

static void refuse_unknown(struct kube *k, const struct report *report)
{
    AUTO_BUF struct buf text = BUF_INIT(16u << 10);
    buf_addf(&text,
             "%s in version \"%s\" cannot be handled as a %s: strict decoding error: ", k->of->kind,
             k->of->version, k->of->kind);
    size_t n = 0;
    for (size_t i = 0; i < report->n; i++) {
        const struct problem *p = &report->at[i];
        if (is_unknown(p))
            buf_addf(&text, "%s%s", n++ ? ", " : "", unknown_text(k->arena, p));
    }
    kube_fail(k, &(struct kube_status){ 400, "BadRequest", buf_str(&text), NULL });
}

static void prune(struct kube *k, const struct report *report)
{
    for (size_t i = 0; i < report->n; i++) {
        const struct problem *p = &report->at[i];
        if (!is_unknown(p))
            continue;
        kube_drop(at_path(k->arena, k->body, p->path), p->field);
        if (k->validation == VALIDATE_WARN)
            kube_warn(k, unknown_text(k->arena, p));
    }
    k->pruned = true;
}

/* ---- submitting ---- */

/* PodGroups that templates name go with the job, as documents of one text. */
static const char *with_groups(struct kube *k, const char *text)
{
    const struct text_node *spec = text_get(k->body, "spec");
    const struct text_node *types = spec ? text_get(spec, "replicaSpecs") : NULL;
    const char *last = "", *job = text;
    for (const struct text_node *t = types ? types->first : NULL; t; t = t->next) {
        const struct text_node *template = text_get(t, "template");
        const struct text_node *metadata = template ? text_get(template, "metadata") : NULL;
        const char *name = kube_in(metadata, "labels", GROUP);
        const struct text_node *group =
            *name && strcmp(name, last) != 0
                ? kube_find(k, kube_resource(KUBE_GROUP_PODS, "v1alpha1", "podgroups"), name)
                : NULL;
        if (group)
            text = arena_printf(k->arena, "%s%s\n---\n%s\n", text == job ? "---\n" : "", text,
                                kube_printed(k->arena, group));
        last = *name ? name : last;
    }
    return text;
}

/* Labels may change freely: the core compares the work with the labels it was submitted with. */
static const struct text_node *compared(struct kube *k)
{
    struct err err;
    struct text_node *body = text_copy(k->arena, NULL, NULL, k->body);
    struct text_node *metadata = text_get(body, "metadata");
    const struct job_ask ask = { .job = k->job, .owner = k->call->owner, .parts = JOB_SPEC };
    struct job_view job = { 0 };
    answer_job_view(k->ctl, k->arena, &ask, &job, &err);
    const struct text_node *labels = job.spec ? text_get(job.spec, "labels") : NULL;
    kube_drop(metadata, "labels");
    if (labels)
        text_copy(k->arena, metadata, "labels", labels);
    return body;
}

static void submit(struct kube *k, bool apply, const char *owner, ctl_done *done)
{
    const char *text = with_groups(k, kube_printed(k->arena, apply ? compared(k) : k->body));
    struct submission s = { .owner = owner,
                            .text = text,
                            .len = strlen(text),
                            .from = KUBE_DIALECT,
                            .file = k->manager,
                            .apply = apply,
                            .dry_run = k->dry_run };
    accounts_submit(k->call, &s, done, k);
}

static void forbidden(struct kube *k, const char *name, const char *why)
{
    kube_invalid(k, name, &(struct kube_fault){ "spec", PROBLEM_FORBIDDEN, why });
}

/* true: answered, or sent again without what is not known. */
static bool refused(struct kube *k, const struct ctl_answer *answer, bool apply, const char *owner,
                    ctl_done *done)
{
    if (!answer->err)
        return false;
    bool unknown = any_unknown(answer->report);
    if (unknown && k->validation == VALIDATE_STRICT) {
        refuse_unknown(k, answer->report);
    } else if (unknown && !k->pruned) {
        prune(k, answer->report);
        submit(k, apply, owner, done);
    } else if (apply && answer->err->code == ERR_CONFLICT) {
        const char *why =
            arena_printf(k->arena, "%s (%s)", answer->err->what,
                         remedies_line(k->arena, answer->err->hint, &answer->err->remedies));
        forbidden(k, kube_in(k->body, "metadata", "name"), why);
    } else {
        kube_problem(k, answer->err, answer->report);
    }
    return true;
}

/* ---- the answer ---- */

/* What a dry run would have made. */
static struct text_node *would_be(struct kube *k, const struct text_node *old, uint64_t generation)
{
    struct arena *a = k->arena;
    const struct text_node *metadata = text_get(k->body, "metadata");
    struct kube_meta meta = { .name = kube_in(k->body, "metadata", "name"),
                              .ns = k->ns,
                              .uid = old ? kube_in(old, "metadata", "uid") : facade_uuid(a),
                              .version = 0,
                              .created_ms =
                                  old ? kube_time(kube_in(old, "metadata", "creationTimestamp"))
                                      : clock_wall_ms(),
                              .generation = generation,
                              .from = metadata };
    struct text_node *object = kube_object(a, k->of, &meta);
    if (old) {
        struct text_node *version = text_get(text_get(object, "metadata"), "resourceVersion");
        version->str = kube_in(old, "metadata", "resourceVersion");
    } else {
        kube_drop(text_get(object, "metadata"), "resourceVersion");
    }
    text_copy(a, object, "spec", text_get(k->body, "spec"));
    if (old && text_get(old, "status"))
        text_copy(a, object, "status", text_get(old, "status"));
    return object;
}

struct finder {
    struct kube_sink sink; /* first */
    struct arena *arena;
    struct text_node *found;
};

static void keep(struct kube_sink *sink, const struct text_node *object, uint64_t version)
{
    struct finder *f = (struct finder *)(void *)sink;
    (void)version;
    f->found = text_copy(f->arena, NULL, NULL, object);
}

static void show_job(struct kube *k)
{
    struct finder f = { .sink = { keep }, .arena = k->arena };
    struct kube_selection want = { .job = k->job, .gone = true };
    k->of->each(k, &want, &f.sink);
    if (f.found)
        kube_show(k, k->status, f.found);
    else
        kube_not_found(k);
}

/* ---- making ---- */

static void on_created(void *arg, const struct ctl_answer *answer)
{
    struct kube *k = arg;
    if (refused(k, answer, false, k->call->owner, on_created))
        return;
    k->job = answer->job;
    kube_warnings(k, answer->report);
    if (k->dry_run)
        kube_show(k, k->status, would_be(k, NULL, 1));
    else
        show_job(k);
}

void jobs_create(struct kube *k, struct text_node *object)
{
    k->body = object;
    call_keep(k->call);
    submit(k, false, k->call->owner, on_created);
}

/* ---- changing ---- */

struct change {
    struct kube *k;
    const struct text_node *old;
    const char *owner; /* of the job */
    bool spec;         /* more than suspend */
    uint64_t generation;
};

static bool suspends(const struct text_node *object)
{
    return text_flag(text_get(object, "spec"), "suspend");
}

/* Are the specs the same but for suspend? */
static bool same_work(struct kube *k, const struct text_node *old, const struct text_node *new)
{
    struct text_node *a = text_copy(k->arena, NULL, NULL, text_get(old, "spec"));
    const struct text_node *spec = text_get(new, "spec");
    struct text_node *b = spec ? text_copy(k->arena, NULL, NULL, spec) : NULL;
    kube_drop(a, "suspend");
    kube_drop(b, "suspend");
    return b && text_equal(a, b);
}

static void on_kept(void *arg, const struct ctl_answer *answer)
{
    struct change *c = arg;
    if (answer->err)
        kube_problem(c->k, answer->err, NULL);
    else
        show_job(c->k);
}

/* The document as it is to be shown from now on, and the job held or let go. */
static void put_document(struct change *c)
{
    struct kube *k = c->k;
    struct text_node *metadata = text_get(k->body, "metadata");
    bool held = suspends(k->body), was = suspends(c->old);
    kube_drop(metadata, "generation");
    text_int(k->arena, metadata, "generation", (int64_t)c->generation);
    char id[JOB_ID_TEXT];
    const struct document document = { KUBE_DOCUMENT, job_id_format(id, kube_uid_job(c->old)),
                                       KUBE_DIALECT, k->body };
    struct document_changes put = { .by = k->call->owner,
                                    .at = &document,
                                    .n = 1,
                                    .told = true,
                                    .hold = held == was || c->spec ? DOCUMENT_HOLD_NOT
                                            : held                 ? DOCUMENT_HOLD
                                                                   : DOCUMENT_LET_GO };
    ctl_documents_put(k->ctl, &put, on_kept, c);
}

static void on_applied(void *arg, const struct ctl_answer *answer)
{
    struct kube *k = arg;
    struct change *c = k->pending;
    if (refused(k, answer, true, c->owner, on_applied))
        return;
    kube_warnings(k, answer->report);
    if (k->dry_run)
        kube_show(k, k->status, would_be(k, c->old, c->generation));
    else
        put_document(c);
}

static bool ended(const struct text_node *object)
{
    const char *phase = kube_in(object, "status", "phase");
    return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

void jobs_change(struct kube *k, const struct text_node *old, struct text_node *object)
{
    struct change *c = ARENA_NEW(k->arena, struct change);
    struct err err;
    const struct text_node *notes = text_get(text_get(old, "metadata"), "annotations");
    bool foreign = notes && text_get(notes, "muster/from");
    k->job = kube_uid_job(old);
    if (!k->job || !answer_may_write(k->ctl, &k->call->who, k->job)) {
        err_set(&err, ERR_DENIED, "the job \"%.100s\" belongs to another user", k->name);
        kube_problem(k, &err, NULL);
        return;
    }
    const struct job_ask ask = { .job = k->job, .owner = k->call->owner };
    struct job_view view = { .owner = "" };
    answer_job_view(k->ctl, k->arena, &ask, &view, &err);
    *c = (struct change){ .k = k, .old = old, .owner = view.owner };
    k->body = object;
    k->pending = c;
    c->spec = !same_work(k, old, object);
    bool held = suspends(object) != suspends(old);
    const struct text_node *node = text_get(text_get(old, "metadata"), "generation");
    c->generation = (node ? (uint64_t)node->integer : 1) + (c->spec || held);
    if ((c->spec || held) && ended(old)) {
        forbidden(k, k->name, "the job has ended; delete it and create it again");
    } else if (c->spec && foreign) {
        forbidden(k, k->name,
                  "only suspend of a job that was submitted in another format can be changed");
    } else if (c->spec) {
        call_keep(k->call);
        submit(k, true, c->owner, on_applied);
    } else if (k->dry_run) {
        kube_show(k, k->status, would_be(k, old, c->generation));
    } else {
        call_keep(k->call);
        put_document(c);
    }
}

/* ---- deleting ---- */

void jobs_remove(struct kube *k, const struct text_node *object, ctl_done *done, void *arg)
{
    uint64_t id = kube_uid_job(object);
    const struct text_node *grace = k->body ? text_get(k->body, "gracePeriodSeconds") : NULL;
    bool now = grace && grace->kind == TEXT_INT && grace->integer == 0;
    ctl_command(k->ctl, k->call->owner, id,
                ended(object) ? CTL_DELETE
                : now         ? CTL_STOP_NOW
                              : CTL_STOP,
                done, arg);
}
