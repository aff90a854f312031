/* The file has a token: mode 0600, and one that others may use is not believed. It is replaced as a
 * whole, and only by servers of the machine that it names: those of others do not start. What stays
 * of a server that was ended says where its records are, so no second one is begun on another
 * machine while jobs of the first go on. */
#include "cli/shared_home.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/network_fs.h"
#include "base/report.h"
#include "text/json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME     "elsewhere.json"
#define TRUSTED  "elsewhere.pem"
#define FILE_MAX (64u << 10)

int shared_home_check(struct err *err)
{
    const char *said = getenv("MUSTER_SHARED_HOME");
    if (!said || !*said || strcmp(said, "yes") == 0)
        return 0;
    err_set(err, ERR_INPUT, "MUSTER_SHARED_HOME is \"%.40s\"", said);
    return err_hint(err, "yes: other machines have this home, too; else unset it");
}

bool shared_home_has(const char *dir)
{
    const char *said = getenv("MUSTER_SHARED_HOME");
    return (said && strcmp(said, "yes") == 0) || network_fs_of(dir) != NULL;
}

char *shared_home_local(struct err *err)
{
    AUTO_FREE char *path = mem_printf("/var/tmp/muster-%u", (unsigned)geteuid());
    struct stat st;
    if (lstat(path, &st) != 0) {
        if (errno == ENOENT)
            return TAKE(path);
        err_sys(err, "%s", path);
        return NULL;
    }
    if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077))
        return TAKE(path);
    err_set(err, ERR_DENIED, "%s is not a directory of yours alone", path);
    err_hint(err, "remove it, or set MUSTER_STATE_DIR to a directory on a disk of this machine");
    return NULL;
}

char *shared_home_host(void)
{
    char name[HOST_NAME_MAX + 1] = "";
    (void)gethostname(name, sizeof name - 1);
    return mem_strdup(name);
}

char *shared_home_of_job(char **id)
{
    const char *said = getenv("MUSTER_IN_JOB"), *dir = said ? strchr(said, ' ') : NULL;
    if (!dir || dir == said || dir[1] != '/')
        return NULL;
    if (id)
        *id = mem_strndup(said, (size_t)(dir - said));
    return mem_strdup(dir + 1);
}

char *shared_home_job_dir(const char *dir)
{
    AUTO_FREE char *script = mem_printf("%s/in-job/start.sh", dir);
    return access(script, F_OK) == 0 ? mem_printf("%s/in-job", dir) : NULL;
}

static const char *word_of(const struct text_node *root, const char *name)
{
    const struct text_node *node = text_get(root, name);
    return node && node->kind == TEXT_STR ? node->str : "";
}

static bool read_file(struct arena *a, const char *dir, struct shared_server *out)
{
    AUTO_FREE char *path = file_join(dir, NAME);
    AUTO_FREE char *text = NULL;
    struct stat st;
    size_t len;
    struct report report;
    report_init(&report, a);
    if (stat(path, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & 077) ||
        file_read(path, FILE_MAX, &text, &len, NULL) < 0)
        return false;
    const struct text_node *root = json_parse(a, text, len, 0, &report);
    if (!root)
        return false;
    *out = (struct shared_server){ .host = word_of(root, "host"),
                                   .address = word_of(root, "address"),
                                   .authority = arena_printf(a, "%s/%s", dir, TRUSTED),
                                   .token = word_of(root, "token"),
                                   .allocation = word_of(root, "allocation") };
    return *out->host;
}

static bool is_in_job(const struct shared_server *server)
{
    return server->allocation && *server->allocation;
}

/* Of several machines that begin at once the first has it; what is there of another one stays, but
 * that of an allocation when the next one begins. */
static int put_file(struct arena *a, const char *dir, const struct shared_server *server,
                    const struct buf *text, struct err *err)
{
    AUTO_FREE char *path = file_join(dir, NAME);
    AUTO_FREE char *own = mem_printf("%s.%s", path, server->host);
    struct shared_server other;
    if (file_replace(own, text->data, text->len, 0600, err) != 0)
        return -1;
    bool first = link(own, path) == 0;
    if (!first && read_file(a, dir, &other) && strcmp(other.host, server->host) != 0 &&
        !(is_in_job(server) && is_in_job(&other))) {
        err_set(err, ERR_CONFLICT, "your server is on %s", other.host);
        (void)err_remedy(err, REMEDY_SERVER_STOP);
    } else if (first || rename(own, path) == 0) {
        first = true;
    } else {
        err_sys(err, "%s", path);
    }
    (void)unlink(own);
    return first ? 0 : -1;
}

static int put_places(const char *dir, const struct shared_server *server, struct err *err)
{
    AUTO_FREE char *path = file_join(dir, SHARED_HOME_PLACES);
    AUTO_FREE char *line = server->places ? mem_printf("tcp=%s\n", server->places) : NULL;
    return line ? file_replace(path, line, strlen(line), 0600, err) : 0;
}

int shared_home_write(const char *dir, const struct shared_server *server, struct err *err)
{
    struct arena *a = arena_create();
    AUTO_FREE char *trusted = file_join(dir, TRUSTED);
    AUTO_BUF struct buf text = BUF_INIT(FILE_MAX);
    struct text_node *root = text_map(a, NULL, NULL);
    text_str(a, root, "host", server->host);
    text_str(a, root, "address", server->address);
    text_str(a, root, "token", server->token);
    if (is_in_job(server))
        text_str(a, root, "allocation", server->allocation);
    json_print(root, 2, &text);
    buf_putc(&text, '\n');
    bool done =
        file_mkdirs(dir, 0700, err) == 0 && put_file(a, dir, server, &text, err) == 0 &&
        file_replace(trusted, server->authority, strlen(server->authority), 0600, err) == 0 &&
        put_places(dir, server, err) == 0;
    arena_destroy(a);
    return done ? 0 : -1;
}

bool shared_home_read(struct arena *a, const char *dir, struct shared_server *out)
{
    struct shared_server found;
    AUTO_FREE char *here = shared_home_host();
    if (!read_file(a, dir, &found) || (!is_in_job(&found) && strcmp(found.host, here) == 0))
        return false;
    *out = found;
    return true;
}

bool shared_home_is_here(const char *dir)
{
    struct arena *a = arena_create();
    struct shared_server found;
    AUTO_FREE char *here = shared_home_host();
    bool is = read_file(a, dir, &found) && !is_in_job(&found) && strcmp(found.host, here) == 0;
    arena_destroy(a);
    return is;
}

void shared_home_give_up(const char *dir, const char *host)
{
    struct arena *a = arena_create();
    struct shared_server found;
    AUTO_FREE char *path = file_join(dir, NAME);
    if (read_file(a, dir, &found) && strcmp(found.host, host) == 0)
        (void)unlink(path);
    arena_destroy(a);
}

void shared_home_forget(const char *dir)
{
    AUTO_FREE char *here = shared_home_host();
    shared_home_give_up(dir, here);
}
