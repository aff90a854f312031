/* Rules across the fields of a job: names that refer to each other, sums, things that exclude each
 * other. Applied to decoded jobs and to those a dialect filled by hand. Reports, changes nothing.
 */
#include "job/check.h"

#include "base/scan.h"
#include "job/checker.h"

#include <string.h>

/* ---- other parts ---- */

static void check_gangs(const struct checker *c)
{
    for (size_t i = 0; i < c->job->n_gangs; i++) {
        const struct gang *gang = &c->job->gangs[i];
        uint64_t tasks = 0;
        check_role_names(c, &gang->roles, check_path("gang[%zu].roles", i).text);
        for (size_t k = 0; k < gang->roles.n; k++) {
            const struct role *role = job_role(c->job, gang->roles.at[k], NULL);
            tasks += role ? role->replicas : 0;
            for (size_t other = 0; other < i; other++)
                if (words_have(&c->job->gangs[other].roles, gang->roles.at[k]))
                    check_fail(c, check_path("gang[%zu].roles[%zu]", i, k).text,
                               "each role in one gang", "is \"%s\", which gang[%zu] has",
                               gang->roles.at[k], other);
        }
        if (gang->roles.n == 0)
            check_fail(c, check_path("gang[%zu].roles", i).text, "the names of its roles",
                       "is empty");
        else if (gang->min > tasks)
            check_fail(c, check_path("gang[%zu].min", i).text,
                       "no more than the tasks of its roles",
                       "is %u, and its roles have %llu task%s", gang->min,
                       (unsigned long long)tasks, tasks == 1 ? "" : "s");
    }
}

/* Where one role of a set says how many share a node, all have as many such groups. */
static void check_groups(const struct checker *c, const struct colocate *set, size_t i)
{
    const struct role *first = NULL;
    bool grouped = false;
    for (size_t k = 0; k < set->roles.n; k++) {
        const struct role *role = job_role(c->job, set->roles.at[k], NULL);
        grouped = grouped || (role && role->per_group);
    }
    for (size_t k = 0; grouped && k < set->roles.n; k++) {
        const struct role *role = job_role(c->job, set->roles.at[k], NULL);
        first = first ? first : role;
        if (role && job_groups(role) != job_groups(first))
            check_fail(c, check_path("place.together[%zu].roles[%zu]", i, k).text,
                       "replicas / per_group the same in all of them",
                       "is %s with %u groups, and %s has %u", role->name, job_groups(role),
                       first->name, job_groups(first));
    }
}

static void check_shares(const struct checker *c, size_t i)
{
    const struct colocate *set = &c->job->placing.together[i];
    check_role_names(c, &set->roles, check_path("place.together[%zu].roles", i).text);
    check_groups(c, set, i);
    for (size_t k = 0; k < set->shares.n; k++) {
        const struct pair *share = &set->shares.at[k];
        struct check_path path = check_path("place.together[%zu].shares.%.100s", i, share->name);
        uint64_t n;
        if (!words_have(&set->roles, share->name))
            check_fail(c, path.text, "a role of this set", "is not one of its roles");
        else if (!scan_u64(share->value, 1, JOB_MAX_TASKS, &n))
            check_fail(c, path.text, "1 or more", "is \"%.40s\", not a number of tasks",
                       share->value);
    }
}

static void check_placing(const struct checker *c)
{
    const struct placing *placing = &c->job->placing;
    for (size_t i = 0; i < placing->n_together; i++)
        check_shares(c, i);
    check_role_names(c, &placing->spread, "place.spread");
    check_role_names(c, &placing->pack, "place.pack");
    check_role_names(c, &placing->apart, "place.apart");
    for (size_t i = 0; i < placing->spread.n; i++)
        if (words_have(&placing->pack, placing->spread.at[i]))
            check_fail(c, check_path("place.spread[%zu]", i).text, "spread or pack",
                       "is \"%s\", which is in place.pack too", placing->spread.at[i]);
    if (placing->within_required && !placing->within)
        check_fail(c, "place.topology.required", "within: rack", "is set, and no level is");
}

static bool is_archive(const char *text)
{
    const size_t n = sizeof CODE_ARCHIVE - 1;
    return strncmp(text, CODE_ARCHIVE, n) == 0 && strlen(text + n) == 64 &&
           strspn(text + n, "0123456789abcdef") == 64;
}

static void check_code(const struct checker *c, const struct code *code)
{
    if ((code->dir != NULL) + (code->git != NULL) + (code->archive != NULL) > 1)
        check_fail(c, "inputs.code", "one of dir, git and archive",
                   "comes from more than one source");
    if (code->at && !code->git)
        check_fail(c, "inputs.code.at", "git: https://...", "names a version, and there is no git");
    if (code->archive && !is_archive(code->archive))
        check_fail(c, "inputs.code.archive", "sha256: and 64 hexadecimal digits",
                   "is \"%.80s\", no hash of an archive", code->archive);
    if (code->archive && code->path)
        check_fail(c, "inputs.code.path", "leave it out",
                   "is said of an archive, and its tasks start in it");
    if (code->path && code->path[0] != '/')
        check_fail(c, "inputs.code.path", "/root/code", "is \"%.80s\", not an absolute path",
                   code->path);
}

static void check_inputs(const struct checker *c)
{
    const struct inputs *inputs = &c->job->inputs;
    check_code(c, &inputs->code);
    if (inputs->interpreter && inputs->interpreter[0] != '/')
        check_fail(c, "inputs.interpreter", "/usr/bin/python3",
                   "is \"%.80s\", not an absolute path", inputs->interpreter);
    for (size_t i = 0; i < inputs->n_data; i++) {
        const struct mount *mount = &inputs->data[i];
        struct check_path path = check_path("inputs.data[%zu].at", i);
        if (!mount->from || !mount->at || mount->at[0] != '/' || strstr(mount->at, "/../"))
            check_fail(c, path.text, "/data", "is \"%.80s\", not an absolute path",
                       mount->at ? mount->at : "");
        for (size_t k = 0; mount->at && k < i; k++)
            if (inputs->data[k].at && strcmp(mount->at, inputs->data[k].at) == 0)
                check_fail(c, path.text, "each path once", "is where inputs.data[%zu] is", k);
    }
}

static void check_runtime(const struct checker *c)
{
    for (size_t i = 0; i < c->job->n_roles; i++)
        if (c->job->roles[i].image)
            return;
    if (c->job->runtime > RUNTIME_HOST)
        check_warn(c, "runtime", "leave it out, or name an image",
                   "has no effect: no role has an image");
}

static void check_rules(const struct checker *c)
{
    const struct job_spec *job = c->job;
    if (!job->name || *job->name == '\0')
        check_fail(c, "name", "name: hello", "is missing");
    else if (!job_name_chars.ok(job->name) || strlen(job->name) > JOB_NAME_MAX)
        check_fail(c, "name", job_name_chars.wanted, "is \"%.*s\", which is no name of a job",
                   (int)JOB_NAME_MAX, job->name);
    if (job->priority < 1 || job->priority > JOB_PRIORITY)
        check_fail(c, "priority", "1 to 9, 9 first", "is %u, not 1 to 9", job->priority);
    for (size_t i = 0; i < job->n_after; i++)
        if (!job->after[i].job && !job->after[i].job_name && !job_after_every(&job->after[i]))
            check_fail(c, check_path("after[%zu].job", i).text, "the number or name of a job",
                       "is missing");
    for (size_t i = 0; i < job->n_gangs; i++)
        if (job->array.count && job->gangs[i].with.n)
            check_fail(c, check_path("gang[%zu].with", i).text, "leave array out",
                       "names other jobs, and each job of an array starts by itself");
    if (job->retry.backoff_ms > job->retry.backoff_max_ms)
        check_fail(c, "retry.backoff", "no more than retry.backoff_max",
                   "is longer than retry.backoff_max");
    for (size_t i = 0; i < job->conventions.n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(job->conventions.at[i], job->conventions.at[k]) == 0)
                check_fail(c, check_path("conventions[%zu]", i).text, "each convention once",
                           "is there twice");
}

void job_check_at(const struct job_spec *job, const struct text_node *root, struct report *report)
{
    struct checker c = { .job = job, .root = root, .report = report };
    check_rules(&c);
    check_runtime(&c);
    check_roles(&c);
    if (job->n_roles > JOB_MAX_ROLES)
        return;
    check_gangs(&c);
    check_placing(&c);
    check_inputs(&c);
    check_secrets(&c);
}

void job_check(const struct job_spec *job, struct report *report)
{
    job_check_at(job, NULL, report);
}
