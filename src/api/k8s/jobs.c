/* Jobs as ElasticJobs, whatever they were written in: which are shown under which name, and the
 * object of one. A stopped job is gone there; of each name the newest is meant. */
#include "api/k8s/kube.h"

#include "base/clock.h"
#include "base/map.h"
#include "job/job.h"
#include "text/detect.h"

#include <string.h>

#define PAGE     500
#define SCAN_MAX 2000 /* newest jobs among which names are looked for that are others here */
#define DIALECT  KUBE_DIALECT

static const char *word(const struct text_node *view, const char *key)
{
    return kube_in(view, key, NULL);
}

static uint64_t number(const struct text_node *view, const char *key)
{
    const struct text_node *node = text_get(view, key);
    return node && node->kind == TEXT_INT ? (uint64_t)node->integer : 0;
}

static const char *namespace_of(struct arena *arena, const struct text_node *view)
{
    const char *project = word(view, "project");
    return *project ? kube_name(arena, project) : "default";
}

static void fill(struct kube *k, const struct text_node *view, struct kube_job *job)
{
    *job = (struct kube_job){ .view = view };
    job->uid = word(view, "id");
    job_id_parse(job->uid, &job->id);
    ctl_job_events(k->ctl, job->id, &job->first, &job->last);
    job->name = kube_name(k->scratch, word(view, "name"));
    job->ns = namespace_of(k->scratch, view);
    job->shown = strcmp(word(view, "state"), job_state_word(JOB_STOPPED)) != 0;
}

static int tell(struct kube *k, const struct text_node *view, kube_job_fn *fn, void *arg)
{
    struct kube_job job;
    fill(k, view, &job);
    k->subject = job.id;
    k->born = job.first;
    k->gone = !job.shown;
    int rc = fn(k, &job, arg);
    arena_reset(k->scratch);
    return rc;
}

static bool of_name(struct kube *k, const struct text_node *view, const struct kube_want *want)
{
    bool same = strcmp(kube_name(k->scratch, word(view, "name")), want->name) == 0 &&
                (!want->ns || strcmp(namespace_of(k->scratch, view), want->ns) == 0);
    return same && !text_get(view, "index");
}

/* ---- one ---- */

static int one(struct kube *k, struct kube_want *want, kube_job_fn *fn, void *arg)
{
    struct arena *arena = arena_create();
    const struct text_node *view = NULL;
    struct err err;
    int rc = 0;
    if (ctl_may_read(k->ctl, &k->call->who, want->job))
        view = ctl_job_tree(k->ctl, arena, want->job, k->call->owner, 0, &err);
    bool wanted = view && !text_get(view, "index");
    wanted = wanted && (!want->ns || strcmp(namespace_of(k->scratch, view), want->ns) == 0);
    wanted = wanted && (!want->name || of_name(k, view, want));
    wanted =
        wanted && (want->gone || strcmp(word(view, "state"), job_state_word(JOB_STOPPED)) != 0);
    if (wanted)
        rc = tell(k, view, fn, arg);
    arena_destroy(arena);
    return rc;
}

/* The newest job that has exactly this name and namespace; 0: none. */
static uint64_t newest(struct kube *k, const char *ns, const char *name)
{
    uint64_t id = 0, other = 0;
    ctl_find_in(k->ctl, &k->call->who, ns, name, &id);
    if (strcmp(ns, "default") == 0)
        ctl_find_in(k->ctl, &k->call->who, "", name, &other);
    return id > other ? id : other;
}

/* By name as it is, else among the last jobs one whose name has other characters than are allowed
 * there. */
static uint64_t look_up(struct kube *k, const struct kube_want *want)
{
    struct arena *arena = arena_create();
    struct err err;
    uint64_t id = want->ns ? newest(k, want->ns, want->name) : 0;
    const struct text_node *list = NULL;
    struct job_filter filter = { .limit = PAGE };
    ctl_filter_for(k->ctl, arena, &k->call->who, &filter);
    for (size_t seen = 0; !id && seen < SCAN_MAX; seen += PAGE) {
        const struct text_node *page = ctl_list_tree(k->ctl, arena, &filter, &err);
        list = page ? text_get(page, "jobs") : NULL;
        for (const struct text_node *v = list ? list->first : NULL; v && !id; v = v->next) {
            job_id_parse(word(v, "id"), &filter.before_id);
            id = of_name(k, v, want) ? filter.before_id : 0;
        }
        if (!list || list->count < PAGE)
            break;
    }
    arena_destroy(arena);
    arena_reset(k->scratch);
    return id;
}

/* ---- all ---- */

/* Of an earlier page there is a newer job of this name. */
static bool hidden(struct kube *k, const struct kube_want *want, const struct text_node *view)
{
    const char *project = *word(view, "project") ? word(view, "project") : "default";
    return want->before && newest(k, project, word(view, "name")) >= want->before;
}

static bool listed(struct kube *k, struct smap *seen, const struct kube_want *want,
                   const struct text_node *view)
{
    const char *ns = namespace_of(k->scratch, view);
    if (want->ns && strcmp(ns, want->ns) != 0)
        return false;
    const char *key =
        arena_printf(k->scratch, "%s/%s", ns, kube_name(k->scratch, word(view, "name")));
    if (smap_get(seen, key) || hidden(k, want, view))
        return false;
    smap_set(seen, key, seen);
    return strcmp(word(view, "state"), job_state_word(JOB_STOPPED)) != 0;
}

static int all(struct kube *k, struct kube_want *want, kube_job_fn *fn, void *arg)
{
    struct smap *seen = smap_create();
    size_t most =
        want->limit && want->limit < PAGE ? want->limit + 1 : PAGE; /* one: is there more? */
    struct job_filter filter = { .limit = most, .before_id = want->before };
    struct arena *mine = arena_create();
    size_t told = 0;
    bool more = true;
    int rc = 0;
    ctl_filter_for(k->ctl, mine, &k->call->who, &filter);
    while (more && rc == 0) {
        struct arena *arena = arena_create();
        struct err err;
        const struct text_node *page = ctl_list_tree(k->ctl, arena, &filter, &err);
        const struct text_node *list = page ? text_get(page, "jobs") : NULL;
        more = list && list->count == most;
        for (const struct text_node *v = list ? list->first : NULL; v && rc == 0; v = v->next) {
            if (want->limit && told == want->limit) {
                want->next = filter.before_id;
                rc = -1;
                break;
            }
            job_id_parse(word(v, "id"), &filter.before_id);
            if (listed(k, seen, want, v)) {
                rc = tell(k, v, fn, arg);
                told++;
            }
            arena_reset(k->scratch);
        }
        arena_destroy(arena);
    }
    arena_destroy(mine);
    smap_destroy(seen);
    return rc;
}

int kube_each_job(struct kube *k, struct kube_want *want, kube_job_fn *fn, void *arg)
{
    struct kube_want found = *want;
    if (want->job)
        return one(k, want, fn, arg);
    if (!want->name)
        return all(k, want, fn, arg);
    found.job = look_up(k, want);
    return found.job ? one(k, &found, fn, arg) : 0;
}

/* ---- the object ---- */

static struct text_node *parsed(struct arena *arena, const char *text)
{
    struct report report;
    size_t documents = 0;
    report_init(&report, arena);
    struct text_node *root = text_parse_documents(arena, text, strlen(text), &documents, &report);
    if (!root || root->kind != TEXT_LIST)
        return root;
    for (struct text_node *one = root->first; one; one = one->next)
        if (strcmp(word(one, "kind"), "ElasticJob") == 0)
            return one;
    return NULL;
}

/* What another front end's job is called in this format. */
static struct text_node *written(struct kube *k, const struct kube_job *job)
{
    struct err err;
    struct report report;
    const struct dialect *dialect = dialect_find(ctl_dialects(k->ctl), DIALECT);
    struct text_node *tree =
        ctl_job_tree(k->ctl, k->scratch, job->id, k->call->owner, CTL_SPEC, &err);
    const struct text_node *spec = tree ? text_get(tree, "spec") : NULL;
    report_init(&report, k->scratch);
    struct job_spec *read = spec ? job_decode(k->scratch, spec, &report) : NULL;
    if (!read || !dialect || !dialect->write)
        return NULL;
    struct text_node *out = dialect->write(k->scratch, read, &report);
    struct text_node *notes =
        kube_part(k->scratch, kube_part(k->scratch, out, "metadata"), "annotations");
    text_str(k->scratch, notes, "muster/from", word(job->view, "dialect"));
    text_str(k->scratch, notes, "muster/number",
             arena_printf(k->scratch, "%llu", (unsigned long long)number(job->view, "number")));
    return out;
}

/* As its client left it, NULL: as it was submitted. */
static struct text_node *left(struct kube *k, const struct kube_job *job)
{
    const struct ctl_object of = { KUBE_DOCUMENT, job->uid, DIALECT, NULL };
    struct text_node *kept = ctl_object_tree(k->ctl, k->scratch, &of);
    return kept ? text_get(kept, "spec") : NULL;
}

/* Values of variables are for those who may change the job. */
static struct text_node *document(struct kube *k, const struct kube_job *job)
{
    struct err err;
    const struct dialect *dialect = dialect_find(ctl_dialects(k->ctl), DIALECT);
    struct text_node *doc = left(k, job);
    const char *text = NULL;
    if (doc && dialect && !ctl_may_write(k->ctl, &k->call->who, job->id)) {
        const char *plain = kube_printed(k->scratch, doc);
        text = dialect_mask(k->scratch, dialect, doc, plain, strlen(plain));
    } else if (!doc && strcmp(word(job->view, "dialect"), DIALECT) == 0) {
        const struct text_node *tree =
            ctl_job_tree(k->ctl, k->scratch, job->id, k->call->owner, CTL_ORIGIN, &err);
        const struct text_node *origin = tree ? text_get(tree, "origin") : NULL;
        text = origin ? origin->str : NULL;
    }
    if (text)
        doc = parsed(k->scratch, text);
    return doc ? doc : written(k, job);
}

static bool is_held(const struct text_node *view)
{
    return strcmp(word(view, "state"), job_state_word(JOB_SUSPENDED)) == 0 ||
           strcmp(word(view, "outcome"), job_outcome_word(OUTCOME_SUSPENDED)) == 0;
}

static void put_spec(struct kube *k, struct text_node *object, const struct text_node *doc,
                     bool held)
{
    struct text_node *spec = text_map(k->scratch, object, "spec");
    const struct text_node *from = doc ? text_get(doc, "spec") : NULL;
    bool said = false;
    for (const struct text_node *one = from ? from->first : NULL; one; one = one->next) {
        if (strcmp(one->key, "suspend") == 0) {
            text_bool(k->scratch, spec, "suspend", held);
            said = true;
        } else {
            text_copy(k->scratch, spec, one->key, one);
        }
    }
    if (held && !said)
        text_bool(k->scratch, spec, "suspend", true);
}

static const char *phase_of(struct kube *k, const struct text_node *view)
{
    const struct convention *c = convention_find(ctl_dialects(k->ctl), DIALECT);
    enum job_state state = job_state_parse(word(view, "state"));
    return c && c->job_word ? c->job_word(state, true) : word(view, "state");
}

static void put_status(struct kube *k, struct text_node *object, const struct text_node *view)
{
    struct arena *a = k->scratch;
    struct text_node *status = text_map(a, object, "status");
    const char *phase = phase_of(k, view);
    uint64_t submitted = number(view, "submitted_ms"), ended = number(view, "ended_ms");
    text_str(a, status, "phase", phase);
    struct text_node *inner = text_map(a, status, "status");
    struct text_node *one = text_map(a, text_list(a, inner, "conditions"), NULL);
    text_str(a, one, "type", phase);
    text_str(a, one, "status", "True");
    text_str(a, one, "reason", arena_printf(a, "Job%s", phase));
    text_str(a, one, "message", word(view, "reason"));
    text_str(a, inner, "startTime", facade_time(a, submitted));
    if (ended)
        text_str(a, inner, "completionTime", facade_time(a, ended));
}

struct text_node *kube_job_object(struct kube *k, const struct kube_job *job)
{
    const struct text_node *doc = document(k, job);
    const struct text_node *metadata = doc ? text_get(doc, "metadata") : NULL;
    bool ending = strcmp(word(job->view, "outcome"), job_outcome_word(OUTCOME_STOPPED)) == 0;
    uint64_t generation = metadata ? number(metadata, "generation") : 0;
    struct kube_meta meta = { .name = job->name,
                              .ns = job->ns,
                              .uid = job->uid,
                              .version = job->last,
                              .created_ms = number(job->view, "submitted_ms"),
                              .generation = generation ? generation : 1,
                              .from = metadata };
    if (ending || !job->shown)
        meta.deleted_ms =
            number(job->view, "ended_ms") ? number(job->view, "ended_ms") : clock_wall_ms();
    struct text_node *object =
        kube_object(k->scratch, kube_resource(KUBE_GROUP, "v1alpha1", "elasticjobs"), &meta);
    put_spec(k, object, doc, is_held(job->view));
    put_status(k, object, job->view);
    return object;
}

static int put_job(struct kube *k, const struct kube_job *job, void *arg)
{
    struct kube_sink *sink = arg;
    sink->put(sink, kube_job_object(k, job), job->last);
    return 0;
}

int jobs_each(struct kube *k, struct kube_want *want, struct kube_sink *sink)
{
    return kube_each_job(k, want, put_job, sink);
}
