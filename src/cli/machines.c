/* A machine is looked at before the server hears of it, so that what cannot be reached leaves no
 * row there; its token is made last, and goes by ssh alone. Each step can be done again. */
#include "cli/machines.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/machine_steps.h"
#include "cli/output.h"
#include "cli/tunnels.h"
#include "cli/workers.h"
#include "text/json.h"
#include "wire/gateway.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define CONNECT_S    15u
#define IDLE_S       60u    /* of a step there */
#define APPEAR_MS    20000u /* for the host to connect */
#define LOOK_MS      200
#define NEWS_MS      1000
#define NAME_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
#define NAMES_MAX    32 /* machines of one server */

struct machines_call {
    struct cli *cli;
    const struct machines_opts *opts;
    const char **to;    /* for ssh: "me@gpu2" */
    const char **names; /* of nodes: "gpu2" */
    size_t n;
    const char *program;     /* muster-node, of add */
    bool ask;                /* one machine and a terminal */
    struct text_node *list;  /* of results, for --json */
    struct tunnels *tunnels; /* of add, where machines cannot dial; NULL */
};

/* ---- what was typed ---- */

bool machines_takes(const char *sub, const char *option)
{
    static const struct {
        const char *sub, *options[9];
    } rows[] = {
        { "add", { "ssh", "address", "label", "dir", "dial", "tunnel", "wait", "force" } },
        { "rm", { "ssh", "dir", "force", "keep" } },
        { "fence", { "reason" } },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t j = 0; rows[i].options[j] && strcmp(rows[i].sub, sub) == 0; j++)
            if (strcmp(rows[i].options[j], option) == 0)
                return true;
    return false;
}

static bool is_name(const char *text, size_t len)
{
    return len > 0 && len < 64 && strspn(text, NAME_LETTERS) >= len && *text != '-' && *text != '.';
}

static int take_names(struct machines_call *call, int n, char **given, struct err *err)
{
    struct arena *arena = call->cli->arena;
    call->to = ARENA_ARRAY(arena, (size_t)n + 1, const char *);
    call->names = ARENA_ARRAY(arena, (size_t)n + 1, const char *);
    if (n > NAMES_MAX) {
        err_set(err, ERR_INPUT, "%d machines are more than the %d that a server takes", n,
                NAMES_MAX);
        return err_hint(err, "for more, Slurm or Kubernetes does better: see doc/machines.md");
    }
    for (int i = 0; i < n; i++) {
        const char *at = strchr(given[i], '@'), *name = at ? at + 1 : given[i];
        if (!is_name(name, strlen(name)) || (at && !is_name(given[i], (size_t)(at - given[i])))) {
            err_set(err, ERR_INPUT, "\"%.80s\" is no name of a machine", given[i]);
            return err_hint(err,
                            "letters, digits, \".\", \"_\" and \"-\", as ssh knows it: gpu2 or "
                            "me@gpu2; ports and keys belong into ~/.ssh/config or --ssh");
        }
        for (size_t j = 0; j < call->n; j++)
            if (strcmp(call->names[j], name) == 0)
                return err_set(err, ERR_INPUT, "%s stands there twice", name);
        call->to[call->n] = given[i];
        call->names[call->n++] = name;
    }
    return 0;
}

static int check_labels(const struct opt_list *labels, struct err *err)
{
    for (size_t i = 0; i < labels->n; i++) {
        const char *text = labels->at[i], *equals = strchr(text, '=');
        bool good = equals && equals > text && equals - text < 64 && strlen(equals) <= 256 &&
                    strspn(text, NAME_LETTERS "/") >= (size_t)(equals - text) &&
                    scan_utf8(text, strlen(text));
        for (const char *c = text; *c && good; c++)
            good = (unsigned char)*c >= ' ' && *c != 0x7f;
        if (good)
            continue;
        err_set(err, ERR_INPUT, "--label \"%.80s\" is no NAME=VALUE in one line", text);
        return err_hint(err, "--label rack=r1");
    }
    return 0;
}

/* host.conf takes numbers alone: a name would be looked up by whoever holds the machine's resolver.
 */
static int check_dial(const char *dial, struct err *err)
{
    const char *colon = dial ? strrchr(dial, ':') : NULL;
    uint64_t port;
    if (!dial || (colon && colon > dial && scan_u64(colon + 1, 1, 65535, &port) &&
                  strspn(dial, "0123456789abcdefABCDEF.:[]%") == strlen(dial)))
        return 0;
    err_set(err, ERR_INPUT, "--dial \"%.80s\" is no numeric ADDRESS:PORT", dial);
    return err_hint(err, "--dial 10.0.0.1:6879");
}

static int check_opts(const struct machines_call *call, struct err *err)
{
    const struct machines_opts *o = call->opts;
    size_t n;
    if (o->ssh && !ssh_words(call->cli->arena, o->ssh, 0, &n, err))
        return -1;
    if (o->address && call->n > 1) {
        err_set(err, ERR_INPUT, "--address is of one machine, and %zu are named", call->n);
        return err_hint(err, "add them one by one");
    }
    if (o->dir && (!*o->dir || strchr(o->dir, '\n')))
        return err_set(err, ERR_INPUT, "--dir is no directory");
    if (o->tunnel > 65535)
        return err_set(err, ERR_INPUT, "--tunnel %llu is no port", (unsigned long long)o->tunnel);
    if (o->tunnel && o->dial) {
        err_set(err, ERR_INPUT, "--dial and --tunnel are two ways to the server");
        return err_hint(err, "leave one out");
    }
    return check_dial(o->dial, err) < 0 ? -1 : check_labels(&o->labels, err);
}

/* ---- one machine ---- */

static const char *dir_of(const struct machines_call *call, size_t i)
{
    return call->opts->dir ? call->opts->dir
                           : arena_printf(call->cli->arena, ".muster/%s", call->names[i]);
}

static int open_there(const struct machines_call *call, size_t i, struct machine *m,
                      struct err *err)
{
    const struct ssh_config config = { .command = call->opts->ssh ? call->opts->ssh : "ssh",
                                       .to = call->to[i],
                                       .ask = call->ask,
                                       .connect_s = CONNECT_S,
                                       .idle_s = IDLE_S };
    m->arena = call->cli->arena;
    m->dir = dir_of(call, i);
    m->ssh = ssh_open(m->arena, &config, err);
    return m->ssh ? 0 : -1;
}

/* Through a tunnel it seems to come from the server's own machine. */
static const char *address_of(const struct machines_call *call, const struct machine *m)
{
    if (call->opts->address)
        return call->opts->address;
    return call->opts->tunnel ? m->own : "";
}

/* {"name", "token", "server", "pin"} */
static const struct text_node *make_row(const struct machines_call *call, size_t i,
                                        const struct machine *m, struct err *err)
{
    struct arena *arena = call->cli->arena;
    AUTO_BUF struct buf body = BUF_INIT(256 << 10);
    struct text_node *tree = text_map(arena, NULL, NULL), *labels;
    text_str(arena, tree, "name", call->names[i]);
    text_str(arena, tree, "address", address_of(call, m));
    labels = text_map(arena, tree, "labels");
    for (size_t j = 0; j < call->opts->labels.n; j++) {
        const char *text = call->opts->labels.at[j], *equals = strchr(text, '=');
        text_str(arena, labels, arena_strndup(arena, text, (size_t)(equals - text)), equals + 1);
    }
    json_print(tree, 0, &body);
    return call_send(call->cli,
                     &(struct call){ .method = "POST",
                                     .path = "/v1/machines",
                                     .type = "application/json",
                                     .body = body.data,
                                     .len = body.len },
                     err);
}

/* The places of the answer as that machine can dial them. */
static int take_places(const struct machines_call *call, const struct machine *m,
                       const struct text_node *row, struct machine_conf *conf, struct err *err)
{
    const struct text_node *list = text_get(row, "server");
    const char **places = ARENA_ARRAY(m->arena, (list ? list->count : 0) + 1, const char *);
    conf->places = places;
    const char *given = call->opts->tunnel
                            ? arena_printf(m->arena, "127.0.0.1:%u", (unsigned)call->opts->tunnel)
                            : call->opts->dial;
    if (given)
        places[conf->n_places++] = given;
    for (const struct text_node *n = list && !given ? list->first : NULL; n; n = n->next) {
        const char *place = n->str ? machine_place(m->arena, n->str, m->client) : NULL;
        if (place && conf->n_places < 8)
            places[conf->n_places++] = place;
    }
    if (conf->n_places)
        return 0;
    err_set(err, ERR_CANNOT, "the server does not say where machines reach it");
    return err_hint(err, "say so: --dial ADDRESS:PORT");
}

static int configure(const struct machines_call *call, size_t i, struct machine *m,
                     struct worker_report *to, struct err *err)
{
    const struct text_node *row = make_row(call, i, m, err);
    if (!row)
        return -1;
    struct machine_conf conf = { .pin = text_word(row, "pin"),
                                 .token = text_word(row, "token"),
                                 .node = answer_text(row, "name", call->names[i]),
                                 .labels = &call->opts->labels,
                                 .force = call->opts->force };
    AUTO_BUF struct buf places = BUF_INIT(4096);
    if (!*conf.pin || !*conf.token)
        return err_set(err, ERR_SYSTEM, "the server's answer has no token and pin");
    if (take_places(call, m, row, &conf, err) < 0)
        return -1;
    for (size_t j = 0; j < conf.n_places; j++)
        buf_addf(&places, "%s%s", j ? " " : "", conf.places[j]);
    worker_set(to, "dials", buf_str(&places));
    return machine_configure(m, &conf, err);
}

static const struct text_node *find_row(const struct text_node *list, const char *name)
{
    const struct text_node *rows =
        list && list->kind == TEXT_MAP ? text_get(list, "machines") : list;
    for (const struct text_node *n = rows ? rows->first : NULL; n; n = n->next)
        if (strcmp(text_word(n, "name"), name) == 0)
            return n;
    return NULL;
}

static bool is_connected(const struct machines_call *call, size_t i, struct err *err)
{
    const struct text_node *list = call_get(call->cli, "/v1/machines", err);
    return strcmp(text_word(find_row(list, call->names[i]), "state"), "connected") == 0;
}

/* The host itself is asked why not, and what it said last is handed on. */
static int await(const struct machines_call *call, size_t i, struct machine *m, struct err *err)
{
    struct err ignored;
    const char *lines = "";
    bool lives = true;
    const uint64_t most = call->opts->wait_ms ? call->opts->wait_ms : APPEAR_MS;
    for (uint64_t from = clock_mono_ms(), looked = from, now = from; now - from < most && lives;
         now = clock_mono_ms()) {
        if (is_connected(call, i, &ignored))
            return 0;
        poll(NULL, 0, LOOK_MS);
        if (now - looked < NEWS_MS)
            continue;
        looked = now;
        if (machine_news(m, &lines, &lives, err) < 0)
            return -1;
    }
    err_set(err, ERR_UNAVAILABLE, "the machine was set up and has not connected: %.170s",
            machine_why(m->arena, lines, lives));
    return err_hint(err,
                    "it has to reach the server there (a firewall, another address? --dial "
                    "ADDRESS:PORT); it goes on trying; its log: %.60s/host.log",
                    m->dir);
}

/* All else works there. */
static void note_length(struct worker_report *to, const struct machine *m, const char *node)
{
    size_t len = strlen(m->dir), most = gateway_dir_most(node);
    if (len > most)
        worker_note(to, arena_printf(m->arena,
                                     "programs of tasks cannot ask the server from there: the path "
                                     "of its directory has %zu bytes, and sockets in it leave room "
                                     "for %zu; choose a shorter one with --dir",
                                     len, most));
}

static int set_up(const struct machines_call *call, size_t i, struct machine *m,
                  struct worker_report *to, struct err *err)
{
    worker_at(to, "looking");
    if (machine_look(m, err) < 0)
        return -1;
    worker_set(to, "dir", m->dir);
    note_length(to, m, call->names[i]);
    worker_set(to, "program", m->has_program ? "same" : "copied");
    worker_at(to, "copying muster-node");
    if (machine_copy(m, err) < 0)
        return -1;
    worker_at(to, "starting its host");
    if (configure(call, i, m, to, err) < 0 || machine_start(m, err) < 0)
        return -1;
    worker_set(to, "kept_by", m->kept);
    if (m->nolinger)
        worker_note(to, arena_printf(m->arena,
                                     "its services end when %s logs out; an administrator changes "
                                     "that there: loginctl enable-linger %s",
                                     m->nolinger, m->nolinger));
    if (strcmp(m->kept, "process") == 0)
        worker_note(to, arena_printf(m->arena,
                                     "no services of users there: to have it start at boot, add to "
                                     "crontab -e there: @reboot %s/start",
                                     m->dir));
    worker_at(to, "waiting for it to connect");
    return await(call, i, m, err);
}

static int add_one(void *arg, size_t i, struct worker_report *to, struct err *err)
{
    const struct machines_call *call = arg;
    struct machine m = { .program_fd = -1, .any_architecture = call->opts->force };
    worker_at(to, "connecting");
    m.arena = call->cli->arena;
    if (machine_program(&m, call->program, err) < 0)
        return -1;
    int rc = open_there(call, i, &m, err);
    if (rc == 0)
        rc = set_up(call, i, &m, to, err);
    ssh_close(m.ssh);
    close(m.program_fd);
    return rc;
}

/* ---- away ---- */

/* A machine that the server does not know may still have a directory: rm again mends. */
static int delete_row(const struct machines_call *call, size_t i, struct worker_report *to,
                      struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    call_path(&path, "/v1/machines/", call->names[i], "");
    if (call->opts->force)
        call_query(&path, "force", "1");
    if (call_send(call->cli, &(struct call){ .method = "DELETE", .path = buf_str(&path) }, err))
        return 0;
    if (err->code != ERR_NOT_FOUND)
        return -1;
    worker_note(to, "the server knew no such machine");
    return 0;
}

static int leave(const struct machines_call *call, size_t i, struct worker_report *to,
                 struct err *err)
{
    struct machine m = { .program_fd = -1 };
    const char *what;
    if (open_there(call, i, &m, err) < 0)
        return -1;
    int rc = machine_leave(&m, &what, err);
    ssh_close(m.ssh);
    if (rc == 0)
        worker_note(to, what);
    return rc;
}

static int remove_one(void *arg, size_t i, struct worker_report *to, struct err *err)
{
    const struct machines_call *call = arg;
    struct err there;
    worker_at(to, "removing it from the server");
    if (delete_row(call, i, to, err) < 0)
        return -1;
    if (call->opts->keep)
        return 0;
    worker_at(to, "ending its host");
    if (leave(call, i, to, &there) == 0)
        return 0;
    err_set(err, there.code,
            "the server has it no more, but %.60s and its host are left there: %.150s",
            dir_of(call, i), there.what);
    return err_hint(err, "%.199s", *there.hint ? there.hint : "remove it again, or by hand there");
}

/* ---- results ---- */

static void add_json(const struct machines_call *call, const struct worker_result *r,
                     const char *did)
{
    struct arena *arena = call->cli->arena;
    struct text_node *row = text_map(arena, call->list, NULL);
    text_str(arena, row, "name", r->name);
    text_bool(arena, row, "ok", r->ok);
    if (r->ok)
        text_str(arena, row, "state", did);
    text_pairs(arena, row, &r->values);
    struct text_node *notes = text_list(arena, row, "notes");
    for (size_t i = 0; i < r->notes.n; i++)
        text_str(arena, notes, NULL, r->notes.at[i].name);
    if (r->ok)
        return;
    text_str(arena, row, "while", r->at);
    text_str(arena, row, "error", r->what);
    text_str(arena, row, "hint", r->hint);
}

static void print_result(const struct machines_call *call, const struct worker_result *r,
                         const char *did, const char *more)
{
    struct cli *cli = call->cli;
    if (cli->json) {
        add_json(call, r, did);
        return;
    }
    if (!r->ok) {
        fflush(stdout);
        fprintf(stderr, "%s: %s%s%s\n", r->name, r->what, *r->hint ? "\n  " : "", r->hint);
        return;
    }
    if (cli->quiet) {
        printf("%s\n", r->name);
        return;
    }
    printf("%s  %s%s%s%s\n", r->name, cli->color ? "\033[32m" : "", did,
           cli->color ? "\033[0m" : "", more);
    for (size_t i = 0; i < r->notes.n; i++)
        printf("  %s\n", r->notes.at[i].name);
    fflush(stdout);
}

static void on_added(void *arg, const struct worker_result *r)
{
    const struct machines_call *call = arg;
    const char *program = pairs_get(&r->values, "program"), *dir = pairs_get(&r->values, "dir");
    bool same = program && strcmp(program, "same") == 0;
    print_result(call, r, "connected",
                 arena_printf(call->cli->arena, " (%s%s)", dir ? dir : "",
                              same ? ", muster-node was there" : ""));
    for (size_t i = 0; call->tunnels && !r->ok && i < call->n; i++)
        if (strcmp(call->names[i], r->name) == 0)
            tunnels_drop(call->tunnels, i);
}

static void on_removed(void *arg, const struct worker_result *r)
{
    const struct machines_call *call = arg;
    print_result(call, r, "removed",
                 call->opts->keep ? " from the server; the machine is as it was" : "");
}

static int run_call(struct machines_call *call,
                    int (*work)(void *, size_t, struct worker_report *, struct err *),
                    void (*done)(void *, const struct worker_result *), struct err *err)
{
    struct arena *arena = call->cli->arena;
    struct text_node *root = text_map(arena, NULL, NULL);
    call->list = text_list(arena, root, "machines");
    call->ask = call->n == 1 && isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
    const struct work_list list = { .cli = call->cli,
                                    .names = call->names,
                                    .n = call->n,
                                    .work = work,
                                    .done = done,
                                    .arg = call };
    int failed = workers_run(&list, err);
    if (failed < 0)
        return -1;
    if (call->cli->json)
        out_json(root);
    return failed ? EXIT_FOUND : EXIT_OK;
}

/* list: what the server says of machines. */
static int open_tunnels(struct machines_call *call, const struct text_node *list, struct err *err)
{
    const struct text_node *places = text_get(list, "server"),
                           *first = places ? places->first : NULL;
    if (!first || !first->str) {
        err_set(err, ERR_CANNOT, "the server has no port for machines");
        return err_hint(err, "start it with --agents 127.0.0.1:6879, if all of them come by ssh");
    }
    const struct tunnels_config config = {
        .ssh = call->opts->ssh ? call->opts->ssh : "ssh",
        .to = call->to,
        .names = call->names,
        .n = call->n,
        .port = (uint16_t)call->opts->tunnel,
        .place = machine_place(call->cli->arena, first->str, "127.0.0.1"),
    };
    call->tunnels = tunnels_open(call->cli->arena, &config, err);
    return call->tunnels ? 0 : -1;
}

/* For as long as this command runs. */
static void keep_tunnels(const struct machines_call *call)
{
    if (!call->cli->quiet)
        fprintf(stderr, "the way by ssh is kept until this command ends (Ctrl-C); then they are "
                        "down, and what runs there goes on\n");
    fflush(NULL);
    tunnels_wait();
}

int add_machines(struct cli *cli, const struct machines_opts *opts, int n, char **names,
                 struct err *err)
{
    struct machines_call call = { .cli = cli, .opts = opts };
    if (take_names(&call, n, names, err) < 0 || check_opts(&call, err) < 0)
        return -1;
    call.program = cli->host->node_program(cli->arena, err);
    if (!call.program)
        return -1;
    /* No server, or one that takes no machines: before any is looked at. */
    const struct text_node *list = call_get(cli, "/v1/machines", err);
    if (!list) {
        if (err->code != ERR_NOT_FOUND)
            return -1;
        err_set(err, ERR_CANNOT, "the server takes no machines");
        return err_hint(err, "it is of an older version: start it anew with this one");
    }
    if (opts->tunnel && open_tunnels(&call, list, err) < 0)
        return -1;
    int rc = run_call(&call, add_one, on_added, err);
    if (call.tunnels && rc >= 0 && tunnels_left(call.tunnels))
        keep_tunnels(&call);
    tunnels_close(call.tunnels);
    return rc;
}

int remove_machines(struct cli *cli, const struct machines_opts *opts, int n, char **names,
                    struct err *err)
{
    struct machines_call call = { .cli = cli, .opts = opts };
    if (take_names(&call, n, names, err) < 0 || check_opts(&call, err) < 0)
        return -1;
    return run_call(&call, remove_one, on_removed, err);
}

int fence_machines(struct cli *cli, const struct machines_opts *opts, int n, char **names,
                   struct err *err)
{
    struct machines_call call = { .cli = cli, .opts = opts };
    AUTO_BUF struct buf path = BUF_INIT(4096), body = BUF_INIT(64 << 10);
    struct text_node *tree = text_map(cli->arena, NULL, NULL);
    if (take_names(&call, n, names, err) < 0)
        return -1;
    if (!opts->reason || !*opts->reason) {
        err_set(err, ERR_INPUT, "fence needs --reason TEXT");
        return err_hint(err, "say how you know that nothing lives there: --reason 'powered off'");
    }
    text_str(cli->arena, tree, "reason", opts->reason);
    json_print(tree, 0, &body);
    call_path(&path, "/v1/machines/", call.names[0], "/fence");
    const struct text_node *answer = call_send(cli,
                                               &(struct call){ .method = "POST",
                                                               .path = buf_str(&path),
                                                               .type = "application/json",
                                                               .body = body.data,
                                                               .len = body.len },
                                               err);
    if (!answer)
        return -1;
    if (cli->json)
        out_json(answer);
    else
        printf("%s%s\n", call.names[0],
               cli->quiet ? "" : "  is known to be dead; its tasks may start elsewhere");
    return EXIT_OK;
}
