/* Steps are text for the shell there: assignments, each value one word in single quotes, and a
 * call. The functions go once, with the first. Kinds of failure are closed: a table says what to
 * do. */
#include "cli/machine_steps.h"

#include "base/mem.h"
#include "base/shell_word.h"
#include "cli/machine_sh.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#define STEP_MAX    (256u << 10)
#define PROGRAM_MAX (1u << 30)
#define SPARE_KIB   (64u << 10) /* beside the program: logs and what comes first */

static const struct {
    const char *kind, *what, *hint; /* %s: the detail */
} failures[] = {
    { "home", "the account has no home directory there (%s)", "give a directory with --dir" },
    { "letters", "\"%s\" has letters that no unit file takes",
      "choose another directory with --dir" },
    { "tool", "the machine lacks %s", "install coreutils (or busybox) there" },
    { "mkdir", "%s cannot be made there", "choose a directory of that account with --dir" },
    { "write", "nothing can be written to %s there: it is full, or not the account's",
      "make room, or choose another directory with --dir" },
    { "noexec", "programs in %s may not run there (mounted noexec?)",
      "choose a directory on another file system with --dir" },
    { "short", "muster-node came to %s in another form than it was sent", "add it again" },
    { "program", "muster-node does not run there, in %s",
      "is that machine's system Linux of the same architecture?" },
    { "taken", "the host of another server runs there, in %s",
      "choose another directory with --dir, or take the machine over with --force" },
    { "stays", "the host there (process %s) does not end", "look at it there: is its disk gone?" },
    { "others", "something else lies in %s there", "choose an empty directory with --dir" },
    { "foreign", "%s there is not of muster", "give the directory that it was added with: --dir" },
    { "remains", "not all of %s could be removed", "remove the rest there" },
};

static void put_value(struct buf *step, const char *name, const char *value)
{
    buf_addf(step, "%s=", name);
    shell_word(step, value);
    buf_putc(step, '\n');
}

static int say_failure(const char *said, struct err *err)
{
    size_t len = strcspn(said, " ");
    const char *detail = said[len] ? said + len + 1 : "";
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        if (strlen(failures[i].kind) != len || memcmp(failures[i].kind, said, len) != 0)
            continue;
        const char *at = strstr(failures[i].what, "%s");
        err_set(err, ERR_CANNOT, "%.*s%.150s%s", (int)(at - failures[i].what), failures[i].what,
                detail, at + 2);
        return err_hint(err, "%s", failures[i].hint);
    }
    return err_set(err, ERR_CANNOT, "the machine says: %.150s", said);
}

static int do_step(struct machine *m, const struct buf *step, const struct ssh_data *data,
                   struct buf *out, struct err *err)
{
    int status;
    if (step->overflow)
        return err_set(err, ERR_TOO_LARGE, "that is more than %u bytes for one machine", STEP_MAX);
    if (ssh_step(m->ssh, buf_str(step), data, out, &status, err) < 0)
        return -1;
    const char *failed = ssh_value(m->arena, out, "error");
    if (failed)
        return say_failure(failed, err);
    return status ? err_set(err, ERR_CANNOT, "a step failed there with status %d", status) : 0;
}

int machine_program(struct machine *m, const char *path, struct err *err)
{
    struct stat st;
    unsigned char piece[65536], sum[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof sum + 1];
    crypto_hash_sha256_state state;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, "%s", path);
    if (st.st_size <= 0 || st.st_size > PROGRAM_MAX)
        return err_set(err, ERR_CANNOT, "%s is no program that can be copied", path);
    crypto_hash_sha256_init(&state);
    for (off_t at = 0; at < st.st_size;) {
        ssize_t n = pread(fd, piece, sizeof piece, at);
        if (n <= 0)
            return err_sys(err, "%s", path);
        crypto_hash_sha256_update(&state, piece, (unsigned long long)n);
        at += n;
    }
    crypto_hash_sha256_final(&state, sum);
    sodium_bin2hex(hex, sizeof hex, sum, sizeof sum);
    m->hash = arena_strdup(m->arena, hex);
    m->program_size = (uint64_t)st.st_size;
    m->program_fd = mem_give_fd(&fd);
    return 0;
}

/* Names that differ for one architecture. */
static const char *architecture(const char *name)
{
    return strcmp(name, "amd64") == 0 ? "x86_64" : strcmp(name, "arm64") == 0 ? "aarch64" : name;
}

static int check_system(struct machine *m, const struct buf *out, struct err *err)
{
    struct utsname here;
    const char *kernel = ssh_value(m->arena, out, "system"),
               *cpu = ssh_value(m->arena, out, "machine");
    if (!kernel || !cpu || uname(&here) < 0)
        return 0;
    if (strcmp(kernel, "Linux") != 0) {
        err_set(err, ERR_CANNOT, "the machine runs %.60s", kernel);
        return err_hint(err, "nodes are machines with Linux");
    }
    if (strcmp(architecture(cpu), architecture(here.machine)) == 0)
        return 0;
    err_set(err, ERR_CANNOT, "the machine is %.40s, and the muster-node here is for %s", cpu,
            here.machine);
    return err_hint(err, "add it from a computer of its kind, or name a muster-node for it in "
                         "MUSTER_NODE_PROGRAM and give --force");
}

static int check_space(struct machine *m, const struct buf *out, struct err *err)
{
    const char *text = ssh_value(m->arena, out, "free");
    unsigned long long need = m->program_size / 1024 + SPARE_KIB,
                       kib = text ? strtoull(text, NULL, 10) : need;
    if (m->has_program || kib >= need)
        return 0;
    err_set(err, ERR_CANNOT, "%s has %llu MiB left there, and %llu are needed", m->dir, kib >> 10,
            need >> 10);
    return err_hint(err, "make room, or choose another directory with --dir");
}

int machine_look(struct machine *m, struct err *err)
{
    AUTO_BUF struct buf step = BUF_INIT(STEP_MAX), out = BUF_INIT(STEP_MAX);
    struct err other;
    buf_add(&step, machine_sh, machine_sh_len);
    put_value(&step, "dir", m->dir);
    put_value(&step, "hash", m->hash);
    buf_puts(&step, "look");
    int rc = do_step(m, &step, NULL, &out, err);
    /* The reason behind what failed first. */
    if (!m->any_architecture && check_system(m, &out, &other) < 0) {
        *err = other;
        return -1;
    }
    if (rc < 0)
        return -1;
    const char *dir = ssh_value(m->arena, &out, "dir"),
               *client = ssh_value(m->arena, &out, "client"),
               *own = ssh_value(m->arena, &out, "own");
    if (!dir)
        return err_set(err, ERR_CANNOT, "the shell there does not do what it is told");
    m->dir = dir;
    m->client = client ? client : "";
    m->own = own ? own : "";
    m->has_program = ssh_value(m->arena, &out, "program") != NULL;
    return check_space(m, &out, err);
}

int machine_copy(struct machine *m, struct err *err)
{
    AUTO_BUF struct buf step = BUF_INIT(STEP_MAX), out = BUF_INIT(STEP_MAX);
    if (m->has_program)
        return 0;
    buf_addf(&step, "size=%llu\ntake", (unsigned long long)m->program_size);
    const struct ssh_data data = { .fd = m->program_fd, .size = m->program_size };
    return do_step(m, &step, &data, &out, err);
}

int machine_configure(struct machine *m, const struct machine_conf *conf, struct err *err)
{
    AUTO_BUF struct buf step = BUF_INIT(STEP_MAX), out = BUF_INIT(STEP_MAX),
                        text = BUF_INIT(STEP_MAX);
    buf_puts(&text, "tcp=");
    for (size_t i = 0; i < conf->n_places; i++)
        buf_addf(&text, "%s%s", i ? "," : "", conf->places[i]);
    buf_addf(&text, "\npin=%s\ntoken=%s\nnode=%s\n", conf->pin, conf->token, conf->node);
    for (size_t i = 0; conf->labels && i < conf->labels->n; i++)
        buf_addf(&text, "label=%s\n", conf->labels->at[i]);
    put_value(&step, "pin", conf->pin);
    put_value(&step, "force", conf->force ? "1" : "0");
    put_value(&step, "conf", buf_str(&text));
    buf_puts(&step, "configure");
    int rc = do_step(m, &step, NULL, &out, err);
    sodium_memzero(step.data, step.len);
    sodium_memzero(text.data, text.len);
    return rc;
}

int machine_start(struct machine *m, struct err *err)
{
    AUTO_BUF struct buf step = BUF_INIT(STEP_MAX), out = BUF_INIT(STEP_MAX);
    buf_puts(&step, "start");
    if (do_step(m, &step, NULL, &out, err) < 0)
        return -1;
    const char *kept = ssh_value(m->arena, &out, "kept");
    m->kept = kept ? kept : "process";
    m->nolinger = ssh_value(m->arena, &out, "nolinger");
    return 0;
}

int machine_news(struct machine *m, const char **lines, bool *lives, struct err *err)
{
    AUTO_BUF struct buf step = BUF_INIT(STEP_MAX), out = BUF_INIT(STEP_MAX);
    buf_puts(&step, "news");
    if (do_step(m, &step, NULL, &out, err) < 0)
        return -1;
    *lives = ssh_value(m->arena, &out, "lives") != NULL;
    *lines = arena_strdup(m->arena, buf_str(&out));
    return 0;
}

int machine_leave(struct machine *m, const char **what, struct err *err)
{
    AUTO_BUF struct buf step = BUF_INIT(STEP_MAX), out = BUF_INIT(STEP_MAX);
    buf_add(&step, machine_sh, machine_sh_len);
    put_value(&step, "dir", m->dir);
    buf_puts(&step, "leave");
    if (do_step(m, &step, NULL, &out, err) < 0)
        return -1;
    const char *absent = ssh_value(m->arena, &out, "absent"),
               *removed = ssh_value(m->arena, &out, "removed");
    *what = absent ? arena_printf(m->arena, "nothing was left in %s there", absent)
                   : arena_printf(m->arena, "%s there is removed", removed ? removed : m->dir);
    return 0;
}

/* ---- why not ---- */

const char *machine_why(struct arena *arena, const char *log, bool lives)
{
    const char *last = "";
    for (const char *at = log; *at;) {
        size_t n = strcspn(at, "\n");
        if (n > 4 && memcmp(at, "log ", 4) == 0)
            last = arena_printf(arena, "%.*s", (int)(n - 4 > 300 ? 300 : n - 4), at + 4);
        at += n + (at[n] != '\0');
    }
    if (!lives)
        return arena_printf(arena, "its host has ended%s%s", *last ? ": " : "", last);
    return *last ? arena_printf(arena, "its host says: %s", last) : "its host has said nothing yet";
}

const char *machine_place(struct arena *arena, const char *place, const char *client)
{
    static const char *const all[] = { "0.0.0.0:", "[::]:", "*:" };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (strncmp(place, all[i], strlen(all[i])) != 0)
            continue;
        const char *port = place + strlen(all[i]);
        if (!*client)
            return NULL;
        return arena_printf(arena, strchr(client, ':') ? "[%s]:%s" : "%s:%s", client, port);
    }
    return place;
}
