/* Composition of an environment: passed on from the agent, then the launch's own, then what muster
 * says of itself. */
#include "node/environment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static const char *const passed_on[] = {
    "HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
    "TERM",
    /* how this machine reaches the network and a package index */
    "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
    "SSL_CERT_FILE", "PIP_CERT", "PIP_CONFIG_FILE", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS"
};

static void put_python(struct pairs *out, struct arena *arena, const char *dir)
{
    const char *path = pairs_get(out, "PATH");
    pairs_setf(out, arena, "PATH", "%s/bin:%s", dir, path ? path : DEFAULT_PATH);
    pairs_set(out, arena, "VIRTUAL_ENV", dir);
    if (!pairs_get(out,
                   "PYTHONUNBUFFERED")) /* lines are seen as they are printed, as on a terminal */
        pairs_set(out, arena, "PYTHONUNBUFFERED", "1");
}

static char **as_list(struct arena *arena, const struct pairs *pairs)
{
    char **list = ARENA_ARRAY(arena, pairs->n + 1, char *);
    for (size_t i = 0; i < pairs->n; i++)
        list[i] = arena_printf(arena, "%s=%s", pairs->at[i].name, pairs->at[i].value);
    return list;
}

char **environment_make(struct arena *arena, const struct environment *from)
{
    struct pairs out = { .at = NULL };
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++) {
        const char *value = getenv(passed_on[i]);
        if (value)
            pairs_set(&out, arena, passed_on[i], value);
    }
    if (!pairs_get(&out, "PATH"))
        pairs_set(&out, arena, "PATH", DEFAULT_PATH);
    pairs_set(&out, arena, "PWD", from->work_dir);
    for (size_t i = 0; i < from->own->n; i++) {
        const struct pair *pair = &from->own->at[i];
        bool here = strcmp(pair->value, ENVIRONMENT_WORK_DIR) == 0;
        pairs_set(&out, arena, pair->name, here ? from->work_dir : pair->value);
    }
    if (from->python)
        put_python(&out, arena, from->python);
    pairs_set(&out, arena, "MUSTER_COOKIE", from->cookie);
    pairs_set(&out, arena, "MUSTER_ATTEMPT_COOKIE", from->attempt);
    return as_list(arena, &out);
}

const char *environment_get(char *const *env, const char *name)
{
    size_t len = strlen(name);
    for (; *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}
