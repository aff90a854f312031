/* Jobs as ElasticJobs, whatever they were written in: which are shown under which name, and the
 * object of one. A stopped job is gone there; of each name the newest is meant, and if that was
 * stopped, the newest that lives: another user's may have come and gone. */
#include "api/k8s/jobs.h"

#include "account/rights.h"
#include "api/k8s/object.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/scan.h"
#include "job/job.h"
#include "job/uuid.h"
#include "text/detect.h"
#include "text/json.h"

#include <string.h>

#define PAGE         500
#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"
#define SCAN_MAX     2000 /* newest jobs among which names are looked for that are others here */
#define DIALECT      KUBE_DIALECT
#define LIVE                                                                                       \
    (1u << JOB_SUSPENDED | 1u << JOB_QUEUED | 1u << JOB_STARTING | 1u << JOB_RUNNING |             \
     1u << JOB_RESTARTING | 1u << JOB_STOPPING)
#define SHOWN (LIVE | 1u << JOB_SUCCEEDED | 1u << JOB_FAILED)

static const char *word(const struct text_node *map, const char *key)
{
    return kube_in(map, key, NULL);
}

static struct kube_job job_of(struct kube *k, const struct listed_job *listed)
{
    const struct job_row *row = &listed->row;
    char uuid[UUID_TEXT];
    return (struct kube_job){ .listed = listed,
                              .uid = arena_strdup(k->scratch, uuid_of_job(uuid, row->id)),
                              .id = row->id,
                              .name = kube_name(k->scratch, row->name),
                              .ns = *row->project ? kube_name(k->scratch, row->project) : "default",
                              .shown = row->state != JOB_STOPPED };
}

static int tell(struct kube *k, const struct kube_job *job, kube_job_fn *fn, void *arg)
{
    k->subject = job->id;
    k->gone = !job->shown;
    int rc = fn(k, job, arg);
    arena_reset(k->scratch);
    return rc;
}

/* Members of arrays are not shown. */
static bool is_wanted(const struct kube_job *job, const struct kube_selection *want)
{
    return !job->listed->row.array && (!want->ns || strcmp(job->ns, want->ns) == 0) &&
           (!want->name || strcmp(job->name, want->name) == 0);
}

/* ---- one ---- */

static int one(struct kube *k, struct kube_selection *want, kube_job_fn *fn, void *arg)
{
    struct arena *arena = arena_create();
    struct listed_job listed;
    struct err err;
    int rc = 0;
    if (answer_may_read(k->ctl, &k->call->who, want->job) &&
        answer_listed(k->ctl, arena, want->job, k->call->owner, &listed, &err) == 0) {
        struct kube_job job = job_of(k, &listed);
        if (is_wanted(&job, want) && (want->gone || job.shown))
            rc = tell(k, &job, fn, arg);
    }
    arena_destroy(arena);
    return rc;
}

/* The newest job that has exactly this name and namespace; 0: none. */
static uint64_t newest(struct kube *k, const struct job_name_query *named)
{
    struct job_name_query outside = *named;
    uint64_t id = find_job_in(ctl_accounts(k->ctl), &k->call->who, named), other = 0;
    outside.project = "";
    if (strcmp(named->project, "default") == 0)
        other = find_job_in(ctl_accounts(k->ctl), &k->call->who, &outside);
    return id > other ? id : other;
}

static uint64_t meant(struct kube *k, const char *ns, const char *name)
{
    struct job_name_query named = { .project = ns, .name = name };
    uint64_t last = newest(k, &named);
    named.states = SHOWN;
    if (!last || newest(k, &named) == last)
        return last;
    named.states = LIVE;
    uint64_t live = newest(k, &named);
    return live ? live : last;
}

/* By name as it is, else among the last jobs one whose name has other characters than are allowed
 * there. */
static uint64_t look_up(struct kube *k, const struct kube_selection *want)
{
    struct arena *arena = arena_create();
    struct err err;
    uint64_t id = want->ns ? meant(k, want->ns, want->name) : 0;
    struct job_filter filter = { .limit = PAGE };
    filter_readable(ctl_accounts(k->ctl), arena, &k->call->who, &filter);
    for (size_t seen = 0; !id && seen < SCAN_MAX; seen += PAGE) {
        struct listed_job *jobs;
        size_t n = 0;
        if (answer_list(k->ctl, arena, &filter, &jobs, &n, &err) < 0)
            break;
        for (size_t i = 0; i < n && !id; i++) {
            struct kube_job job = job_of(k, &jobs[i]);
            id = is_wanted(&job, want) ? job.id : 0;
            arena_reset(k->scratch);
        }
        if (n < PAGE)
            break;
        filter.before_id = jobs[n - 1].row.id;
    }
    arena_destroy(arena);
    return id;
}

/* ---- all ---- */

/* Of an earlier page there is a newer job of this name: one that is shown hides all others, a
 * stopped one those that have ended. */
static bool hidden(struct kube *k, const struct kube_selection *want, const struct job_row *row)
{
    const struct job_name_query named = { .project = *row->project ? row->project : "default",
                                          .name = row->name,
                                          .from = want->page,
                                          .states = job_state_final(row->state) ? 0 : SHOWN };
    return want->page && newest(k, &named);
}

static bool is_listed(struct kube *k, const struct kube_selection *want, const struct kube_job *job)
{
    if (!is_wanted(job, want))
        return false;
    const char *key = kube_key(k->scratch, job->ns, job->name);
    bool live = !job_state_final(job->listed->row.state);
    const void *before = string_map_get(want->seen, key);
    if (before == want->seen || (before && !live) || hidden(k, want, &job->listed->row))
        return false;
    /* The map itself: it is shown. */
    string_map_set(want->seen, key, job->shown ? (void *)want->seen : (void *)want);
    return job->shown;
}

struct walk {
    struct kube_selection *want;
    struct job_filter filter;
    kube_job_fn *fn;
    void *arg;
    size_t looked_at, told;
    int rc;
};

/* Is the rest left for later? */
static bool is_enough(const struct walk *w)
{
    const struct kube_selection *want = w->want;
    return (want->limit && w->told == want->limit) ||
           (want->until_us && w->looked_at && clock_mono_us() >= want->until_us);
}

static void walk_one(struct kube *k, struct walk *w, const struct listed_job *listed)
{
    struct kube_selection *want = w->want;
    if (is_enough(w)) {
        want->next = w->filter.before_id;
        w->rc = -1;
        return;
    }
    w->looked_at++;
    w->filter.before_id = listed->row.id;
    struct kube_job job = job_of(k, listed);
    if (is_listed(k, want, &job)) {
        w->rc = tell(k, &job, w->fn, w->arg);
        w->told++;
    }
    arena_reset(k->scratch);
}

/* false: these were the last. */
static bool walk_page(struct kube *k, struct walk *w)
{
    struct arena *arena = arena_create();
    struct listed_job *jobs;
    struct err err;
    size_t n = 0;
    if (answer_list(k->ctl, arena, &w->filter, &jobs, &n, &err) < 0)
        n = 0;
    for (size_t i = 0; i < n && w->rc == 0; i++)
        walk_one(k, w, &jobs[i]);
    arena_destroy(arena);
    return n == w->filter.limit;
}

static int all(struct kube *k, struct kube_selection *want, kube_job_fn *fn, void *arg)
{
    struct arena *arena = arena_create();
    struct string_map *seen = want->seen ? NULL : string_map_create();
    struct walk w = { .want = want, .fn = fn, .arg = arg };
    w.filter.limit =
        want->limit && want->limit < PAGE ? want->limit + 1 : PAGE; /* one: is there more? */
    w.filter.before_id = want->before;
    filter_readable(ctl_accounts(k->ctl), arena, &k->call->who, &w.filter);
    want->seen = seen ? seen : want->seen;
    while (walk_page(k, &w) && w.rc == 0)
        ;
    want->seen = seen ? NULL : want->seen;
    want->told = w.told;
    string_map_destroy(seen);
    arena_destroy(arena);
    return w.rc;
}

int kube_each_job(struct kube *k, struct kube_selection *want, kube_job_fn *fn, void *arg)
{
    struct kube_selection found = *want;
    if (want->job)
        return one(k, want, fn, arg);
    if (!want->name)
        return all(k, want, fn, arg);
    found.job = look_up(k, want);
    return found.job ? one(k, &found, fn, arg) : 0;
}

/* ---- the object ---- */

/* A document that came as YAML, or with comments; of several the job. */
static struct text_node *parsed(struct arena *arena, const struct json_span *text)
{
    struct report report;
    size_t documents = 0;
    report_init(&report, arena);
    struct text_node *root = text_parse_documents(arena, text->at, text->n, &documents, &report);
    if (!root || root->kind != TEXT_LIST)
        return root;
    for (struct text_node *one = root->first; one; one = one->next)
        if (strcmp(word(one, "kind"), "ElasticJob") == 0)
            return one;
    return NULL;
}

/* brief: its metadata alone, where that can be told without reading the rest. */
static struct text_node *document_of(struct kube *k, const struct json_span *text, bool brief)
{
    static const char *const metadata[] = { "metadata", NULL };
    struct text_node *doc = text->at && brief ? json_pick(k->scratch, text, metadata) : NULL;
    return doc || !text->at ? doc : parsed(k->scratch, text);
}

/* The document that is kept, with the values of variables for those only who may change the job. */
static struct text_node *kept(struct kube *k, const struct job_documents *said, bool brief)
{
    const struct json_span *text = &said->document;
    const struct dialect *dialect = dialect_find(ctl_dialects(k->ctl), DIALECT);
    struct text_node *doc = document_of(k, text, brief);
    if (!doc || brief || said->may || !dialect)
        return doc;
    const char *masked = dialect_mask(k->scratch, dialect, doc, text->at, text->n);
    return parsed(k->scratch, &(struct json_span){ masked, strlen(masked) });
}

/* A job of another front end; brief: of its members those that become metadata, which hold no
 * values of variables. */
static const struct job_spec *canonical(struct kube *k, const struct kube_job *job,
                                        const struct json_span *text, bool brief)
{
    static const char *const said[] = { "name", "labels", "limits", "extra", NULL };
    const struct text_node *some = brief && text->at ? json_pick(k->scratch, text, said) : NULL;
    struct report report;
    if (some)
        return job_decode_some(k->scratch, some);
    const struct text_node *spec =
        answer_spec_tree(k->ctl, k->scratch, job->listed, k->call->owner);
    report_init(&report, k->scratch);
    return spec ? job_decode(k->scratch, spec, &report) : NULL;
}

/* What it is called in this format. */
static struct text_node *written(struct kube *k, const struct kube_job *job,
                                 const struct job_spec *spec)
{
    const struct dialect *dialect = dialect_find(ctl_dialects(k->ctl), DIALECT);
    struct arena *a = k->scratch;
    struct report report;
    char number[FMT_MAX];
    report_init(&report, a);
    if (!spec || !dialect || !dialect->write)
        return NULL;
    struct text_node *out = dialect_write(a, dialect, spec, &report);
    struct text_node *notes = kube_part(a, kube_part(a, out, "metadata"), "annotations");
    text_str(a, notes, "muster/from", job->listed->row.dialect);
    text_str(a, notes, "muster/number", fmt_int(number, (int64_t)job->listed->row.number));
    return out;
}

/* As its client left it, else as it was submitted; brief: at least its metadata. */
static struct text_node *document(struct kube *k, const struct kube_job *job,
                                  const struct job_documents *said, bool brief)
{
    struct text_node *doc = kept(k, said, brief);
    if (!doc)
        doc = document_of(k, &said->sent, brief);
    if (!doc)
        doc = written(k, job, canonical(k, job, &said->canonical, brief));
    if (doc && !said->may) /* it has the whole document, values of variables too */
        kube_drop(text_get(text_get(doc, "metadata"), "annotations"), LAST_APPLIED);
    return doc;
}

static bool is_held(const struct job_row *row)
{
    return row->state == JOB_SUSPENDED || row->outcome == OUTCOME_SUSPENDED;
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
            text_share(k->scratch, spec, one->key, one);
        }
    }
    if (held && !said)
        text_bool(k->scratch, spec, "suspend", true);
}

static const char *phase_of(struct kube *k, const struct job_row *row)
{
    const struct convention *c = convention_find(ctl_dialects(k->ctl), DIALECT);
    return c && c->job_word ? c->job_word(row->state, true) : job_state_word(row->state);
}

static void put_status(struct kube *k, struct text_node *object, const struct listed_job *job,
                       bool brief)
{
    struct arena *a = k->scratch;
    struct text_node *status = text_map(a, object, "status");
    const char *phase = phase_of(k, &job->row);
    text_str(a, status, "phase", phase);
    if (brief)
        return;
    struct text_node *inner = text_map(a, status, "status");
    struct text_node *one = text_map(a, text_list(a, inner, "conditions"), NULL);
    text_str(a, one, "type", phase);
    text_str(a, one, "status", "True");
    text_str(a, one, "reason", arena_printf(a, "Job%s", phase));
    text_str(a, one, "message", answer_listed_reason(k->ctl, a, job, k->call->owner));
    text_str(a, inner, "startTime", facade_time(a, job->row.submitted_ms));
    if (job->row.ended_ms)
        text_str(a, inner, "completionTime", facade_time(a, job->row.ended_ms));
}

static struct text_node *object_of(struct kube *k, const struct kube_job *job,
                                   const struct job_documents *said, bool brief)
{
    const struct job_row *row = &job->listed->row;
    const struct text_node *doc = document(k, job, said, brief);
    const struct text_node *metadata = doc ? text_get(doc, "metadata") : NULL;
    const struct text_node *generation = metadata ? text_get(metadata, "generation") : NULL;
    struct kube_meta meta = { .name = job->name,
                              .ns = job->ns,
                              .uid = job->uid,
                              .version = said->last,
                              .created_ms = row->submitted_ms,
                              .generation = 1,
                              .from = metadata };
    if (generation && generation->kind == TEXT_INT && generation->integer)
        meta.generation = (uint64_t)generation->integer;
    if (row->outcome == OUTCOME_STOPPED || !job->shown)
        meta.deleted_ms = row->ended_ms ? row->ended_ms : clock_wall_ms();
    struct text_node *object =
        kube_object(k->scratch, kube_resource(KUBE_GROUP, "v1alpha1", "elasticjobs"), &meta);
    if (!brief)
        put_spec(k, object, doc, is_held(row));
    put_status(k, object, job->listed, brief);
    return object;
}

struct putting {
    struct kube_sink *sink;
    bool brief;
};

static int put_job(struct kube *k, const struct kube_job *job, void *arg)
{
    const struct putting *p = arg;
    const struct documents_ask ask = { k->call->owner, DIALECT, KUBE_DOCUMENT };
    struct job_documents said = { 0 };
    answer_said(k->ctl, k->scratch, job->listed, &ask, &said);
    p->sink->put(p->sink, object_of(k, job, &said, p->brief), said.last);
    return 0;
}

int jobs_each(struct kube *k, struct kube_selection *want, struct kube_sink *sink)
{
    struct putting p = { sink, want->brief };
    return kube_each_job(k, want, put_job, &p);
}
