/* torchrun, dlrover-run, muster launch. The flags are parsed by the launcher's own table; each is
 * then in one of four fates: it is a setting of the job, it is for the launcher (and stays on its
 * line), it makes no sense inside a job (left out, with the reason), or the launcher itself ignores
 * or refuses it. */
#include "cli/line/torchrun.h"

#include "base/mem.h"
#include "base/scan.h"
#include "cli/line/number.h"
#include "flags/flags.h"
#include "job/rendezvous.h"

#include <string.h>

enum { RESTARTS_MOST = 1000000 };

struct reading {
    struct line_reader *line;
    struct arena *arena;
    const struct flags *flags;
    enum launch_name name;
    const struct line_request *asked;
    struct line_job *out;
    bool ranks_on_line; /* --nproc-per-node stays there */
};

/* ---- which launcher ---- */

static int find_launcher(struct line_reader *line, enum launch_name *name, const char **python)
{
    static const struct {
        const char *program, *module;
        enum launch_name name;
    } rows[] = { { "torchrun", "torch.distributed.run", LAUNCH_TORCHRUN },
                 { "dlrover-run", NULL, LAUNCH_DLROVER_RUN },
                 { NULL, "muster.launch", LAUNCH_MUSTER } };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int words = line_program(line, rows[i].program, rows[i].module, python);
        *name = rows[i].name;
        if (words)
            return words;
    }
    *name = LAUNCH_MUSTER;
    *python = NULL;
    bool muster = strcmp(line_base_name(line->argv[0]), "muster") == 0;
    return muster && line->argc > 1 && strcmp(line->argv[1], "launch") == 0 ? 2 : 0;
}

/* ---- settings of the job ---- */

static int read_nodes(struct reading *r, struct err *err)
{
    struct line_job *out = r->out;
    uint32_t asked = (uint32_t)r->asked->replicas;
    out->min = out->max = asked ? asked : 1;
    if (!flags_given(r->flags, "nnodes"))
        return 0;
    if (flags_nnodes(r->flags, r->arena, RDZV_MAX_MEMBERS, &out->min, &out->max, err) < 0) {
        err->code = ERR_INPUT; /* a launcher would fail late; here nothing has begun */
        return -1;
    }
    if (asked && (asked != out->max || asked != out->min)) {
        err_set(err, ERR_INPUT, "--replicas %u and --nnodes=%s are not the same", asked,
                flags_text(r->flags, "nnodes"));
        return err_hint(err, "leave one of them out: each node of the line is one task");
    }
    return 0;
}

static int read_ranks(struct reading *r, struct err *err)
{
    static const char *const kinds[] = { "auto", "cpu", "gpu", "xpu" };
    const char *text = flags_text(r->flags, "nproc-per-node");
    struct launcher *l = &r->out->settings;
    uint32_t gpus = line_whole(r->asked->gpu), cpus = line_whole(r->asked->cpu);
    uint64_t n = 0;
    bool cpu = strcmp(text, "cpu") == 0, automatic = strcmp(text, "auto") == 0, word = false;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        word = word || strcmp(text, kinds[i]) == 0;
    if (!word && !scan_u64(text, 1, LINE_RANKS_MOST, &n)) {
        err_set(err, ERR_INPUT, "--nproc-per-node is \"%.60s\"", text);
        return err_hint(err, "a number of ranks of each node from 1 to %u, or auto, cpu, gpu, xpu",
                        LINE_RANKS_MOST);
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
        line_say(r->line,
                 "one rank for each %s of the node a task runs on; --gpu N or --cpu N before the "
                 "\"--\" says how many",
                 cpu ? "core" : "device or core");
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
        (l->has_max_restarts && line_number("--max-restarts", flags_text(r->flags, "max-restarts"),
                                            0, RESTARTS_MOST, &l->max_restarts, err) < 0) ||
        (l->has_node_unit && line_number("--node-unit", flags_text(r->flags, "node-unit"), 1,
                                         RDZV_MAX_MEMBERS, &l->node_unit, err) < 0))
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

static int keep_flags(struct reading *r, struct words *argv, struct err *err)
{
    for (unsigned i = 0; i < flag_table_n; i++) {
        const struct flag *f = &flag_table[i];
        if (!flags_given(r->flags, f->name) ||
            (f->fate == FLAG_REFUSED && flags_is_default(r->flags, f->name)))
            continue;
        if (f->fate == FLAG_REFUSED) {
            err_set(err, ERR_INPUT, "--%s is refused", f->name);
            return err_hint(err, "%s", f->why);
        }
        const char *why = senseless(r, f->name);
        if (f->fate == FLAG_NO_EFFECT)
            line_say(r->line, "--%s is left out, it has no effect: %s", f->name, f->why);
        else if (why)
            line_say(r->line, "--%s is left out: %s", f->name, why);
        if (f->fate == FLAG_NO_EFFECT || why || is_setting(r, f->name))
            continue;
        const char *value = f->takes_value ? flags_text(r->flags, f->name) : NULL;
        argv->at[argv->n++] = value ? arena_printf(r->arena, "--%s=%s", f->name, value)
                                    : arena_printf(r->arena, "--%s", f->name);
    }
    return 0;
}

/* Reached by these names in every task whose launcher is muster's. Behind a wrapper that puts
 * programs of its own first, only one of them is muster's for sure. */
static const char *program(const struct reading *r)
{
    bool any = r->name == LAUNCH_MUSTER || r->line->own_path;
    return any ? "muster-launch" : launch_name_word(r->name);
}

static int read_flags(struct reading *r, int n, char **line, struct err *err)
{
    struct flags *flags = NULL;
    int rc = flags_of_line(r->arena, r->name, n, line, &flags, err);
    if (rc > 0) {
        err_set(err, ERR_INPUT, "--help is for a terminal, not for a job");
        return err_remedy(err, REMEDY_LAUNCH_HELP);
    }
    r->flags = flags;
    return rc < 0 || read_nodes(r, err) < 0 || read_settings(r, err) < 0 ? -1 : 0;
}

int line_torchrun(struct line_reader *line, struct err *err)
{
    struct reading r = {
        .line = line, .arena = line->arena, .asked = line->asked, .out = line->out
    };
    const char *python;
    int words = find_launcher(line, &r.name, &python);
    if (!words)
        return 0;
    char **argv = line->argv + words - 1; /* argv[0] stands for the name */
    int n = line->argc - words + 1;
    if (read_flags(&r, n, argv, err) < 0)
        return -1;
    int rest = flags_rest(r.flags);
    struct words kept = { .at = ARENA_ARRAY(r.arena, (size_t)(n - rest) + flag_table_n + 1,
                                            const char *) };
    kept.at[kept.n++] = program(&r);
    if (keep_flags(&r, &kept, err) < 0)
        return -1;
    for (int i = rest; i < n; i++)
        kept.at[kept.n++] = argv[i];
    line_keep(line, kept.at, kept.n);
    r.out->kind = LINE_TASKS;
    r.out->ranks = r.out->settings.has_ranks_per_node ? r.out->settings.ranks_per_node : 0;
    line_starts(line, rest + words - 1);
    r.out->python = python;
    return 1;
}
