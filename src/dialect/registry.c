/* The registry of dialects and conventions: finding one by name or by the look of a text, and
 * asking a job's conventions in order for environment, host names, files and exit classes. */
#include "dialect/dialect.h"

#include "job/device_error.h"

#include <string.h>
#include <strings.h>

/* "openpai" stands for all its versions. */
static bool name_fits(const char *full, const char *name)
{
    size_t len = strlen(name);
    return len > 0 && strncmp(full, name, len) == 0 && full[len] == '-' && full[len + 1] == 'v';
}

const struct dialect *dialect_find(const struct dialects *all, const char *name)
{
    const struct dialect *found = NULL;
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->at[i]->name, name) == 0 || strcasecmp(all->at[i]->title, name) == 0)
            return all->at[i];
    for (size_t i = 0; i < all->n; i++)
        if (name_fits(all->at[i]->name, name))
            found = all->at[i]; /* the last is the newest */
    return found;
}

/* The surest of those whose name fits; name NULL: of all. */
static const struct dialect *surest(const struct dialects *all, const char *name,
                                    const struct text_node *root)
{
    const struct dialect *best = NULL;
    int most = 0;
    for (size_t i = 0; i < all->n; i++) {
        bool asked = !name || name_fits(all->at[i]->name, name);
        int sure = asked && all->at[i]->detect ? all->at[i]->detect(root) : 0;
        if (sure > most) {
            most = sure;
            best = all->at[i];
        }
    }
    return best;
}

const struct dialect *dialect_detect(const struct dialects *all, const struct text_node *root)
{
    return surest(all, NULL, root);
}

const struct dialect *dialect_named(const struct dialects *all, const char *name,
                                    const struct text_node *root)
{
    const struct dialect *exact = dialect_find(all, name);
    const struct dialect *version =
        exact && strcmp(exact->name, name) == 0 ? NULL : surest(all, name, root);
    return version ? version : exact;
}

const struct convention *convention_find(const struct dialects *all, const char *name)
{
    for (size_t i = 0; i < all->n_conventions; i++)
        if (strcmp(all->conventions[i]->name, name) == 0)
            return all->conventions[i];
    return NULL;
}

const struct convention *convention_of(const struct dialects *all, const struct job_spec *job)
{
    for (size_t i = 0; i < job->conventions.n; i++) {
        const struct convention *convention = convention_find(all, job->conventions.at[i]);
        if (convention && convention->classify)
            return convention;
    }
    return all->native;
}

struct end_words dialect_classify(const struct dialects *all, const struct job_spec *job,
                                  const struct ending *ending)
{
    struct end_words words = convention_of(all, job)->classify(job, ending);
    enum device_error error = device_error_of(ending);
    if (error != DEVICE_ERROR_NONE) {
        words.class = device_error_class(error);
        words.text = device_error_text(error);
    }
    return words;
}

static void add_env(const struct convention *convention, struct arena *arena,
                    const struct dialect_task *task, struct pairs *out)
{
    if (convention && convention->env)
        convention->env(arena, task->job, task->place, task->flat, task->site, out);
}

/* By the first convention of the job that has a say. */
static const char *expanded(const struct dialects *all, struct arena *arena,
                            const struct dialect_task *task, const struct pairs *known,
                            const char *value)
{
    for (size_t i = 0; i < task->job->conventions.n; i++) {
        const struct convention *convention = convention_find(all, task->job->conventions.at[i]);
        if (convention && convention->expand)
            return convention->expand(arena, task, known, value);
    }
    return value;
}

void dialect_env(const struct dialects *all, struct arena *arena, const struct dialect_task *task,
                 struct pairs *out)
{
    const struct job_spec *job = task->job;
    const struct convention *main_one = convention_of(all, job);
    bool native_named = false;
    for (size_t i = 0; i < job->conventions.n; i++)
        native_named |= all->native && strcmp(job->conventions.at[i], all->native->name) == 0;
    if (main_one == all->native && !native_named)
        add_env(main_one, arena, task, out);
    for (size_t i = 0; i < job->conventions.n; i++)
        add_env(convention_find(all, job->conventions.at[i]), arena, task, out);
    const struct role *role = &job->roles[task->place->tasks[task->flat].role];
    for (size_t i = 0; i < role->env.n; i++)
        pairs_set(out, arena, role->env.at[i].name,
                  expanded(all, arena, task, out, role->env.at[i].value));
}

const char *dialect_host(const struct dialects *all, struct arena *arena,
                         const struct dialect_task *task, size_t at)
{
    const struct convention *convention = convention_find(all, task->job->conventions.at[at]);
    return convention && convention->host ? convention->host(arena, task) : NULL;
}

const struct dialect_file *dialect_files(const struct dialects *all, struct arena *arena,
                                         const struct dialect_task *task, size_t *n)
{
    const struct dialect_file *files = NULL;
    *n = 0;
    for (size_t i = 0; i < task->job->conventions.n && *n == 0; i++) {
        const struct convention *convention = convention_find(all, task->job->conventions.at[i]);
        if (convention && convention->files)
            files = convention->files(arena, task->job, task->place, task->site, n);
    }
    return files;
}

unsigned dialect_launchers(const struct dialects *all, const struct job_spec *job)
{
    unsigned launchers = 0;
    for (size_t i = 0; i < job->conventions.n; i++) {
        const struct convention *convention = convention_find(all, job->conventions.at[i]);
        launchers |= convention ? convention->launchers : 0;
    }
    return launchers;
}

const char *dialect_secret_variables(const struct dialects *all, const struct job_spec *job)
{
    for (size_t i = 0; i < job->conventions.n; i++) {
        const struct convention *convention = convention_find(all, job->conventions.at[i]);
        if (convention && convention->secret_variables)
            return convention->secret_variables;
    }
    return NULL;
}

bool dialect_one_world(const struct dialects *all, const struct job_spec *job)
{
    for (size_t i = 0; i < job->conventions.n; i++) {
        const struct convention *convention = convention_find(all, job->conventions.at[i]);
        if (convention && convention->one_world)
            return true;
    }
    return false;
}
