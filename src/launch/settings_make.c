/* From flags and environment to what the launcher does: every value checked, every default
 * decided, everything that will not happen said once. */
#include "launch/settings_make.h"

#include "base/mem.h"
#include "base/scan.h"
#include "flags/flags.h"
#include "launch/devices.h"
#include "launch/flag_lists.h"
#include "launch/rdzv_conf.h"
#include "launch/rdzv_settings.h"

#include <string.h>

#define RANKS_MAX    1024u
#define RESTARTS_MAX 1000000u

struct making {
    struct settings *s;
    struct arena *arena;
    struct flags *flags;
    struct rdzv_conf conf;
};

static void say(void *settings, const char *sentence)
{
    const struct settings *s = settings;
    fprintf(stderr, "%s: %s\n", launch_name_word(s->name), sentence);
}

/* A whole number of a flag. */
static int number(const struct making *m, const char *flag, uint64_t least, uint64_t most,
                  uint64_t *out, struct err *err)
{
    const char *text = flags_text(m->flags, flag);
    if (scan_u64(text, least, most, out))
        return 0;
    int64_t whole;
    /* argparse's type=int takes any number; torchrun looks at its size later. */
    err_set(err, scan_i64(text, INT64_MIN, INT64_MAX, &whole) ? ERR_LATE : ERR_INPUT,
            "%s is \"%.60s\"", flags_source(m->flags, m->arena, flag), text);
    return err_hint(err, "a whole number from %llu to %llu", (unsigned long long)least,
                    (unsigned long long)most);
}

/* ---- how many ---- */

static int count_devices(const char *kind, uint32_t *n, struct err *err)
{
    if (strcmp(kind, "cpu") == 0) {
        *n = devices_cores();
    } else if (strcmp(kind, "gpu") == 0) {
        *n = devices_cuda("");
        if (*n == 0) {
            err_set(err, ERR_LATE, "--nproc-per-node=gpu: Cuda is not available.");
            return err_hint(err,
                            "no NVIDIA or AMD device is in /dev, or CUDA_VISIBLE_DEVICES hides "
                            "them; a number, or auto, works without");
        }
    } else if (strcmp(kind, "xpu") == 0) {
        *n = devices_xpu("");
        if (*n == 0) {
            err_set(err, ERR_LATE, "--nproc-per-node=xpu: Xpu is not available.");
            return err_hint(err, "no Intel device is in /sys/class/drm; a number, or auto, works "
                                 "without");
        }
    } else {
        uint32_t cuda = devices_cuda(""), xpu = cuda ? 0 : devices_xpu("");
        *n = cuda ? cuda : xpu ? xpu : devices_cores();
    }
    return 0;
}

static int read_nproc(struct making *m, struct err *err)
{
    static const char *const kinds[] = { "auto", "cpu", "gpu", "xpu" };
    const char *text = flags_text(m->flags, "nproc-per-node");
    uint64_t n;
    int64_t whole;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(text, kinds[i]) == 0) {
            if (count_devices(text, &m->s->ranks, err) < 0)
                return -1;
            m->s->ranks = m->s->ranks < RANKS_MAX ? m->s->ranks : RANKS_MAX;
            return 0;
        }
    if (scan_u64(text, 1, RANKS_MAX, &n)) {
        m->s->ranks = (uint32_t)n;
        return 0;
    }
    err_set(err, ERR_LATE, "%s is \"%.60s\"", flags_source(m->flags, m->arena, "nproc-per-node"),
            text);
    const char *near = scan_nearest(text, kinds, ARRAY_LEN(kinds));
    if (near && !scan_i64(text, INT64_MIN, INT64_MAX, &whole))
        return err_hint(err, "%s?", near);
    return err_hint(err, "a number of ranks on this node from 1 to %u, or auto, cpu, gpu, xpu",
                    RANKS_MAX);
}

/* dlrover-run --auto-config: the scheduler said how many nodes, the machine how many ranks. */
static int auto_config(struct making *m, struct err *err)
{
    const char *text = getenv("NODE_NUM");
    uint64_t n = 1;
    struct settings *s = m->s;
    if (!flags_on(m->flags, "auto-config"))
        return 0;
    if (text && *text && !scan_u64(text, 1, RDZV_MAX_MEMBERS, &n)) {
        err_set(err, ERR_LATE, "--auto-config: NODE_NUM is \"%.60s\"", text);
        return err_hint(err, "a number of nodes from 1, or leave --auto-config away");
    }
    uint32_t devices = devices_cuda("");
    s->rdzv.min = s->rdzv.max = (uint32_t)n;
    s->ranks = devices ? devices : s->ranks;
    s->rdzv.check = s->rdzv.check || n >= 4;
    return 0;
}

static int read_terms(struct making *m, struct err *err)
{
    struct rdzv_settings *t = &m->s->rdzv;
    bool dlrover = m->s->name == LAUNCH_DLROVER_RUN;
    uint64_t unit, restarts;
    const char *level = flags_text(m->flags, "precheck");
    t->check_bandwidth = flags_on(m->flags, "comm-perf-test") || strcmp(level, "2") == 0;
    t->check = t->check_bandwidth || flags_on(m->flags, "network-check") || strcmp(level, "0") != 0;
    t->exclude_straggler = flags_on(m->flags, "exclude-straggler");
    if (flags_nnodes(m->flags, m->arena, RDZV_MAX_MEMBERS, &t->min, &t->max, err) < 0 ||
        read_nproc(m, err) < 0 || auto_config(m, err) < 0 ||
        number(m, "node-unit", 1, RDZV_MAX_MEMBERS, &unit, err) < 0 ||
        number(m, "max-restarts", 0, RESTARTS_MAX, &restarts, err) < 0)
        return -1;
    if (unit > t->max) {
        err_set(err, ERR_LATE, "--node-unit=%llu is more than the %u nodes of --nnodes",
                (unsigned long long)unit, t->max);
        return err_hint(err, "no round could ever begin; a unit of at most %u", t->max);
    }
    if (flags_on(m->flags, "strict-quorum") && t->max > 1 && t->min <= t->max / 2) {
        err_set(err, ERR_LATE,
                "--strict-quorum: with --nnodes=%u:%u both halves of a split network "
                "would go on",
                t->min, t->max);
        return err_hint(err, "--nnodes=%u:%u", t->max / 2 + 1, t->max);
    }
    if (t->exclude_straggler && !t->check)
        say(m->s, "--exclude-straggler has no effect without --network-check");
    t->node_unit = (uint32_t)unit;
    t->max_restarts = (uint32_t)restarts;
    t->last_call_ms = m->conf.has_last_call ? m->conf.last_call_ms : dlrover ? 60000 : 30000;
    t->join_ms = m->conf.has_join ? m->conf.join_ms : 600000;
    t->exit_barrier_ms = dlrover ? 900000 : 300000;
    return 0;
}

/* ---- what runs ---- */

/* The interpreter a console script of the user's environment would have: that of the activated
 * one, else the first directory of PATH with a python or python3. */
static const char *find_python(struct arena *a)
{
    static const char *const names[] = { "python", "python3" };
    const char *said = getenv("PYTHON_EXEC"), *venv = getenv("VIRTUAL_ENV"), *path = getenv("PATH");
    if (said && *said)
        return arena_strdup(a, said);
    if (venv && *venv) {
        const char *own = arena_printf(a, "%s/bin/python", venv);
        if (access(own, X_OK) == 0)
            return own;
    }
    for (const char *at = path && *path ? path : "/usr/local/bin:/usr/bin:/bin";;) {
        size_t len = strcspn(at, ":");
        for (size_t i = 0; i < ARRAY_LEN(names) && len; i++) {
            const char *found = arena_printf(a, "%.*s/%s", (int)len, at, names[i]);
            if (access(found, X_OK) == 0)
                return found;
        }
        if (!at[len])
            return NULL;
        at += len + 1;
    }
}

static int read_program(struct making *m, int argc, char **argv, struct err *err)
{
    struct settings *s = m->s;
    int rest = flags_rest(m->flags);
    bool module = flags_on(m->flags, "module"), bare = flags_on(m->flags, "no-python");
    if (flags_on(m->flags, "run-path"))
        s->kind = PROGRAM_RUN_PATH;
    else if (module && bare) {
        err_set(err, ERR_LATE,
                "Don't use both the '--no-python' flag and the '--module' flag at "
                "the same time.");
        return err_hint(err, "--no-python starts a program, -m a Python module");
    } else
        s->kind = module ? PROGRAM_MODULE : bare ? PROGRAM_BARE : PROGRAM_SCRIPT;
    s->script = argv[rest];
    if (!*s->script) {
        err_set(err, ERR_INPUT, "the script's name is empty");
        return err_hint(err, "is a variable of the command line unset?");
    }
    /* argparse takes one "--" away. */
    if (rest + 1 < argc && strcmp(argv[rest + 1], "--") == 0 && strcmp(argv[rest - 1], "--") != 0)
        rest++;
    s->args.n = (size_t)(argc - rest - 1);
    s->args.at = ARENA_ARRAY(m->arena, s->args.n + 1, const char *);
    for (size_t i = 0; i < s->args.n; i++)
        s->args.at[i] = argv[rest + 1 + (int)i];
    s->python = find_python(m->arena);
    if (!s->python && s->kind != PROGRAM_BARE) {
        err_set(err, ERR_LATE, "there is no python in PATH");
        return err_hint(err, "set PYTHON_EXEC to an interpreter, or use --no-python for a program");
    }
    return 0;
}

static int read_placing(struct making *m, struct err *err)
{
    static const struct {
        const char *word;
        enum binding binding;
    } words[] = { { "node", BIND_NODE },
                  { "socket", BIND_SOCKET },
                  { "exclusive", BIND_EXCLUSIVE },
                  { "core-complex", BIND_CORE_COMPLEX } };
    struct settings *s = m->s;
    const char *mode = flags_text(m->flags, "numa-binding");
    uint64_t port;
    s->binding = flags_on(m->flags, "numa-affinity") ? BIND_NODE : BIND_NONE;
    for (size_t i = 0; mode && i < ARRAY_LEN(words); i++)
        if (strcmp(mode, words[i].word) == 0)
            s->binding = words[i].binding;
    s->virtual_local_rank = flags_on(m->flags, "virtual-local-rank");
    s->accelerator = flags_text(m->flags, "accelerator");
    s->membind = flags_text(m->flags, "membind-policy");
    if (number(m, "training-port", 0, 65535, &port, err) < 0)
        return -1;
    s->training_port = (uint32_t)port;
    s->role = flags_text(m->flags, "role");
    if (s->name == LAUNCH_DLROVER_RUN) {
        if (flags_given(m->flags, "role"))
            say(s, "--role has no effect: the role of dlrover-run is dlrover-trainer");
        s->role = "dlrover-trainer";
    }
    return 0;
}

/* ---- output, failures ---- */

static int read_output(struct making *m, struct err *err)
{
    struct settings *s = m->s;
    struct arena *a = m->arena;
    const char *agent_dir = getenv("DLROVER_LOG_AGENT_DIR");
    s->log_dir = flags_text(m->flags, "log-dir");
    if (s->name == LAUNCH_DLROVER_RUN && !s->log_dir && agent_dir && *agent_dir)
        s->log_dir = agent_dir;
    s->stderr_direct = flags_on(m->flags, "no-stderr-tail");
    if (std_choice_read(flags_text(m->flags, "redirects"), "--redirects", a, &s->redirects, err) <
            0 ||
        std_choice_read(flags_text(m->flags, "tee"), "--tee", a, &s->tee, err) < 0 ||
        rank_list_read(flags_text(m->flags, "local-ranks-filter"), "--local-ranks-filter", a,
                       &s->shown, &s->n_shown, err) < 0)
        return -1;
    /* dlrover-run with a directory and nothing said: to files and to the console. */
    if (s->name == LAUNCH_DLROVER_RUN && s->log_dir && !flags_given(m->flags, "redirects") &&
        !flags_given(m->flags, "tee"))
        s->tee.all = 3;
    filter_list_read(flags_text(m->flags, "duplicate-stdout-filters"), a, &s->out_filters);
    filter_list_read(flags_text(m->flags, "duplicate-stderr-filters"), a, &s->err_filters);
    return 0;
}

static int read_shutdown(struct making *m, struct err *err)
{
    const char *env = getenv("TORCH_ELASTIC_SHUTDOWN_TIMEOUT");
    uint64_t seconds = 30;
    if (flags_given(m->flags, "shutdown-timeout")) {
        if (number(m, "shutdown-timeout", 0, 86400, &seconds, err) < 0)
            return -1;
    } else if (env && *env && !scan_u64(env, 0, 86400, &seconds)) {
        err_set(err, ERR_LATE, "TORCH_ELASTIC_SHUTDOWN_TIMEOUT is \"%.60s\"", env);
        return err_hint(err, "a whole number of seconds");
    }
    m->s->shutdown_ms = seconds * 1000;
    return 0;
}

static int read_beats(struct making *m, struct err *err)
{
    struct settings *s = m->s;
    uint64_t beat, silence;
    if (number(m, "beat", 10, 3600000, &beat, err) < 0 ||
        number(m, "silence", 20, 7200000, &silence, err) < 0)
        return -1;
    bool given = flags_given(m->flags, "beat") || flags_given(m->flags, "silence");
    if (m->conf.has_beat && !given) {
        beat = m->conf.beat_ms;
        silence = m->conf.silence_ms;
    }
    if (flags_given(m->flags, "beat") && !flags_given(m->flags, "silence"))
        silence = beat * 5 / 2;
    if (silence <= beat && given) {
        err_set(err, ERR_LATE, "--silence=%llu is not longer than --beat=%llu",
                (unsigned long long)silence, (unsigned long long)beat);
        return err_hint(err, "two beats or more: --silence=%llu", (unsigned long long)beat * 5 / 2);
    }
    if (silence <= beat) /* keep_alive_max_attempt=1: one missed sign is the loss */
        beat = silence / 2;
    s->beat_ms = (uint32_t)beat;
    s->silence_ms = (uint32_t)silence;
    return 0;
}

/* TORCHELASTIC_ENABLE_FILE_TIMER and TORCHELASTIC_TIMER_FILE, as torch's agent takes them. */
static void read_watchdog(struct making *m)
{
    const char *on = getenv("TORCHELASTIC_ENABLE_FILE_TIMER");
    const char *path = getenv("TORCHELASTIC_TIMER_FILE"), *folder = getenv("TMPDIR");
    if (!on || strcmp(on, "1") != 0)
        return;
    m->s->timer_file = path && *path ? path
                                     : arena_printf(m->arena, "%s/watchdog_timer_%s",
                                                    folder && *folder ? folder : "/tmp",
                                                    rdzv_settings_random_id(m->arena));
}

static int read_signals(struct making *m, struct err *err)
{
    const char *source = flags_source(m->flags, m->arena, "signals-to-handle");
    struct words unknown;
    m->s->signals_said = flags_text(m->flags, "signals-to-handle");
    if (signal_list_read(m->s->signals_said, source, m->arena, m->s, &unknown, err) < 0)
        return -1;
    for (size_t i = 0; i < unknown.n; i++)
        say(m->s, arena_printf(m->arena, "%s: \"%.40s\" is no signal that can be handled: left out",
                               source, unknown.at[i]));
    return 0;
}

static int read_restarts(struct making *m, struct err *err)
{
    struct settings *s = m->s;
    double seconds;
    if (!scan_real(flags_text(m->flags, "monitor-interval"), &seconds)) {
        err_set(err, ERR_INPUT, "%s is \"%.60s\"",
                flags_source(m->flags, m->arena, "monitor-interval"),
                flags_text(m->flags, "monitor-interval"));
        return err_hint(err, "a number of seconds; or leave it away, there is no polling");
    }
    s->warm = strcmp(flags_text(m->flags, "warm"), "on") == 0;
    s->preload = flags_text(m->flags, "preload");
    read_watchdog(m);
    s->count_per_agent = strcmp(flags_text(m->flags, "restart-count"), "agent") == 0;
    return read_shutdown(m, err) < 0 || read_beats(m, err) < 0 || read_signals(m, err) < 0 ? -1 : 0;
}

/* ---- all of it ---- */

/* Handlers of torch 2.13; that of the rendezvous writes nothing there either. */
static int check_handler(const struct making *m, struct err *err)
{
    static const char *const names[] = { "null", "console", "dynamic_rendezvous" };
    const char *name = flags_text(m->flags, "event-log-handler");
    m->s->events_on_console = strcmp(name, "console") == 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return 0;
    err_set(err, ERR_LATE, "%s: there is no handler \"%.60s\"",
            flags_source(m->flags, m->arena, "event-log-handler"), name);
    return err_hint(err, "one of: null console dynamic_rendezvous");
}

/* What was given and will not happen. */
static int tell_fates(const struct making *m, struct err *err)
{
    for (unsigned i = 0; i < flag_table_n; i++) {
        const struct flag *f = &flag_table[i];
        if (f->fate == FLAG_HONOURED || !(f->names >> m->s->name & 1u) ||
            !flags_given(m->flags, f->name))
            continue;
        const char *source = flags_source(m->flags, m->arena, f->name);
        if (flags_is_default(m->flags, f->name))
            continue;
        if (f->fate == FLAG_REFUSED) {
            err_set(err, ERR_LATE, "%s is refused", source);
            return err_hint(err, "%s", f->why);
        }
        say(m->s, arena_printf(m->arena, "%s has no effect: %s", source, f->why));
    }
    return 0;
}

static int read_meeting(struct making *m, struct err *err)
{
    struct settings *s = m->s;
    const char *env = getenv("MUSTER_RDZV_TOKEN"), *flag = flags_text(m->flags, "rdzv-token");
    s->token = flag ? flag : m->conf.token ? m->conf.token : env && *env ? env : NULL;
    if (s->token && (!*s->token || strlen(s->token) > 256)) {
        err_set(err, ERR_LATE, "--rdzv-token has %zu characters", strlen(s->token));
        return err_hint(err, "1 to 256, the same text on all nodes");
    }
    s->local_addr = flags_text(m->flags, "local-addr");
    if (s->local_addr && !*s->local_addr)
        s->local_addr = NULL;
    s->strict_quorum = flags_on(m->flags, "strict-quorum");
    return rdzv_settings_decide(s, m->arena, m->flags, &m->conf, say, err);
}

int settings_make(struct settings *out, struct arena *a, enum launch_name name, int argc,
                  char **argv, struct err *err)
{
    struct settings s = { .name = name };
    struct making m = { .s = &s, .arena = a };
    int rc = flags_parse(a, name, argc, argv, &m.flags, err);
    if (rc > 0) {
        AUTO_BUF struct buf text = BUF_INIT(1u << 20);
        flags_help(name, &text);
        fputs(buf_str(&text), stdout);
        return 1;
    }
    if (rc < 0 || tell_fates(&m, err) < 0 || check_handler(&m, err) < 0 ||
        read_program(&m, argc, argv, err) < 0 ||
        rdzv_conf_read(flags_text(m.flags, "rdzv-conf"), a, &m.conf, say, &s, err) < 0 ||
        read_terms(&m, err) < 0 || read_placing(&m, err) < 0 || read_output(&m, err) < 0 ||
        read_restarts(&m, err) < 0 || read_meeting(&m, err) < 0)
        return -1;
    *out = s;
    return 0;
}
