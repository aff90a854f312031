/* Which directory of this machine a storage URI means. The table of roots is configuration; the
 * longest prefix wins; file: URIs and plain paths serve themselves. */
#include "source/storage.h"

#include "source/checkout.h"
#include "source/resolve.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/tar_tree.h"
#include "job/launch.h"

#include <errno.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

#define LOOK_FILES 10000u

/* Whole parts of a path only: "nfs://a" does not serve "nfs://ab". */
static bool serves(const struct uri_root *root, const char *uri)
{
    size_t n = strlen(root->prefix);
    if (strncmp(uri, root->prefix, n) != 0)
        return false;
    return uri[n] == '\0' || uri[n] == '/' || (n > 0 && root->prefix[n - 1] == '/');
}

static const struct uri_root *longest(const struct storage *storage, const char *uri)
{
    const struct uri_root *best = NULL;
    for (size_t i = 0; i < storage->n_roots; i++) {
        const struct uri_root *root = &storage->roots[i];
        if (!serves(root, uri))
            continue;
        if (!best || strlen(root->prefix) > strlen(best->prefix))
            best = root;
    }
    return best;
}

static bool has_scheme(const char *uri)
{
    size_t n = strspn(uri, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
    return n > 1 && uri[n] == ':';
}

static const char *skip_slashes(const char *path)
{
    while (path[0] == '/' && path[1] == '/')
        path++;
    return path;
}

static const char *map(const struct storage *storage, struct arena *arena, const char *uri,
                       struct err *err)
{
    const struct uri_root *root = longest(storage, uri);
    if (root) {
        const char *rest = uri + strlen(root->prefix);
        while (*rest == '/')
            rest++;
        if (file_climbs(rest)) {
            err_set(err, ERR_INPUT, "%s leaves its storage root by \"..\"", uri);
            return NULL;
        }
        return arena_printf(arena, "%s/%s", root->dir, rest);
    }
    if (strncmp(uri, "file:", 5) == 0 && uri[5] == '/')
        return arena_strdup(arena, skip_slashes(uri + 5));
    if (uri[0] == '/')
        return arena_strdup(arena, skip_slashes(uri));
    if (!has_scheme(uri) && storage->work_dir)
        return arena_printf(arena, "%s/%s", storage->work_dir, uri);
    err_set(err, ERR_CANNOT, "no storage root serves %s", uri);
    err_hint(err, "add its prefix to the server's setting roots, or give a directory with --code");
    return NULL;
}

const char *storage_map(const struct storage *storage, struct arena *arena, const char *uri,
                        struct err *err)
{
    const char *id = NULL;
    const struct entry *entry = resolve_dataset(storage->catalogue, arena, uri, &id);
    if (!id || longest(storage, uri))
        return map(storage, arena, uri, err);
    if (entry)
        return map(storage, arena, entry->uri, err);
    const char *near = catalogue_near(storage->catalogue, ENTRY_DATASET, id);
    err_set(err, ERR_CANNOT, "data set \"%.100s\" is not known here", id);
    if (near) {
        err_hint(err, "%s", near);
        return NULL;
    }
    err_hint(err, "declare it: kind: dataset in a file for the verb apply");
    err_remedy_of(err, REMEDY_LIST_KIND, "datasets");
    return NULL;
}

int storage_check_code(const char *dir, const struct code_place *code, uint64_t limit,
                       struct err *err)
{
    const char *uri = code->uri;
    char most[FMT_MAX];
    unsigned long long bytes = 0;
    struct stat st = { .st_mode = S_IFDIR };
    if (stat(dir, &st) < 0 && errno != EACCES) {
        err_set(err, ERR_CANNOT, "the code directory %s is not there (%s)", uri, dir);
        return err_hint(err, "create it, correct codeDir, or give another with --code DIR");
    }
    if (!S_ISDIR(st.st_mode)) {
        err_set(err, ERR_CANNOT, "the code directory %s is no directory (%s)", uri, dir);
        return err_hint(err, "name the directory that holds the program");
    }
    if (!file_can_read(dir)) {
        bool own = st.st_ino && st.st_uid == (uid_t)setfsuid((uid_t)-1); /* who asks now */
        err_set(err, ERR_CANNOT, "the code directory %s cannot be read (%s)", uri, dir);
        if (own)
            return err_hint(err, "it is yours: chmod -R u+rX %s", dir);
        return err_hint(err, "copy it to a directory of your own and name that with --code DIR");
    }
    if (code->at && checkout_check(dir, code->at, err))
        return -1;
    if (limit == 0)
        return 0;
    if (file_tree_size(dir, limit, &bytes, err))
        return err_in(err, "code directory %s", uri);
    if (bytes > limit) {
        err_set(err, ERR_CANNOT, "the code directory %s holds more than %s bytes", uri,
                fmt_size(most, limit));
        return err_hint(err, "keep data elsewhere and read it by its path");
    }
    return 0;
}

/* A look of milliseconds: what has more files than that is refused when it is packed, if it is too
 * large. */
int storage_check_travel(const char *dir, struct err *err)
{
    const struct tar_tree tree = { .dir = dir,
                                   .limits = { .bytes = CODE_TRAVELS_MAX, .files = LOOK_FILES } };
    struct tar_tree_summary found;
    char most[FMT_MAX];
    if (tar_tree_measure(&tree, &found, NULL) == 0 || found.bytes <= CODE_TRAVELS_MAX)
        return 0;
    err_set(err, ERR_CANNOT, "%s holds more than %s: too much to send to machines", dir,
            fmt_size(most, CODE_TRAVELS_MAX));
    return err_hint(err, "name the directory of the code alone with --code DIR, and data by its "
                         "path on the machines");
}

int storage_check_python(const char *program, struct err *err)
{
    struct stat st;
    if (stat(program, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111))
        return 0;
    err_set(err, ERR_CANNOT, "inputs.interpreter: there is no program %.300s", program);
    return err_hint(err, "a Python program of this machine, /usr/bin/python3; left out: the "
                         "server's");
}
