/* Counts the holders of a batch of launches: they are shared by their tasks and freed, with their
 * arena, with the last of them. And finds what was installed beside this program. */
#include "node/site.h"

#include "base/arena.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Below a directory where anybody may make one it would be anybody's. */
static bool is_own(const char *dir)
{
    struct stat st;
    return stat(dir, &st) == 0 && S_ISDIR(st.st_mode) && !(st.st_mode & S_IWOTH);
}

char *site_find_client(const char *programs)
{
    static const char *const places[] = { "share/muster/python", "python" };
    AUTO_FREE char *dir = programs ? mem_strdup(programs) : NULL;
    for (char *slash; dir && (slash = strrchr(dir, '/')) && slash > dir; *slash = '\0') {
        for (size_t i = 0; i < ARRAY_LEN(places) && is_own(dir); i++) {
            char *found = mem_printf("%s/%s/muster/src", dir, places[i]);
            AUTO_FREE char *client = mem_printf("%s/muster/client.py", found);
            if (access(client, R_OK) == 0)
                return found;
            free(found);
        }
    }
    return NULL;
}

char *site_find_program(const char *programs)
{
    AUTO_FREE char *name = programs ? mem_printf("%s/torchrun/torchrun", programs) : NULL;
    AUTO_FREE char *real = name ? realpath(name, NULL) : NULL;
    AUTO_FREE char *inside = programs ? realpath(programs, NULL) : NULL;
    size_t n = inside ? strlen(inside) : 0;
    bool lies_there = n > 0 && real && strncmp(real, inside, n) == 0 && real[n] == '/';
    return real && !lies_there ? TAKE(real) : NULL;
}

void batch_hold(struct batch *batch)
{
    batch->holders++;
}

void batch_drop(struct batch *batch)
{
    if (!batch || --batch->holders > 0)
        return;
    if (batch->secret)
        arena_wipe(batch->arena);
    arena_destroy(batch->arena);
    free(batch);
}
