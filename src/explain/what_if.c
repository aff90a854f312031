/* What one change of a job would do, or one more job: would it start now, when, and whom would it
 * delay. The changed job takes the place of the one that waits, and comes last of its rank, as
 * "muster submit --like N --replace" does it. */
#include "explain/parts.h"

#include "ctl/account.h"

#include "explain/variant.h"

#include "base/mem.h"

#include <string.h>

/* ---- short forms ---- */

static const struct {
    const char *word, *path;
    const char *none; /* what "none" stands for */
} shorts[] = {
    { "topology", "place.topology", "{}" },   { "labels", "place.labels", "{}" },
    { "nodes", "place.nodes", "[]" },         { "apart", "place.apart", "[]" },
    { "gpu_type", "resources.gpu_type", "" }, { "gpu", "resources.gpu", NULL },
    { "cpu", "resources.cpu", NULL },         { "memory", "resources.memory", NULL },
    { "run_time", "limits.run_time", "" },
};

static void add(struct arena *arena, struct words *sets, const char *text)
{
    const char **wider = ARENA_ARRAY(arena, sets->n + 1, const char *);
    if (sets->n)
        memcpy(wider, sets->at, sets->n * sizeof *wider);
    wider[sets->n++] = text;
    sets->at = wider;
}

/* A type of gpu is one for all roles that ask for gpus. */
static bool add_types(struct explain *e, struct words *sets, const char *value)
{
    size_t n = sets->n;
    for (size_t i = 0; i < e->spec->n_roles; i++)
        if (e->spec->roles[i].resources.gpu_milli)
            add(e->arena, sets,
                arena_printf(e->arena, "roles.%s.resources.gpu_type=%s", e->spec->roles[i].name,
                             value));
    return sets->n > n;
}

/* The role's name where there is only one, so that two ways to say the same are seen as such. */
static const char *with_role(struct explain *e, const char *path)
{
    static const char *const of_roles[] = { "replicas", "resources", "run", "image", "env" };
    for (size_t i = 0; i < ARRAY_LEN(of_roles) && e->spec->n_roles == 1; i++) {
        size_t len = strlen(of_roles[i]);
        if (strncmp(path, of_roles[i], len) == 0 && (!path[len] || strchr(".[", path[len])))
            return arena_printf(e->arena, "roles.%s.%s", e->spec->roles[0].name, path);
    }
    return path;
}

static int add_change(struct explain *e, const char *change, struct words *sets, struct err *err)
{
    const char *equals = strchr(change, '=');
    if (!equals || equals == change) {
        err_set(err, ERR_INPUT, "what-if \"%.80s\" is not FIELD=VALUE", change);
        return err_hint(err, "replicas=2, queue=NAME, topology=none, run_time=20m, or a field as "
                             "--set takes it");
    }
    const char *name = arena_strndup(e->arena, change, (size_t)(equals - change));
    const char *value = equals + 1, *path = name;
    for (size_t i = 0; i < ARRAY_LEN(shorts); i++) {
        if (strcmp(name, shorts[i].word) != 0)
            continue;
        path = shorts[i].path;
        value = shorts[i].none && strcmp(value, "none") == 0 ? shorts[i].none : value;
    }
    if (strcmp(name, "gpu_type") == 0 && add_types(e, sets, value))
        return 0;
    add(e->arena, sets, arena_printf(e->arena, "%s=%s", with_role(e, path), value));
    return 0;
}

/* Is one of the paths the other, or a part of it? */
static bool overlap(const char *a, const char *b)
{
    size_t n = strcspn(a, "="), m = strcspn(b, "="), least = n < m ? n : m;
    const char *longer = n < m ? b : a;
    return strncmp(a, b, least) == 0 && (n == m || strchr(".[", longer[least]));
}

static int read_changes(struct explain *e, const struct words *changes, struct words *sets,
                        struct err *err)
{
    for (size_t i = 0; i < changes->n; i++)
        if (add_change(e, changes->at[i], sets, err))
            return -1;
    for (size_t i = 0; i < sets->n; i++)
        for (size_t k = 0; k < i; k++)
            if (overlap(sets->at[k], sets->at[i])) {
                err_set(err, ERR_INPUT, "what-if %.60s and %.60s contradict each other",
                        sets->at[k], sets->at[i]);
                return err_hint(err, "all changes of one question are made together: one value "
                                     "for each field");
            }
    return 0;
}

/* ---- the other job ---- */

/* Asks for the newcomer e->as; base: the plan without it, or with the job whose place it takes. */
static void ask(struct explain *e, const struct plan *base, struct explain_view *view)
{
    struct sched_snapshot with = e->snapshot;
    variant_drop(e->arena, &with, e->job);
    variant_add(e->arena, &with, &e->as, e->queues, ctl_now(e->ctl));
    sched_wait_report(&with, e->as.id, ctl_now(e->ctl), e->arena, &e->when);
    view->delays = explain_moves(e, base, &e->when.plan);
    explain_when(e, &with, view);
}

/* Is one of the changes another answer to what the job waits for? */
static bool of_after(const struct words *sets)
{
    for (size_t i = 0; i < sets->n; i++)
        if (overlap(sets->at[i], "after"))
            return true;
    return false;
}

int what_if(struct ctl *ctl, const struct explain_ask *asked, const struct asked_job *job,
            struct explain_view *view, struct err *err)
{
    struct arena *arena = asked->arena;
    struct explain e = { .ctl = ctl,
                         .arena = arena,
                         .reader = reader_of(ctl_accounts(ctl), arena, asked->owner),
                         .job = job->waits ? asked->job : 0,
                         .number = view->number };
    struct submission submit = { .owner = asked->owner,
                                 .like = asked->job,
                                 .wait_for_nodes = true };
    struct report report;
    report_init(&report, arena);
    e.spec = ctl_preview(ctl, arena, &submit, &report, err);
    if (!e.spec || read_changes(&e, &asked->changes, &submit.sets, err))
        return -1;
    e.spec = ctl_preview(ctl, arena, &submit, &report, err);
    if (!e.spec)
        return err_in(err, "what-if");
    e.owner = submit.owner;
    explain_copy(&e);
    struct plan base = sched_plan(&e.snapshot, ctl_now(ctl), arena);
    e.as = explain_newest(&e);
    view->changes = submit.sets;
    view->queue = e.snapshot.queues[e.as.queue].name;
    if (job->after.text && !of_after(&submit.sets))
        explain_after(&e.reader, &job->after, view);
    else
        ask(&e, &base, view);
    view->in_its_place = e.job != 0;
    view->never = explain_never(&e);
    return 0;
}

void explain_newcomer(struct ctl *ctl, const struct draft_job *new, struct explain_view *view)
{
    struct explain e = { .ctl = ctl,
                         .arena = new->arena,
                         .reader = reader_of(ctl_accounts(ctl), new->arena, new->owner),
                         .spec = new->spec,
                         .owner = new->owner };
    *view = (struct explain_view){ .name = e.spec->name,
                                   .state = e.spec->suspend ? JOB_SUSPENDED : JOB_QUEUED,
                                   .file = new->file };
    explain_copy(&e);
    struct plan base = sched_plan(&e.snapshot, ctl_now(ctl), e.arena);
    e.as = explain_newest(&e);
    view->queue = e.snapshot.queues[e.as.queue].name;
    const struct sentence after = question_would_wait(ctl, e.arena, e.spec);
    if (after.text)
        explain_after(&e.reader, &after, view);
    else
        ask(&e, &base, view);
    view->never = explain_never(&e);
    if (new->with_ways && !after.text)
        view->ways = changes_find(&e);
    explain_dates(ctl, view);
}
