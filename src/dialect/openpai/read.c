/* A v1 configuration becomes a canonical job.
 *
 * Inputs: the parsed tree and the site (owner, storage root). Effects: problems in the report;
 * the job in the arena.
 *
 * Caveats: what has no canonical field but is needed again (dataDir for the environment, extras
 * for going back) is kept in job->extra.openpai. The choices, with their reasons, are in
 * doc/dialect-openpai.md. */
#include "dialect/openpai/v1.h"

#include "base/buf.h"
#include "job/check.h"
#include "text/json.h"

#define MB (1024u * 1024u)
enum { ENV_TEXT_MAX = 1 << 20 };

struct reader {
    struct arena *arena;
    const struct v1_job *v1;
    const struct site *site;
    struct job_spec *job;
    struct pairs env;
};

/* transient ends are retried without being counted; the limit ends jobs that kill themselves with a
 * signal which looks like the platform's. retryCount -1 and -2 lift it. */
enum { PLATFORM_RETRIES = 100 };

static struct count counted(int64_t n)
{
    if (n == 0)
        return (struct count){ .kind = COUNT_NEVER };
    return (struct count){ .kind = COUNT_NUMBER, .n = (uint32_t)n };
}

void v1_retry(int64_t n, struct retry *retry)
{
    const struct count always = { .kind = COUNT_ALWAYS }, never = { .kind = COUNT_NEVER };
    retry->scope = RETRY_SCOPE_JOB;
    retry->platform = n < 0 ? always : counted(PLATFORM_RETRIES);
    retry->conflict = always;
    retry->unknown = n < 0 ? always : counted(n);
    retry->user = n == -2 ? always : never;
    retry->success = n == -2 ? always : never;
}

static const char *env_text(struct arena *arena, const struct text_node *node)
{
    if (node->kind == TEXT_STR)
        return node->str;
    if (node->kind == TEXT_BOOL)
        return node->boolean ? "true" : "false";
    if (node->kind == TEXT_INT || node->kind == TEXT_REAL)
        return node->str;
    AUTO_BUF struct buf out = BUF_INIT(ENV_TEXT_MAX);
    json_print(node, 0, &out);
    return arena_strdup(arena, buf_str(&out));
}

static void read_envs(struct reader *r)
{
    const struct text_node *node = r->v1->envs ? r->v1->envs->first : NULL;
    for (; node; node = node->next) {
        pairs_set(&r->env, r->arena, node->key, env_text(r->arena, node));
        if (strcmp(node->key, "isDebug") == 0 && node->kind == TEXT_BOOL && node->boolean)
            r->job->health.debug_hold = true;
    }
}

static void add_port(struct role *role, const char *label, int64_t count, int64_t first)
{
    role->ports[role->n_ports++] =
        (struct port_request){ .label = label, .count = (uint32_t)count, .first = (uint32_t)first };
}

static bool has_port(const struct role *role, const char *label)
{
    for (size_t i = 0; i < role->n_ports; i++)
        if (strcmp(role->ports[i].label, label) == 0)
            return true;
    return false;
}

/* Labels as written, then http and ssh where they are not among them. */
static void read_ports(struct reader *r, const struct v1_role *v1, struct role *role)
{
    const struct v1_port *ports = v1->ports.at;
    role->ports = ARENA_ARRAY(r->arena, v1->ports.n + 2, struct port_request);
    for (size_t i = 0; i < v1->ports.n; i++)
        add_port(role, ports[i].label, ports[i].number, ports[i].begin_at);
    if (!has_port(role, V1_LABEL_HTTP))
        add_port(role, V1_LABEL_HTTP, 1, 0);
    if (!has_port(role, V1_LABEL_SSH))
        add_port(role, V1_LABEL_SSH, 1, 0);
}

/* One or several types separated by commas. */
static struct words read_gpu_types(struct arena *arena, const char *text)
{
    struct words types = { .at = ARENA_ARRAY(arena, strlen(text) / 2 + 1, const char *), .n = 0 };
    while (*text) {
        text += strspn(text, ", ");
        size_t n = strcspn(text, ",");
        size_t kept = n;
        while (kept > 0 && text[kept - 1] == ' ')
            kept--;
        if (kept > 0)
            types.at[types.n++] = arena_strndup(arena, text, kept);
        text += n;
    }
    return types;
}

static void read_resources(struct reader *r, const struct v1_role *v1, struct resources *out)
{
    out->cpu_milli = (uint64_t)v1->cpu * 1000;
    out->memory = (uint64_t)v1->memory_mb * MB;
    out->shm = (uint64_t)v1->shm_mb * MB;
    out->gpu_milli = (uint64_t)v1->gpu * 1000;
    if (v1->gpu > 0)
        out->gpu_types = read_gpu_types(r->arena, r->v1->gpu_type);
}

static struct pairs copy_pairs(struct arena *arena, const struct pairs *from)
{
    struct pairs to = { .n = 0 };
    for (size_t i = 0; i < from->n; i++)
        pairs_set(&to, arena, from->at[i].name, from->at[i].value);
    return to;
}

static void read_role(struct reader *r, const struct v1_role *v1, struct role *role)
{
    role_init(role);
    role->name = v1->name;
    role->place = v1->at.node->place;
    role->replicas = role->min = (uint32_t)v1->tasks;
    role->run = v1->command;
    role->image = r->v1->image;
    role->env = copy_pairs(r->arena, &r->env);
    read_resources(r, v1, &role->resources);
    read_ports(r, v1, role);
    role->done.failed =
        v1->min_failed.null ? (struct count){ .kind = COUNT_NEVER } : counted(v1->min_failed.n);
    role->done.succeeded = v1->min_succeeded.null ? (struct count){ .kind = COUNT_ALWAYS }
                                                  : counted(v1->min_succeeded.n);
}

static const char *place_text(struct reader *r, const char *text)
{
    return dialect_substitute(r->arena, text, r->v1->name, r->site);
}

/* The default has the user in it, as the server had and the page has not: two users' jobs of one
 * name stay apart. */
static const char *default_output(struct reader *r)
{
    const char *text = place_text(r, "$PAI_DEFAULT_FS_URI/Output/$PAI_USER_NAME/$PAI_JOB_NAME");
    const char *root = r->site ? r->site->fs_uri : NULL;
    size_t n = root ? strlen(root) : 0;
    if (n > 0 && root[n - 1] == '/') /* one slash, not two */
        return arena_printf(r->arena, "%.*s%s", (int)n, text, text + n + 1);
    return text;
}

static void read_directories(struct reader *r)
{
    const struct v1_job *v1 = r->v1;
    struct job_spec *job = r->job;
    job->output = v1->output_dir[0] ? place_text(r, v1->output_dir) : default_output(r);
    if (v1->code_dir[0]) {
        job->inputs.code.dir = place_text(r, v1->code_dir);
        job->inputs.code.limit = V1_CODE_LIMIT;
    }
    if (v1->auth_file[0])
        job->inputs.registry_auth = place_text(r, v1->auth_file);
}

static bool any_gpu(const struct v1_job *v1)
{
    const struct v1_role *roles = v1->roles.at;
    for (size_t i = 0; i < v1->roles.n; i++)
        if (roles[i].gpu > 0)
            return true;
    return false;
}

static void read_extra(struct reader *r)
{
    const struct v1_job *v1 = r->v1;
    struct text_node *root = text_map(r->arena, NULL, NULL);
    struct text_node *ours = text_map(r->arena, root, V1_EXTRA);
    if (v1->data_dir[0])
        text_str(r->arena, ours, "dataDir", place_text(r, v1->data_dir));
    if (v1->gpu_type[0] && !any_gpu(v1))
        text_str(r->arena, ours, "gpuType", v1->gpu_type);
    if (text_get(v1->at.node, "killAllOnCompletedTaskNumber"))
        text_int(r->arena, ours, "killAllOnCompletedTaskNumber", v1->kill_all);
    if (v1->extras && v1->extras->count > 0)
        text_copy(r->arena, ours, "extras", v1->extras);
    if (ours->count > 0)
        r->job->extra = root;
}

static void read_conventions(struct reader *r)
{
    struct words *names = &r->job->conventions;
    names->at = ARENA_ARRAY(r->arena, 1, const char *);
    names->at[0] = V1_CONVENTION;
    names->n = 1;
}

struct job_spec *v1_read(struct arena *arena, const struct text_node *root, const struct site *site,
                         struct report *report)
{
    const struct v1_job *v1 = v1_decode(arena, root, site, report);
    if (!report_ok(report))
        return NULL;
    struct reader r = { .arena = arena, .v1 = v1, .site = site, .job = job_new(arena) };
    struct job_spec *job = r.job;
    job->name = v1->name;
    if (v1->queue[0])
        job->queue = v1->queue;
    read_conventions(&r);
    v1_retry(v1->retry, &job->retry);
    read_directories(&r);
    read_envs(&r);
    read_extra(&r);
    job->n_roles = v1->roles.n;
    job->roles = ARENA_ARRAY(arena, job->n_roles, struct role);
    for (size_t i = 0; i < job->n_roles; i++)
        read_role(&r, (const struct v1_role *)v1->roles.at + i, &job->roles[i]);
    job_check(job, report);
    return report_ok(report) ? job : NULL;
}
