/* What the facades share. */
#include "api/facade.h"

#include "base/scan.h"

#include <string.h>

int facade_bearer(struct call *call, struct err *err)
{
    struct identity who;
    int rc = auth_bearer(call, &who, err);
    if (rc == 0)
        facade_admit(call, &who);
    return rc;
}

void facade_admit(struct call *call, const struct identity *who)
{
    call->who = *who;
    call->owner = who->name;
}

bool facade_segments(struct call *call, struct words *out)
{
    const char *path = http_path(call->request);
    out->at = ARENA_ARRAY(call->arena, strlen(path) + 1, const char *);
    out->n = 0;
    while (*path) {
        path += *path == '/';
        size_t n = strcspn(path, "/");
        if (n)
            out->at[out->n++] = arena_strndup(call->arena, path, n);
        path += n;
    }
    return true;
}

const char *facade_time(struct arena *arena, uint64_t unix_ms)
{
    char text[FMT_MAX];
    if (!unix_ms)
        return "";
    fmt_time(text, unix_ms);
    return arena_printf(arena, "%.19sZ", text);
}
