/* The state directory as the server makes it. The token is made once and kept; server.json says
 * where the running server is. */
#include "main/server_files.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/network_fs.h"
#include "cli/shared_home.h"
#include "cli/state_dir.h"
#include "store/seal.h"
#include "text/json.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

static int make_dir(const char *path, struct err *err)
{
    struct stat st;
    const char *network = network_fs_of(path);
    if (network) {
        err_set(err, ERR_INPUT, "%s is on %s: records cannot lie there", path, network);
        return err_hint(err, "--state-dir or MUSTER_STATE_DIR: a directory on a disk of this "
                             "machine");
    }
    if (file_mkdirs(path, 0700, err) < 0)
        return err_hint(err, "choose another place with --state-dir or MUSTER_STATE_DIR");
    if (stat(path, &st) != 0)
        return err_sys(err, "%s", path);
    if (st.st_uid != geteuid() && geteuid() != 0) {
        err_set(err, ERR_DENIED, "%s belongs to user %u", path, (unsigned)st.st_uid);
        return err_hint(err, "choose another place with --state-dir or MUSTER_STATE_DIR");
    }
    if (st.st_mode & 022) {
        err_set(err, ERR_DENIED, "others may write to %s (mode %04o)", path,
                (unsigned)(st.st_mode & 07777));
        return err_hint(err, "chmod 700 %s", path);
    }
    if (access(path, R_OK | W_OK | X_OK) != 0) {
        err_sys(err, "%s", path);
        return err_hint(err, "make it writable, or choose another with --state-dir");
    }
    return 0;
}

static int make_token(const char *dir, const char *path, struct err *err)
{
    unsigned char raw[32];
    char hex[2 * sizeof raw + 2];
    if (access(path, F_OK) == 0 || errno != ENOENT)
        return 0;
    randombytes_buf(raw, sizeof raw);
    sodium_bin2hex(hex, sizeof hex, raw, sizeof raw);
    size_t n = strlen(hex);
    hex[n] = '\n';
    int rc = file_replace(path, hex, n + 1, 0600, err);
    sodium_memzero(raw, sizeof raw);
    sodium_memzero(hex, sizeof hex);
    return rc < 0 ? err_in(err, "making the token in %s", dir) : 0;
}

int server_files_open(struct arena *a, const char *dir, struct server_files *files, struct err *err)
{
    AUTO_FREE char *socket = state_dir_socket(dir);
    struct server_files f = { .dir = arena_strdup(a, dir),
                              .db = arena_printf(a, "%s/muster.db", dir),
                              .runs = arena_printf(a, "%s/runs", dir),
                              .fs = arena_printf(a, "%s/fs", dir),
                              .socket = arena_strdup(a, socket),
                              .info = arena_printf(a, "%s/server.json", dir),
                              .gpus = arena_printf(a, "%s/gpus", dir) };
    const char *token_path = arena_printf(a, "%s/token", dir);
    if (make_dir(dir, err) < 0 || file_mkdirs(f.runs, 0700, err) < 0 ||
        file_mkdirs(f.fs, 0700, err) < 0 || make_token(dir, token_path, err) < 0)
        return -1;
    AUTO_FREE char *token = state_dir_token(dir, err);
    if (!token)
        return -1;
    f.token = arena_strdup(a, token);
    *files = f;
    return 0;
}

/* ---- the key of the records ---- */

/* Beside the user's configuration; a root server, whose home may be anybody's, has it with the
 * machine's. */
static const char *keys_dir(struct arena *a)
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (xdg && xdg[0] == '/')
        return arena_printf(a, "%s/muster/keys", xdg);
    if (geteuid() != 0 && home && home[0] == '/')
        return arena_printf(a, "%s/.config/muster/keys", home);
    return "/etc/muster/keys";
}

/* Named at random, so that servers of one user have one each. It is there before its path is. */
static const char *make_seal_key(struct arena *a, const char *path_file, struct err *err)
{
    unsigned char name[8], key[SEAL_KEY_LEN];
    char hex[2 * sizeof name + 1];
    randombytes_buf(name, sizeof name);
    sodium_bin2hex(hex, sizeof hex, name, sizeof name);
    const char *path = arena_printf(a, "%s/%s.key", keys_dir(a), hex);
    int rc = seal_read_key(path, false, key, err);
    sodium_memzero(key, sizeof key);
    if (rc < 0) {
        err_in(err, "making the key of the records");
        err_hint(err, "--seal-key FILE (seal_key, MUSTER_SEAL_KEY) says another place");
        return NULL;
    }
    const char *line = arena_printf(a, "%s\n", path);
    return file_replace(path_file, line, strlen(line), 0600, err) == 0 ? path : NULL;
}

const char *server_files_seal_key(struct arena *a, const struct server_files *files, bool needed,
                                  struct err *err)
{
    const char *own = arena_printf(a, "%s/identity.key", files->dir);
    const char *path_file = arena_printf(a, "%s/" STATE_DIR_KEY_PATH, files->dir);
    AUTO_FREE char *text = NULL;
    size_t len;
    if (access(own, F_OK) == 0 || errno != ENOENT)
        return own;
    if (access(path_file, F_OK) == 0 || errno != ENOENT) {
        if (file_read(path_file, PATH_MAX, &text, &len, err) < 0)
            return NULL;
        text[strcspn(text, "\n")] = '\0';
        if (text[0] == '/')
            return arena_strdup(a, text);
        err_set(err, ERR_INPUT, "%s names no key", path_file);
        err_hint(err, "write the path of the key in it, or give --seal-key FILE");
        return NULL;
    }
    if (!needed)
        return make_seal_key(a, path_file, err);
    err_set(err, ERR_CANNOT, "the records are sealed, and nothing in %s says where their key is",
            files->dir);
    err_hint(err, "--seal-key FILE says it; or put identity.key or " STATE_DIR_KEY_PATH " back");
    return NULL;
}

int server_files_announce(const struct server_files *files, const struct server_info *info,
                          struct err *err)
{
    struct arena *a = arena_create();
    AUTO_BUF struct buf text = BUF_INIT(64 << 10);
    struct text_node *root = text_map(a, NULL, NULL);
    text_int(a, root, "pid", (int64_t)info->pid);
    text_str(a, root, "version", info->version);
    text_str(a, root, "address", info->address);
    text_str(a, root, "socket", files->socket);
    text_str(a, root, "state_dir", files->dir);
    text_bool(a, root, "detached", info->detached);
    text_int(a, root, "started_ms", (int64_t)info->started_ms);
    json_print(root, 2, &text);
    buf_putc(&text, '\n');
    int rc = file_replace(files->info, text.data, text.len, 0600, err);
    arena_destroy(a);
    return rc;
}

void server_files_withdraw(const struct server_files *files, bool all)
{
    AUTO_FREE char *home = all ? state_dir_shared(files->dir) : NULL;
    unlink(files->info);
    if (home)
        shared_home_forget(home);
}

bool server_files_are_shared(const struct server_files *files)
{
    AUTO_FREE char *home = state_dir_shared(files->dir);
    return home != NULL;
}

int server_files_share(const struct server_files *files, const struct server_address *way,
                       struct err *err)
{
    AUTO_FREE char *address =
        way->known ? mem_printf("https://%s:%u", way->known, way->port) : mem_strdup("");
    AUTO_FREE char *home = state_dir_shared(files->dir);
    AUTO_FREE char *host = shared_home_host();
    AUTO_FREE char *allocation = NULL;
    AUTO_FREE char *of_job = shared_home_of_job(&allocation);
    const struct shared_server server = { .host = host,
                                          .address = address,
                                          .authority = way->authority,
                                          .token = files->token,
                                          .allocation = allocation,
                                          .places = of_job ? way->places : NULL };
    return home ? shared_home_write(home, &server, err) : 0;
}

uint64_t server_files_other(const struct server_files *files)
{
    struct arena *a = arena_create();
    AUTO_FREE char *text = NULL;
    size_t len;
    uint64_t pid = 0;
    struct report report;
    report_init(&report, a);
    if (file_read(files->info, 64 << 10, &text, &len, NULL) == 0) {
        const struct text_node *node = text_get(json_parse(a, text, len, 0, &report), "pid");
        if (node && node->kind == TEXT_INT && node->integer > 1)
            pid = (uint64_t)node->integer;
    }
    arena_destroy(a);
    if (!pid || pid == (uint64_t)getpid() || (kill((pid_t)pid, 0) != 0 && errno == ESRCH))
        return 0;
    return pid;
}
