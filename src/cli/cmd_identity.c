/* muster user, key, token: who may use this server, and with what. Each is one request and a table
 * or a line; secrets are printed once, when they are made. */
#include "cli/cmd.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/table.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

#define PASSWORD_MAX 1024

struct identity_opts {
    struct common_opts common;
    const char *role, *user, *label, *email, *account, *password_file;
    uint64_t expires_ms;
    struct opt_list projects;
    bool disabled, enabled;
};

#define TEXT_OPT(key, member, form, text)                                                          \
    {                                                                                              \
        .name = key, .type = OPT_STR, .offset = offsetof(struct identity_opts, member),            \
        .arg = form, .help = text                                                                  \
    }

static const struct opt user_opts[] = {
    TEXT_OPT("role", role, "ROLE", "reader, user (what add gives) or admin"),
    { .name = "project",
      .type = OPT_LIST,
      .offset = offsetof(struct identity_opts, projects),
      .arg = "NAME",
      .help = "whose jobs it may read; may be repeated, \"\" for none" },
    TEXT_OPT("email", email, "TEXT", "shown to others who ask"),
    TEXT_OPT("account", account, "NAME",
             "account of this machine that the jobs run as; default: the one of the same name"),
    TEXT_OPT(
        "password-file", password_file, "FILE",
        "first line: a password for clients that log in; - is standard input. Another one ends "
        "the user's tokens, streams and pages"),
    { .name = "disabled",
      .type = OPT_FLAG,
      .offset = offsetof(struct identity_opts, disabled),
      .help = "of set: may do nothing any more; tokens end, keys rest, jobs go on" },
    { .name = "enabled",
      .type = OPT_FLAG,
      .offset = offsetof(struct identity_opts, enabled),
      .help = "of set: may again" },
    COMMON_OPTS,
    OPT_END,
};
static const struct opt key_opts[] = {
    TEXT_OPT("user", user, "NAME", "whose; default: your own"),
    TEXT_OPT("label", label, "TEXT", "what it is for"),
    COMMON_OPTS,
    OPT_END,
};
static const struct opt token_opts[] = {
    TEXT_OPT("user", user, "NAME", "whose; default: your own"),
    TEXT_OPT("label", label, "TEXT", "what it is for"),
    { .name = "expires",
      .type = OPT_DURATION,
      .offset = offsetof(struct identity_opts, expires_ms),
      .arg = "TIME",
      .help = "30d, 12h; default: never" },
    COMMON_OPTS,
    OPT_END,
};

/* ---- what all three do ---- */

static struct text_node *send(struct cli *cli, const char *method, const char *path,
                              const struct text_node *body, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(1u << 20);
    struct call call = { .method = method, .path = path };
    if (body) {
        json_print(body, 0, &text);
        call.body = buf_str(&text);
        call.len = text.len;
    }
    return call_send(cli, &call, err);
}

/* method FIXED name REST of each operand; the answers' names, or {list: [...]}. */
static int each(struct cli *cli, const struct call *to, int argc, char **argv, struct err *err)
{
    struct text_node *root = text_map(cli->arena, NULL, NULL);
    struct text_node *all = text_list(cli->arena, root, "changed");
    for (int i = 1; i < argc; i++) {
        AUTO_BUF struct buf path = BUF_INIT(4096);
        call_path(&path, to->path, argv[i], to->file);
        const struct text_node *tree = send(cli, to->method, buf_str(&path), NULL, err);
        if (!tree)
            return -1;
        text_copy(cli->arena, all, NULL, tree);
        if (!cli->json && !cli->quiet)
            printf("%s\n", answer_text(tree, "id", answer_text(tree, "name", argv[i])));
    }
    if (cli->json)
        out_json(root);
    return EXIT_OK;
}

static const char *date(struct arena *a, const struct text_node *map, const char *key,
                        const char *none)
{
    char text[FMT_MAX];
    uint64_t ms = text_number(map, key);
    return ms ? arena_strndup(a, fmt_time(text, ms), 10) : none;
}

static const char *joined(struct arena *a, const struct text_node *list)
{
    AUTO_BUF struct buf text = BUF_INIT(64 << 10);
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        buf_addf(&text, "%s%s", text.len ? "," : "", one->str ? one->str : "");
    return arena_strdup(a, buf_str(&text));
}

enum kind { USER, KEY, TOKEN };
static const struct table_column columns[][7] = {
    [USER] = { { .title = "USER" },
               { .title = "ROLE" },
               { .title = "PROJECTS" },
               { .title = "ACCOUNT" },
               { .title = "E-MAIL", .wide = true },
               { .title = "PASSWORD", .wide = true },
               { .title = "SINCE" } },
    [KEY] = { { .title = "ID" },
              { .title = "USER" },
              { .title = "LABEL" },
              { .title = "MADE" },
              { .title = "USED" },
              { .title = "STATE" } },
    [TOKEN] = { { .title = "ID" },
                { .title = "USER" },
                { .title = "LABEL" },
                { .title = "MADE" },
                { .title = "EXPIRES" } },
};

static void fill(struct arena *a, enum kind kind, const struct text_node *one, const char **row)
{
    if (kind == USER) {
        row[0] = text_word(one, "name");
        row[1] = arena_printf(a, "%s%s", text_word(one, "role"),
                              text_flag(one, "disabled") ? ", disabled" : "");
        row[2] = joined(a, text_get(one, "projects"));
        row[3] = text_word(one, "account");
        row[4] = text_word(one, "email");
        row[5] = text_flag(one, "has_password") ? "yes" : "no";
        row[6] = date(a, one, "created_ms", "");
        return;
    }
    row[0] = text_word(one, "id");
    row[1] = text_word(one, "owner");
    row[2] = text_word(one, "label");
    row[3] = date(a, one, "created_ms", "");
    row[4] =
        kind == KEY ? answer_text(one, "used_day", "never") : date(a, one, "expires_ms", "never");
    if (kind == KEY)
        row[5] = text_flag(one, "disabled") ? "disabled" : "good";
}

static int list(struct cli *cli, enum kind kind, const char *owner, struct err *err)
{
    static const char *const paths[] = { "/v1/users", "/v1/keys", "/v1/tokens" };
    static const char *const keys[] = { "users", "keys", "tokens" };
    AUTO_BUF struct buf path = BUF_INIT(4096), out = BUF_INIT(16u << 20);
    struct table table;
    size_t n_columns = 0;
    buf_puts(&path, paths[kind]);
    call_query(&path, "owner", owner);
    const struct text_node *tree = call_get(cli, buf_str(&path), err);
    if (!tree)
        return -1;
    if (cli->json) {
        out_json(tree);
        return EXIT_OK;
    }
    const struct text_node *all = text_get(tree, keys[kind]);
    while (n_columns < ARRAY_LEN(columns[kind]) && columns[kind][n_columns].title)
        n_columns++;
    table_init(&table, cli->arena, columns[kind], n_columns, cli->wide);
    for (const struct text_node *one = all ? all->first : NULL; one; one = one->next) {
        if (cli->quiet)
            buf_addf(&out, "%s\n", text_word(one, kind == USER ? "name" : "id"));
        else
            fill(cli->arena, kind, one, table_row(&table));
    }
    if (!cli->quiet)
        table_print(&table, 0, cli->color, &out);
    out_buf(&out);
    return EXIT_OK;
}

static int unknown(const struct cmd *cmd, const char *verb, struct err *err)
{
    err_set(err, ERR_INPUT, "%s has no \"%.40s\"", cmd->name, verb);
    return err_hint(err, "%s", cmd->subs);
}

static void put_text(struct arena *a, struct text_node *map, const char *key, const char *value)
{
    if (value)
        text_str(a, map, key, value);
}

/* ---- users ---- */

static int add_password(struct cli *cli, const char *file, struct text_node *body, struct err *err)
{
    AUTO_FREE char *text = NULL;
    size_t len;
    if (!file)
        return 0;
    if (file_read(file, PASSWORD_MAX, &text, &len, err) < 0)
        return -1;
    text[strcspn(text, "\r\n")] = '\0';
    if (!*text)
        return err_set(err, ERR_INPUT, "%s holds no password", file);
    text_str(cli->arena, body, "password", text);
    return 0;
}

/* Who adds a user is told what the jobs of that user can do. */
static void warn_shared(struct cli *cli)
{
    struct err err;
    const struct text_node *s = call_get(cli, "/v1/server", &err);
    if (s && !cli->quiet && strcmp(text_word(s, "jobs_run_as"), "shared") == 0)
        fprintf(stderr,
                "note: everybody's jobs run as %s and can do all that %s may "
                "(shared_account)\n",
                text_word(s, "user"), text_word(s, "user"));
}

static int put_user(struct cli *cli, const struct identity_opts *o, const char *name, bool create,
                    struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    struct text_node *body = text_map(cli->arena, NULL, NULL);
    if (create) {
        buf_puts(&path, "/v1/users");
        text_str(cli->arena, body, "name", name);
    } else {
        call_path(&path, "/v1/users/", name, NULL);
    }
    put_text(cli->arena, body, "role", o->role);
    put_text(cli->arena, body, "email", o->email);
    put_text(cli->arena, body, "account", o->account);
    struct text_node *projects = o->projects.n ? text_list(cli->arena, body, "projects") : NULL;
    for (size_t i = 0; i < o->projects.n; i++)
        if (*o->projects.at[i])
            text_str(cli->arena, projects, NULL, o->projects.at[i]);
    if (o->disabled && o->enabled)
        return err_set(err, ERR_INPUT, "--disabled and --enabled exclude each other");
    if (o->disabled || o->enabled)
        text_bool(cli->arena, body, "disabled", o->disabled);
    if (add_password(cli, o->password_file, body, err) < 0)
        return -1;
    const struct text_node *tree = send(cli, create ? "POST" : "PATCH", buf_str(&path), body, err);
    if (!tree)
        return -1;
    if (create)
        warn_shared(cli);
    if (cli->json)
        out_json(tree);
    else if (cli->quiet)
        printf("%s\n", name);
    else
        printf("%s  %s%s%s%s\n", name, text_word(tree, "role"),
               text_flag(tree, "disabled") ? ", disabled" : "",
               text_get(tree, "projects")->count ? ", reads jobs of " : "",
               joined(cli->arena, text_get(tree, "projects")));
    return EXIT_OK;
}

static int run_user(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct identity_opts *o = opts_;
    const char *verb = argc ? argv[0] : "ls";
    if (strcmp(verb, "ls") == 0)
        return cmd_operands(&cmd_user, argc, 0, 1, err) < 0 ? -1 : list(cli, USER, NULL, err);
    if (strcmp(verb, "add") == 0 || strcmp(verb, "set") == 0)
        return cmd_operands(&cmd_user, argc, 2, 2, err) < 0
                   ? -1
                   : put_user(cli, o, argv[1], verb[0] == 'a', err);
    if (strcmp(verb, "rm") == 0 && cmd_operands(&cmd_user, argc, 2, 1000, err) == 0)
        return each(cli, &(struct call){ .method = "DELETE", .path = "/v1/users/" }, argc, argv,
                    err);
    return strcmp(verb, "rm") == 0 ? -1 : unknown(&cmd_user, verb, err);
}

static const char *const user_examples[] = {
    "muster user add alice",
    "may submit, and commands her own jobs",
    "muster user add bob --role reader --project vision",
    "reads the jobs of vision, and his own",
    "muster user set alice --password-file -",
    "for clients that log in with a name and a password",
    "muster user set alice --disabled",
    "until --enabled: she is not let in, her tokens and open streams end",
    "muster user ls",
    "",
    "muster user rm bob",
    "with his keys and tokens; his jobs stay",
    NULL,
};
const struct cmd cmd_user = {
    .name = "user",
    .summary = "who may use this server: add, change, list, remove",
    .operands = "add|set|ls|rm [NAME...]",
    .opts = user_opts,
    .size = sizeof(struct identity_opts),
    .subs = "add set ls rm",
    .examples = user_examples,
    .run = run_user,
};

/* ---- keys and tokens ---- */

static int create(struct cli *cli, enum kind kind, const struct identity_opts *o, struct err *err)
{
    struct text_node *body = text_map(cli->arena, NULL, NULL);
    put_text(cli->arena, body, "owner", o->user);
    put_text(cli->arena, body, "label", o->label);
    if (o->expires_ms)
        text_int(cli->arena, body, "expires_s", (int64_t)((o->expires_ms + 999) / 1000));
    const struct text_node *tree =
        send(cli, "POST", kind == KEY ? "/v1/keys" : "/v1/tokens", body, err);
    if (!tree)
        return -1;
    if (cli->json) {
        out_json(tree);
    } else if (kind == KEY) {
        printf(cli->quiet ? "%s %s\n" : "id      %s\nsecret  %s\n", text_word(tree, "id"),
               text_word(tree, "secret"));
    } else {
        printf("%s\n", text_word(tree, "token"));
    }
    fflush(stdout);
    if (!cli->json && !cli->quiet)
        fprintf(stderr, "(of %s; it is not shown again)\n", answer_text(tree, "owner", "?"));
    return EXIT_OK;
}

static int run_key(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct identity_opts *o = opts_;
    const char *verb = argc ? argv[0] : "ls";
    static const struct {
        const char *verb, *method, *rest;
    } changes[] = { { "rm", "DELETE", NULL },
                    { "disable", "POST", "/disable" },
                    { "enable", "POST", "/enable" } };
    if (strcmp(verb, "ls") == 0)
        return cmd_operands(&cmd_key, argc, 0, 1, err) < 0 ? -1 : list(cli, KEY, o->user, err);
    if (strcmp(verb, "create") == 0)
        return cmd_operands(&cmd_key, argc, 1, 1, err) < 0 ? -1 : create(cli, KEY, o, err);
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        struct call to = { .method = changes[i].method,
                           .path = "/v1/keys/",
                           .file = changes[i].rest };
        if (strcmp(verb, changes[i].verb) == 0)
            return cmd_operands(&cmd_key, argc, 2, 1000, err) < 0 ? -1
                                                                  : each(cli, &to, argc, argv, err);
    }
    return unknown(&cmd_key, verb, err);
}

static const char *const key_examples[] = {
    "muster key create --label laptop",
    "an id and a secret for clients that sign their requests",
    "muster key create --user alice",
    "an admin, for somebody else",
    "muster key ls",
    "",
    "muster key disable LTAI...",
    "it signs nothing until: muster key enable LTAI...",
    NULL,
};
const struct cmd cmd_key = {
    .name = "key",
    .summary = "access keys for clients that sign: create, list, disable, remove",
    .operands = "create|ls|disable|enable|rm [ID...]",
    .opts = key_opts,
    .size = sizeof(struct identity_opts),
    .subs = "create ls disable enable rm",
    .examples = key_examples,
    .run = run_key,
};

static int run_token(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct identity_opts *o = opts_;
    const char *verb = argc ? argv[0] : "ls";
    if (strcmp(verb, "ls") == 0)
        return cmd_operands(&cmd_token, argc, 0, 1, err) < 0 ? -1 : list(cli, TOKEN, o->user, err);
    if (strcmp(verb, "create") == 0)
        return cmd_operands(&cmd_token, argc, 1, 1, err) < 0 ? -1 : create(cli, TOKEN, o, err);
    if (strcmp(verb, "rm") == 0 && cmd_operands(&cmd_token, argc, 2, 1000, err) == 0)
        return each(cli, &(struct call){ .method = "DELETE", .path = "/v1/tokens/" }, argc, argv,
                    err);
    return strcmp(verb, "rm") == 0 ? -1 : unknown(&cmd_token, verb, err);
}

static const char *const token_examples[] = {
    "muster token create --expires 30d --label ci",
    "a text for MUSTER_TOKEN or \"Authorization: Bearer\"",
    "muster token create --user alice",
    "an admin, for somebody else",
    "muster token ls",
    "",
    "muster token rm 3f0a...",
    "it is good for nothing from then on",
    NULL,
};
const struct cmd cmd_token = {
    .name = "token",
    .summary = "bearer tokens: create, list, revoke",
    .operands = "create|ls|rm [ID...]",
    .opts = token_opts,
    .size = sizeof(struct identity_opts),
    .subs = "create ls rm",
    .examples = token_examples,
    .run = run_token,
};
