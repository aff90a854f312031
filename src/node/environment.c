/* Composition of an environment: passed on from the agent, then the launch's own, then what muster
 * says of itself. */
#include "node/environment.h"

#include "base/mem.h"
#include "node/gpu_share.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static const char *const passed_on[] = {
    "HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
    "TERM",
    /* how this machine reaches the network and a package index */
    "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
    "SSL_CERT_FILE", "PIP_CERT", "PIP_CONFIG_FILE", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS"
};

/* What holds in an image too: how the network is reached, and no path. */
static const char *const passed_into_images[] = {
    "http_proxy", "https_proxy", "no_proxy",      "HTTP_PROXY",         "HTTPS_PROXY",
    "NO_PROXY",   "TERM",        "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"
};

static bool in_path(const char *path, const char *dir, size_t len)
{
    for (; *path; path += strcspn(path, ":"), path += *path == ':')
        if (strcspn(path, ":") == len && strncmp(path, dir, len) == 0)
            return true;
    return false;
}

/* The environment's programs, then those that came with its base (ray, accelerate ...). */
static void put_python(struct pairs *out, struct arena *arena, const char *dir, const char *base)
{
    const char *path = pairs_get(out, "PATH"), *slash = base ? strrchr(base, '/') : NULL;
    size_t len = slash ? (size_t)(slash - base) : 0;
    if (len == 0 || in_path(path, base, len))
        pairs_setf(out, arena, "PATH", "%s/bin:%s", dir, path);
    else
        pairs_setf(out, arena, "PATH", "%s/bin:%.*s:%s", dir, (int)len, base, path);
    pairs_set(out, arena, "VIRTUAL_ENV", dir);
    if (!pairs_get(out,
                   "PYTHONUNBUFFERED")) /* lines are seen as they are printed, as on a terminal */
        pairs_set(out, arena, "PYTHONUNBUFFERED", "1");
}

/* Behind what the job or the image says. */
static void put_client(struct pairs *out, struct arena *arena, const char *client)
{
    const char *path = pairs_get(out, "PYTHONPATH");
    pairs_setf(out, arena, "PYTHONPATH", "%s%s%s", path ? path : "", path && *path ? ":" : "",
               client);
}

/* What Python meets first, in tasks with a share of a device. */
static void put_gpu_share(struct pairs *out, struct arena *arena, const char *own_dir)
{
    const char *path = pairs_get(out, "PYTHONPATH");
    AUTO_FREE char *dir = gpu_share_dir(own_dir);
    pairs_setf(out, arena, "PYTHONPATH", "%s%s%s", dir, path && *path ? ":" : "", path ? path : "");
}

static bool has_word(const char *text, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = text; *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        if (strcspn(at, " ") == len && strncmp(at, word, len) == 0)
            return true;
    }
    return false;
}

static bool passes(const char *name, const struct account *account)
{
    static const char *const own[] = { "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TERM" };
    for (size_t i = 0; account && i < sizeof own / sizeof *own; i++)
        if (strcmp(name, own[i]) == 0)
            return false;
    return true;
}

static void put_account(struct pairs *out, struct arena *arena, const struct account *account,
                        const char *work_dir)
{
    bool home = account->home[0] == '/' && access(account->home, F_OK) == 0;
    pairs_set(out, arena, "HOME", home ? account->home : work_dir);
    pairs_set(out, arena, "USER", account->name);
    pairs_set(out, arena, "LOGNAME", account->name);
    if (*account->shell)
        pairs_set(out, arena, "SHELL", account->shell);
}

/* In folders of their own: nothing else that lies beside them is replaced. */
static void put_launchers(struct pairs *out, struct arena *arena, const char *programs)
{
    static const struct {
        const char *word, *dir;
    } launchers[] = { { .word = "dlrover", .dir = "launch" },
                      { .word = "torchrun", .dir = "torchrun" },
                      { .word = "slurm", .dir = "slurm" } };
    const char *wanted = pairs_get(out, ENVIRONMENT_LAUNCHERS);
    for (size_t i = 0; wanted && i < sizeof launchers / sizeof *launchers; i++)
        if (has_word(wanted, launchers[i].word))
            pairs_setf(out, arena, "PATH", "%s/%s:%s", programs, launchers[i].dir,
                       pairs_get(out, "PATH"));
}

static bool says(const char *entry, const struct pair *pair)
{
    size_t len = strlen(pair->name);
    return strncmp(entry, pair->name, len) == 0 && entry[len] == '=' &&
           strcmp(entry + len + 1, pair->value) == 0;
}

/* Lists of peers are long and the same for every task: said twice they would make the agent large,
 * and forking from it slow. */
static char **as_list(struct arena *arena, const struct pairs *pairs, char *const *before)
{
    char **list = ARENA_ARRAY(arena, pairs->n + 1, char *);
    for (size_t i = 0; i < pairs->n; i++) {
        const struct pair *pair = &pairs->at[i];
        if (before && !*before)
            before = NULL;
        list[i] = before && says(*before, pair)
                      ? *before
                      : arena_printf(arena, "%s=%s", pair->name, pair->value);
        if (before)
            before++;
    }
    return list;
}

static void put_passed_on(struct pairs *out, struct arena *arena, const struct environment *from)
{
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++) {
        const char *value = getenv(passed_on[i]);
        if (value && passes(passed_on[i], from->account))
            pairs_set(out, arena, passed_on[i], value);
    }
    if (from->account)
        put_account(out, arena, from->account, from->work_dir);
}

static void put_entries(struct pairs *out, struct arena *arena, const struct words *entries)
{
    for (size_t i = 0; entries && i < entries->n; i++) {
        const char *entry = entries->at[i], *equals = strchr(entry, '=');
        pairs_set(out, arena, arena_strndup(arena, entry, (size_t)(equals - entry)), equals + 1);
    }
}

/* In an image a task is root, whoever it is outside. */
static void put_image(struct pairs *out, struct arena *arena, const struct environment *from)
{
    for (size_t i = 0; i < sizeof passed_into_images / sizeof passed_into_images[0]; i++) {
        const char *value = getenv(passed_into_images[i]);
        if (value)
            pairs_set(out, arena, passed_into_images[i], value);
    }
    pairs_set(out, arena, "HOME", "/root");
    put_entries(out, arena, &from->image->env);
    put_entries(out, arena, from->devices);
}

char **environment_make(struct arena *arena, const struct environment *from)
{
    struct arena *scratch = arena_create();
    struct pairs out = { .at = NULL };
    if (from->image)
        put_image(&out, scratch, from);
    else
        put_passed_on(&out, scratch, from);
    const char *term = pairs_get(&out, "TERM");
    if (from->tty && (!term || strcmp(term, "dumb") == 0))
        pairs_set(&out, scratch, "TERM", "xterm-256color");
    if (!pairs_get(&out, "PATH"))
        pairs_set(&out, scratch, "PATH", DEFAULT_PATH);
    pairs_set(&out, scratch, "PWD", from->work_dir);
    for (size_t i = 0; i < from->own->n; i++) {
        const struct pair *pair = &from->own->at[i];
        bool here = strcmp(pair->value, ENVIRONMENT_WORK_DIR) == 0;
        pairs_set(&out, scratch, pair->name, here ? from->work_dir : pair->value);
    }
    if (from->python)
        put_python(&out, scratch, from->python, from->base);
    if (from->client)
        put_client(&out, scratch, from->client);
    if (from->own_dir && gpu_share_has(from->own))
        put_gpu_share(&out, scratch, from->own_dir);
    if (from->programs)
        put_launchers(&out, scratch, from->programs);
    if (from->launch_socket)
        pairs_set(&out, scratch, "MUSTER_LAUNCH_SOCKET", from->launch_socket);
    pairs_set(&out, scratch, "MUSTER_COOKIE", from->cookie);
    pairs_set(&out, scratch, "MUSTER_ATTEMPT_COOKIE", from->attempt);
    char **list = as_list(arena, &out, from->before);
    if (from->secret)
        arena_wipe(scratch);
    arena_destroy(scratch);
    return list;
}

const char *environment_get(char *const *env, const char *name)
{
    size_t len = strlen(name);
    for (; *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}
