/* From a launcher's line to settings of a job. The flags are parsed by the launcher's own table;
 * each is then in one of four fates: it is a setting of the job, it is for the launcher (and stays
 * on its line), it makes no sense inside a job (left out, with the reason), or the launcher itself
 * ignores or refuses it. */
#include "cli/launch_line.h"

#include "base/mem.h"
#include "base/scan.h"
#include "flags/flags.h"
#include "job/rendezvous.h"

#include <string.h>
#include <unistd.h>

enum { RANKS_MOST = 1024, RESTARTS_MOST = 1000000, SAID_MAX = 48 };

struct reading {
    struct arena *arena;
    const struct flags *flags;
    enum launch_name name;
    const struct launch_asked *asked;
    struct launch_line *out;
    bool ranks_on_line; /* --nproc-per-node stays there */
};

__attribute__((format(printf, 2, 3))) static void say(struct reading *r, const char *fmt, ...)
{
    AUTO_BUF struct buf text = BUF_INIT(2048);
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    if (r->out->said.n < SAID_MAX)
        r->out->said.at[r->out->said.n++] = arena_strdup(r->arena, buf_str(&text));
}

/* ---- which launcher ---- */

static const char *base_name(const char *word)
{
    const char *slash = strrchr(word, '/');
    return slash ? slash + 1 : word;
}

static bool is_python(const char *word)
{
    const char *name = base_name(word);
    return strncmp(name, "python", 6) == 0 && name[6 + strspn(name + 6, "0123456789.")] == '\0';
}

/* The program that a launcher of that path would give its ranks: the one beside it. */
static const char *python_beside(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    const char *python = arena_printf(a, "%.*s/python", (int)(slash - path), path);
    return access(python, X_OK) == 0 ? python : NULL;
}

struct found {
    enum launch_name name;
    int words; /* of argv that name it */
    const char *python;
    bool legacy; /* torch.distributed.launch */
};

static bool find_module(int argc, char **argv, struct found *found)
{
    static const struct {
        const char *module;
        enum launch_name name;
    } modules[] = { { "torch.distributed.run", LAUNCH_TORCHRUN },
                    { "torch.distributed.launch", LAUNCH_TORCHRUN },
                    { "muster.launch", LAUNCH_MUSTER } };
    int at = 1;
    while (at < argc && strcmp(argv[at], "-u") == 0) /* tasks are unbuffered by themselves */
        at++;
    if (at + 1 >= argc || strcmp(argv[at], "-m") != 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(modules); i++)
        if (strcmp(argv[at + 1], modules[i].module) == 0) {
            bool plain = strcmp(argv[0], "python") == 0 || strcmp(argv[0], "python3") == 0;
            *found = (struct found){ .name = modules[i].name,
                                     .words = at + 2,
                                     .python = plain ? NULL : argv[0],
                                     .legacy = i == 1 };
            return true;
        }
    return false;
}

static bool find_launcher(struct arena *a, int argc, char **argv, struct found *found)
{
    const char *name = base_name(argv[0]);
    *found = (struct found){ .words = 1, .python = python_beside(a, argv[0]) };
    if (strcmp(name, "torchrun") == 0) {
        found->name = LAUNCH_TORCHRUN;
        return true;
    }
    if (strcmp(name, "dlrover-run") == 0) {
        found->name = LAUNCH_DLROVER_RUN;
        return true;
    }
    if (strcmp(name, "muster") == 0 && argc > 1 && strcmp(argv[1], "launch") == 0) {
        *found = (struct found){ .name = LAUNCH_MUSTER, .words = 2 };
        return true;
    }
    return is_python(argv[0]) && find_module(argc, argv, found);
}

/* ---- settings of the job ---- */

static int read_nodes(struct reading *r, struct err *err)
{
    struct launch_line *out = r->out;
    uint32_t asked = (uint32_t)r->asked->replicas;
    out->min = out->max = asked ? asked : 1;
    if (!flags_given(r->flags, "nnodes"))
        return 0;
    if (flags_nnodes(r->flags, r->arena, RDZV_MAX_MEMBERS, &out->min, &out->max, err) < 0)
        return -1;
    if (asked && (asked != out->max || asked != out->min)) {
        err_set(err, ERR_INPUT, "--replicas %u and --nnodes=%s are not the same", asked,
                flags_text(r->flags, "nnodes"));
        return err_hint(err, "leave one of them out: each node of the line is one task");
    }
    return 0;
}

/* A whole number of devices or cores that was asked for beside the line; else 0. */
static uint32_t whole(const char *text)
{
    uint64_t n;
    return text && scan_u64(text, 1, RANKS_MOST, &n) ? (uint32_t)n : 0;
}

static int read_ranks(struct reading *r, struct err *err)
{
    static const char *const kinds[] = { "auto", "cpu", "gpu", "xpu" };
    const char *text = flags_text(r->flags, "nproc-per-node");
    struct launcher *l = &r->out->settings;
    uint32_t gpus = whole(r->asked->gpu), cpus = whole(r->asked->cpu);
    uint64_t n = 0;
    bool cpu = strcmp(text, "cpu") == 0, automatic = strcmp(text, "auto") == 0, word = false;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        word = word || strcmp(text, kinds[i]) == 0;
    if (!word && !scan_u64(text, 1, RANKS_MOST, &n)) {
        err_set(err, ERR_INPUT, "--nproc-per-node is \"%.60s\"", text);
        return err_hint(err, "a number of ranks of each node from 1 to %u, or auto, cpu, gpu, xpu",
                        RANKS_MOST);
    }
    if (gpus && ((word && !cpu) || flags_on(r->flags, "auto-config")))
        n = gpus;
    else if (cpu || automatic)
        n = cpus;
    if (word && !n && !cpu && !automatic) {
        err_set(err, ERR_INPUT, "--nproc-per-node=%s: how many devices is not said", text);
        return err_hint(err, "--gpu N before the \"--\": N devices for each task, and N ranks");
    }
    r->ranks_on_line = !n;
    l->has_ranks_per_node = n > 0;
    l->ranks_per_node = (uint32_t)n;
    if (!n)
        say(r,
            "one rank for each %s of the node a task runs on; --gpu N or --cpu N before the "
            "\"--\" says how many",
            cpu ? "core" : "device or core");
    return 0;
}

static int read_number(struct reading *r, const char *flag, uint64_t least, uint64_t most,
                       uint32_t *n, struct err *err)
{
    uint64_t value;
    if (!scan_u64(flags_text(r->flags, flag), least, most, &value)) {
        err_set(err, ERR_INPUT, "--%s is \"%.60s\"", flag, flags_text(r->flags, flag));
        return err_hint(err, "a whole number from %llu to %llu", (unsigned long long)least,
                        (unsigned long long)most);
    }
    *n = (uint32_t)value;
    return 0;
}

static int read_settings(struct reading *r, struct err *err)
{
    struct launcher *l = &r->out->settings;
    l->has_max_restarts = flags_given(r->flags, "max-restarts");
    l->has_node_unit = flags_given(r->flags, "node-unit");
    l->node_check =
        flags_on(r->flags, "network-check") || strcmp(flags_text(r->flags, "precheck"), "1") == 0;
    if (flags_on(r->flags, "auto-config")) /* as dlrover-run does, from four nodes on */
        l->node_check = l->node_check || r->out->max >= 4;
    if (read_ranks(r, err) < 0 ||
        (l->has_max_restarts &&
         read_number(r, "max-restarts", 0, RESTARTS_MOST, &l->max_restarts, err) < 0) ||
        (l->has_node_unit &&
         read_number(r, "node-unit", 1, RDZV_MAX_MEMBERS, &l->node_unit, err) < 0))
        return -1;
    if (l->has_node_unit && l->node_unit > r->out->max) {
        err_set(err, ERR_INPUT, "--node-unit=%u is more than the %u nodes of --nnodes",
                l->node_unit, r->out->max);
        return err_hint(err, "no round could ever begin; a unit of at most %u", r->out->max);
    }
    if (!job_launcher_set(l))
        r->out->convention = r->name == LAUNCH_DLROVER_RUN ? "dlrover" : "torchrun";
    return 0;
}

/* ---- what stays on the line ---- */

static bool is_setting(const struct reading *r, const char *flag)
{
    static const char *const taken[] = { "nnodes", "max-restarts", "node-unit", "network-check",
                                         "auto-config" };
    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        if (strcmp(flag, taken[i]) == 0)
            return true;
    if (strcmp(flag, "precheck") == 0)
        return strcmp(flags_text(r->flags, flag), "2") != 0;
    return strcmp(flag, "nproc-per-node") == 0 && !r->ranks_on_line;
}

/* Why the flag is of no use inside a job, or NULL. */
static const char *senseless(const struct reading *r, const char *flag)
{
    static const char meet[] = "launchers of a job meet through the server";
    static const struct {
        const char *flag, *why;
        bool alone; /* a single node may say it */
    } rows[] = {
        { .flag = "node-rank", .why = "the node rank is the task's index" },
        { .flag = "standalone", .why = "the job has several nodes", .alone = true },
        { .flag = "rdzv-backend", .why = meet },
        { .flag = "rdzv-endpoint", .why = meet },
        { .flag = "master-addr", .why = meet },
        { .flag = "master-port", .why = "the server chooses the port", .alone = true },
        { .flag = "local-addr", .why = "the server knows the address of each task" },
        { .flag = "rdzv-token", .why = "only tasks of the job reach its rendezvous" },
        { .flag = "strict-quorum", .why = "the server decides, no two halves can go on" },
    };
    const char *conf = flags_text(r->flags, "rdzv-conf");
    if (conf && strstr(conf, "meet=endpoint")) /* insists on it */
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].flag, flag) == 0)
            return rows[i].alone && r->out->max == 1 ? NULL : rows[i].why;
    return NULL;
}

static int keep_flags(struct reading *r, struct err *err)
{
    struct words *argv = &r->out->argv;
    for (unsigned i = 0; i < flag_table_n; i++) {
        const struct flag *f = &flag_table[i];
        if (!flags_given(r->flags, f->name))
            continue;
        if (f->fate == FLAG_REFUSED) {
            err_set(err, ERR_INPUT, "--%s is refused", f->name);
            return err_hint(err, "%s", f->why);
        }
        const char *why = senseless(r, f->name);
        if (f->fate == FLAG_NO_EFFECT)
            say(r, "--%s is left out, it has no effect: %s", f->name, f->why);
        else if (why)
            say(r, "--%s is left out: %s", f->name, why);
        if (f->fate == FLAG_NO_EFFECT || why || is_setting(r, f->name))
            continue;
        const char *value = f->takes_value ? flags_text(r->flags, f->name) : NULL;
        argv->at[argv->n++] = value ? arena_printf(r->arena, "--%s=%s", f->name, value)
                                    : arena_printf(r->arena, "--%s", f->name);
    }
    return 0;
}

/* Reached by these names in every task whose launcher is muster's. */
static const char *program(enum launch_name name)
{
    return name == LAUNCH_MUSTER ? "muster-launch" : launch_name_word(name);
}

int launch_line_read(struct arena *a, int argc, char **argv, const struct launch_asked *asked,
                     struct launch_line *out, struct err *err)
{
    struct found found;
    struct flags *flags = NULL;
    *out = (struct launch_line){ .said = { .at = ARENA_ARRAY(a, SAID_MAX, const char *) } };
    struct reading r = { .arena = a, .asked = asked, .out = out };
    if (!find_launcher(a, argc, argv, &found))
        return 0;
    if (found.legacy) {
        say(&r, "torch.distributed.launch is run as it is, by its own flags and addresses; a line "
                "of torchrun becomes tasks that meet through the server");
        return 0;
    }
    char **line = argv + found.words - 1; /* line[0] stands for the name */
    int n = argc - found.words + 1, rc = flags_of_line(a, found.name, n, line, &flags, err);
    if (rc > 0) {
        err_set(err, ERR_INPUT, "--help is for a terminal, not for a job");
        return err_hint(err, "muster launch --help");
    }
    r.flags = flags;
    r.name = found.name;
    if (rc < 0 || read_nodes(&r, err) < 0 || read_settings(&r, err) < 0)
        return -1;
    int rest = flags_rest(flags);
    out->argv.at = ARENA_ARRAY(a, (size_t)(n - rest) + flag_table_n + 1, const char *);
    out->argv.at[out->argv.n++] = program(found.name);
    if (keep_flags(&r, err) < 0)
        return -1;
    for (int i = rest; i < n; i++)
        out->argv.at[out->argv.n++] = line[i];
    out->script = line[rest];
    out->python = found.python;
    return 1;
}
