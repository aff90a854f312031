/* The state directory: its place, its socket, its token. Reads the environment and the token file,
 * writes nothing. */
#include "cli/state_dir.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/socket_path.h"
#include "cli/shared_home.h"

#include <pwd.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

static const char *home_dir(void)
{
    const char *home = getenv("HOME");
    if (home && home[0] == '/')
        return home;
    const struct passwd *user = getpwuid(getuid());
    return user && user->pw_dir && user->pw_dir[0] == '/' ? user->pw_dir : NULL;
}

static char *absolute(const char *path, struct err *err)
{
    AUTO_FREE char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    if (path[0] != '/' && !here) {
        err_sys(err, "the current directory");
        return NULL;
    }
    char *full = path[0] == '/' ? mem_strdup(path) : file_join(here, path);
    size_t n = strlen(full);
    while (n > 1 && full[n - 1] == '/')
        full[--n] = '\0';
    return full;
}

/* Where nothing names it; NULL: there is no home. */
static char *usual_place(void)
{
    const char *xdg = getenv("XDG_STATE_HOME"), *home = home_dir();
    if (xdg && xdg[0] == '/')
        return file_join(xdg, "muster");
    return home ? file_join(home, ".local/state/muster") : NULL;
}

char *state_dir_find(const char *dir, struct err *err)
{
    const char *own = getenv("MUSTER_STATE_DIR");
    if (dir && *dir)
        return absolute(dir, err);
    if (own && *own)
        return absolute(own, err);
    AUTO_FREE char *usual = usual_place();
    if (shared_home_check(err) < 0)
        return NULL;
    if (usual)
        return shared_home_has(usual) ? shared_home_local(err) : TAKE(usual);
    err_set(err, ERR_INPUT, "there is no home directory to keep state in");
    err_hint(err, "set MUSTER_STATE_DIR to a directory of yours");
    return NULL;
}

char *state_dir_shared(const char *dir)
{
    struct err err;
    AUTO_FREE char *of_job = shared_home_of_job(NULL);
    if (of_job)
        return TAKE(of_job);
    AUTO_FREE char *usual = usual_place();
    AUTO_FREE char *local = usual && shared_home_has(usual) ? shared_home_local(&err) : NULL;
    return local && strcmp(local, dir) == 0 ? TAKE(usual) : NULL;
}

char *state_dir_socket(const char *dir)
{
    const char *run = getenv("XDG_RUNTIME_DIR");
    char *path = file_join(dir, "sock");
    if (strlen(path) <= SOCKET_PATH_MAX)
        return path;
    free(path);
    unsigned uid = (unsigned)getuid();
    uint32_t name = hash_fnv32(dir); /* the same for everyone who looks for it */
    path = mem_printf("%s/muster-%u-%08x.sock", run && run[0] == '/' ? run : "/tmp", uid, name);
    if (strlen(path) <= SOCKET_PATH_MAX)
        return path;
    free(path);
    return mem_printf("/tmp/muster-%u-%08x.sock", uid, name);
}

char *state_dir_token(const char *dir, struct err *err)
{
    AUTO_FREE char *path = file_join(dir, "token");
    AUTO_FREE char *text = NULL;
    struct stat st;
    size_t len;
    if (stat(path, &st) != 0) {
        err_sys(err, "%s", path);
        return NULL;
    }
    if ((st.st_mode & 077) != 0) {
        err_set(err, ERR_DENIED, "%s has mode %04o: others may use it", path,
                (unsigned)(st.st_mode & 07777));
        err_hint(err, "chmod 600 %s", path);
        return NULL;
    }
    if (file_read(path, 4096, &text, &len, err) < 0)
        return NULL;
    text[strcspn(text, " \t\r\n")] = '\0';
    if (strlen(text) < 32) {
        err_set(err, ERR_INPUT, "%s holds no token", path);
        err_hint(err, "remove it; the server makes a new one when it starts");
        return NULL;
    }
    return TAKE(text);
}
