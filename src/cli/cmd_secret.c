/* muster secret: values that jobs get by name. A value comes from standard input or is typed
 * without being shown; it is never an argument, which others on the machine could read, and never
 * an answer.
 */
#include "cli/cmd.h"

#include "base/mem.h"
#include "base/opt.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/table.h"
#include "job/secret.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

struct secret_opts {
    struct common_opts common;
    const char *project, *user;
};

static const struct opt secret_opts[] = {
    { .name = "project",
      .type = OPT_STR,
      .offset = offsetof(struct secret_opts, project),
      .arg = "NAME",
      .help = "the project's, for jobs of all its members; default: your own" },
    { .name = "user",
      .type = OPT_STR,
      .offset = offsetof(struct secret_opts, user),
      .arg = "NAME",
      .help = "whose; default: your own, others' for admins" },
    COMMON_OPTS,
    OPT_END,
};

/* ---- the value ---- */

static size_t read_all(char *value, size_t room)
{
    size_t len = 0;
    while (len < room) {
        ssize_t n = read(STDIN_FILENO, value + len, room - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    return len;
}

/* Typed, one line. */
static size_t ask_for(const char *name, char *value, size_t room)
{
    struct termios was, quiet;
    bool tty = tcgetattr(STDIN_FILENO, &was) == 0;
    if (tty) {
        quiet = was;
        quiet.c_lflag &= ~(tcflag_t)ECHO;
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
    }
    fprintf(stderr, "value of %s (it is not shown): ", name); /* what was typed before is gone */
    fflush(stderr);
    size_t len = 0;
    while (len < room && read(STDIN_FILENO, value + len, 1) == 1 && value[len] != '\n')
        len++;
    if (tty)
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &was);
    fputc('\n', stderr);
    return len;
}

/* One line loses its end, as `echo` makes one; a text of several lines, or bytes, stay as they are.
 */
static size_t without_line_end(const char *value, size_t len)
{
    const char *end = memchr(value, '\n', len);
    return end && end == value + len - 1 ? len - 1 : len;
}

static void path_of(struct buf *path, const struct secret_opts *o, const char *name)
{
    if (name)
        call_path(path, "/v1/secrets/", name, NULL);
    else
        buf_puts(path, "/v1/secrets");
    call_query(path, "project", o->project);
    call_query(path, "owner", o->user);
}

static int set(struct cli *cli, const struct secret_opts *o, const char *name, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    const size_t room = SECRET_VALUE_MAX + 2; /* what is too large is seen to be */
    if (!secret_name_ok(name)) {
        err_set(err, ERR_INPUT, "\"%.80s\" is no name of a secret", name);
        return err_hint(err, "letters, digits, . _ -, as hf-token or db/password");
    }
    char *value = mem_new(room);
    bool typed = isatty(STDIN_FILENO) == 1;
    size_t len =
        typed ? ask_for(name, value, room) : without_line_end(value, read_all(value, room));
    path_of(&path, o, name);
    const struct call call = { .method = "PUT",
                               .path = buf_str(&path),
                               .body = value,
                               .len = len,
                               .type = "application/octet-stream" };
    const struct text_node *tree = call_send(cli, &call, err);
    explicit_bzero(value, room);
    free(value);
    if (!tree)
        return -1;
    if (cli->json)
        out_json(tree);
    else
        printf("%s\n", answer_text(tree, "name", name));
    return EXIT_OK;
}

/* ---- the others ---- */

static int drop(struct cli *cli, const struct secret_opts *o, int argc, char **argv,
                struct err *err)
{
    struct text_node *root = text_map(cli->arena, NULL, NULL);
    struct text_node *all = text_list(cli->arena, root, "changed");
    for (int i = 1; i < argc; i++) {
        AUTO_BUF struct buf path = BUF_INIT(4096);
        path_of(&path, o, argv[i]);
        const struct call call = { .method = "DELETE", .path = buf_str(&path) };
        const struct text_node *tree = call_send(cli, &call, err);
        if (!tree)
            return -1;
        text_copy(cli->arena, all, NULL, tree);
        if (!cli->json && !cli->quiet)
            printf("%s\n", argv[i]);
    }
    if (cli->json)
        out_json(root);
    return EXIT_OK;
}

static const char *date(struct arena *a, const struct text_node *map, const char *key)
{
    char text[FMT_MAX];
    uint64_t ms = text_number(map, key);
    return ms ? arena_strndup(a, fmt_time(text, ms), 16) : "never";
}

static const char *used(struct arena *a, const struct text_node *one)
{
    uint64_t job = text_number(one, "used_job");
    return job ? arena_printf(a, "%s, job %llu", date(a, one, "used_ms"), (unsigned long long)job)
               : "never";
}

static int list(struct cli *cli, const struct secret_opts *o, struct err *err)
{
    static const struct table_column columns[] = {
        { .title = "NAME" },
        { .title = "OF" },
        { .title = "SET", .go = 2 },
        { .title = "BY", .go = 3 },
        { .title = "LAST USED", .go = 1 },
    };
    AUTO_BUF struct buf path = BUF_INIT(4096), out = BUF_INIT(16u << 20);
    struct table table;
    path_of(&path, o, NULL);
    const struct text_node *tree = call_get(cli, buf_str(&path), err);
    if (!tree)
        return -1;
    if (cli->json) {
        out_json(tree);
        return EXIT_OK;
    }
    const struct text_node *all = text_get(tree, "secrets");
    table_init(&table, cli->arena, columns, ARRAY_LEN(columns), cli->wide);
    for (const struct text_node *one = all ? all->first : NULL; one; one = one->next) {
        const char *name = text_word(one, "name"), *project = answer_text(one, "project", NULL);
        if (cli->quiet) {
            buf_addf(&out, "%s\n", name);
            continue;
        }
        const char **row = table_row(&table);
        row[0] = name;
        row[1] =
            project ? arena_printf(cli->arena, "project %s", project) : text_word(one, "owner");
        row[2] = date(cli->arena, one, "changed_ms");
        row[3] = text_word(one, "by");
        row[4] = used(cli->arena, one);
    }
    if (!cli->quiet)
        table_print(&table, 0, cli->color, &out);
    out_buf(&out);
    return EXIT_OK;
}

static int run_secret(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct secret_opts *o = opts_;
    const char *verb = argc ? argv[0] : "ls";
    if (strcmp(verb, "ls") == 0)
        return cmd_operands(&cmd_secret, argc, 0, 1, err) < 0 ? -1 : list(cli, o, err);
    if (strcmp(verb, "rm") == 0)
        return cmd_operands(&cmd_secret, argc, 2, 1000, err) < 0 ? -1
                                                                 : drop(cli, o, argc, argv, err);
    if (strcmp(verb, "set") == 0 && argc > 2) {
        err_set(err, ERR_INPUT, "secret set takes a name, and no value behind it");
        return err_hint(err, "others could read it there: give it on standard input, or type it "
                             "when you are asked");
    }
    if (strcmp(verb, "set") == 0)
        return cmd_operands(&cmd_secret, argc, 2, 2, err) < 0 ? -1 : set(cli, o, argv[1], err);
    err_set(err, ERR_INPUT, "secret has no \"%.40s\"", verb);
    return err_hint(err, "%s", cmd_secret.subs);
}

static const char *const examples[] = {
    "muster secret set hf-token",
    "asks for the value and does not show it; again: another value",
    "muster secret set db/password <password.txt",
    "from a file; a single line loses its end. db/password is a member of the set db",
    "muster secret set wandb --project vision",
    "for the jobs of all members of vision",
    "muster secret ls",
    "names, by whom and when they were set, which job used them last; no values",
    "muster secret rm hf-token",
    "jobs that name it are refused from then on",
    NULL,
};
const struct cmd cmd_secret = {
    .name = "secret",
    .summary = "values that jobs get by name: set, list, remove",
    .operands = "set|ls|rm [NAME...]",
    .opts = secret_opts,
    .size = sizeof(struct secret_opts),
    .subs = "set ls rm",
    .examples = examples,
    .run = run_secret,
};
