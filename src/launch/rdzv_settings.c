/* The rules of torch's run.py (2.13) and of dlrover-run for who meets where, and what a muster job
 * changes about them: inside one the server leads. Where the foreign defaults can only hang (two
 * nodes that both wait at 127.0.0.1) the command is refused with what to write. */
#include "launch/rdzv_settings.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/scan.h"

#include <ctype.h>
#include <string.h>
#include <sys/random.h>

#define PORT_ENDPOINT 29400 /* torch's c10d default */
#define PORT_STATIC   29500

struct choice {
    struct settings *s;
    struct arena *arena;
    const struct flags *flags;
    const struct rdzv_conf *conf;
    void (*say)(void *arg, const char *sentence);
    bool in_job, is_static, has_endpoint, has_master, standalone;
};

static const char *env_text(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* ---- addresses ---- */

static bool host_chars(const char *host)
{
    const char *c = host;
    while (isalnum((unsigned char)*c) || strchr("._:-%", *c ? *c : ' '))
        c++;
    return c > host && !*c && c - host <= 253 && host[0] != '-';
}

/* "host", "host:1234", "[::1]:1234", "[::1]"; port 0 in the text is refused. *port stays when none
 * is there. what: for messages ("--rdzv-endpoint"). */
static int meeting_endpoint(const char *text, const char *what, struct arena *a, const char **host,
                            uint16_t *port, struct err *err)
{
    size_t len = strlen(text);
    const char *name = text, *colon = strrchr(text, ':'), *close = strrchr(text, ']');
    uint64_t n;
    if (text[0] == '[' && close) {
        name = text + 1;
        len = (size_t)(close - name);
        colon = close[1] == ':' ? close + 1 : NULL;
        if (close[1] && !colon)
            len = 0;
    } else if (colon && memchr(text, ':', (size_t)(colon - text))) {
        err_set(err, ERR_LATE, "%s: \"%.100s\" has several colons", what, text);
        return err_hint(err, "write an IPv6 address in brackets: [%.60s]:29400", text);
    } else if (colon) {
        len = (size_t)(colon - text);
    }
    const char *found = arena_strndup(a, name, len);
    if (!host_chars(found)) {
        err_set(err, ERR_LATE, "%s: \"%.100s\" names no host", what, text);
        return err_hint(err, "HOST:PORT, as node1:29400 or [::1]:29400");
    }
    if (colon && !scan_u64(colon + 1, 1, 65535, &n)) {
        err_set(err, ERR_LATE, "%s: \"%.60s\" is no port", what, colon + 1);
        return err_hint(err, "a number from 1 to 65535");
    }
    *host = found;
    if (colon)
        *port = (uint16_t)n;
    return 0;
}

static int static_address(struct choice *c, struct err *err)
{
    const char *port = flags_text(c->flags, "master-port"), *rest;
    uint64_t n = PORT_STATIC;
    uint16_t none = 0;
    if (c->has_endpoint) {
        if (meeting_endpoint(flags_text(c->flags, "rdzv-endpoint"), "--rdzv-endpoint", c->arena,
                             &c->s->host, &none, err) < 0)
            return -1;
        c->s->port = none ? none : PORT_STATIC;
        return 0;
    }
    if (port && !scan_u64(port, 1, 65535, &n)) {
        err_set(err, ERR_INPUT, "--master-port: \"%.60s\" is no port", port);
        return err_hint(err, "a number from 1 to 65535");
    }
    const char *addr = flags_text(c->flags, "master-addr");
    /* A bare IPv6 address is usual here, a port is not. */
    rest = addr[0] != '[' && strchr(addr, ':') ? arena_printf(c->arena, "[%s]", addr) : addr;
    if (meeting_endpoint(rest, "--master-addr", c->arena, &c->s->host, &none, err) < 0)
        return -1;
    c->s->port = (uint16_t)n;
    return 0;
}

static int endpoint_address(struct choice *c, struct err *err)
{
    const char *text = flags_text(c->flags, "rdzv-endpoint");
    c->s->host = "localhost";
    c->s->port = PORT_ENDPOINT;
    return *text
               ? meeting_endpoint(text, "--rdzv-endpoint", c->arena, &c->s->host, &c->s->port, err)
               : 0;
}

/* ---- run id ---- */

const char *rdzv_settings_random_id(struct arena *a)
{
    unsigned char b[16];
    if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b) {
        uint64_t now[2] = { clock_mono_us(), clock_wall_ms() ^ (uint64_t)getpid() << 40 };
        memcpy(b, now, sizeof b);
    }
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40); /* version 4, as uuid.uuid4() */
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    return arena_printf(a, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                        b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11],
                        b[12], b[13], b[14], b[15]);
}

static const char *job_name(void)
{
    const char *elastic = env_text("ELASTIC_JOB_NAME");
    return elastic ? elastic : env_text("MUSTER_JOB_NAME");
}

/* No word about a rendezvous: torchrun makes one up, with an id of its own. */
static bool by_itself(const struct choice *c)
{
    return c->is_static && !c->has_endpoint;
}

static int decide_run_id(struct choice *c, struct err *err)
{
    struct settings *s = c->s;
    bool dlrover = s->name == LAUNCH_DLROVER_RUN, given = flags_given(c->flags, "rdzv-id");
    bool keeps = given && s->name != LAUNCH_TORCHRUN;
    const char *job = job_name(), *flag = flags_text(c->flags, "rdzv-id");
    if (dlrover && (s->backend == RDZV_BACKEND_ALONE || s->backend == RDZV_BACKEND_AGENT))
        s->run_id = job ? job
                        : arena_printf(c->arena, "standalone_%llu",
                                       (unsigned long long)(clock_wall_ms() / 1000));
    else if (c->standalone || (s->backend == RDZV_BACKEND_ALONE && by_itself(c) && !keeps))
        s->run_id = rdzv_settings_random_id(c->arena);
    else if (!given && job && (s->backend == RDZV_BACKEND_AGENT || dlrover))
        s->run_id = job;
    else
        s->run_id = flag;
    for (const char *p = s->run_id; *p; p++)
        if (iscntrl((unsigned char)*p) || *p == '/' || p - s->run_id >= 200) {
            err_set(err, ERR_LATE, "--rdzv-id: \"%.80s\" cannot be a run id", s->run_id);
            return err_hint(err, "at most 200 characters, no / and no control characters: it names "
                                 "directories");
        }
    if (*s->run_id)
        return 0;
    s->run_id = rdzv_settings_random_id(c->arena); /* torchrun does so for an empty one */
    return 0;
}

/* ---- node rank ---- */

static bool rank_of_env(const struct choice *c, const char *name, uint32_t *rank)
{
    const char *text = env_text(name);
    uint64_t n;
    if (!text || !scan_u64(text, 0, RDZV_MAX_MEMBERS, &n))
        return false;
    if (n >= c->s->rdzv.max) {
        c->say(c->s, arena_printf(c->arena,
                                  "%s is %s, not below the %u nodes of --nnodes: no node "
                                  "rank is asked for",
                                  name, text, c->s->rdzv.max));
        return false;
    }
    *rank = (uint32_t)n;
    return true;
}

static int rank_of_flag(struct choice *c, bool used, struct err *err)
{
    const char *source = flags_source(c->flags, c->arena, "node-rank");
    const char *text = flags_text(c->flags, "node-rank");
    uint64_t n;
    if (!scan_u64(text, 0, RDZV_MAX_MEMBERS, &n)) {
        err_set(err, ERR_INPUT, "%s is \"%.60s\"", source, text);
        return err_hint(err, "a number from 0; the first node is 0");
    }
    if (used && n >= c->s->rdzv.max) {
        err_set(err, ERR_LATE, "%s is %s, and --nnodes has at most %u", source, text,
                c->s->rdzv.max);
        return err_hint(err, "node ranks are 0 to %u", c->s->rdzv.max - 1);
    }
    if (used)
        c->s->node_rank = (uint32_t)n;
    else if (n != 0)
        c->say(c->s, arena_printf(c->arena, "%s has no effect: %s", source,
                                  c->s->name == LAUNCH_DLROVER_RUN
                                      ? "dlrover-run takes NODE_RANK or WORKER_RANK"
                                      : "only a static rendezvous uses it"));
    return 0;
}

static int decide_rank(struct choice *c, struct err *err)
{
    struct settings *s = c->s;
    bool given = flags_given(c->flags, "node-rank"), dlrover = s->name == LAUNCH_DLROVER_RUN;
    bool fixed = s->backend == RDZV_BACKEND_STATIC;
    s->node_rank = RDZV_ANY_RANK;
    if (s->backend == RDZV_BACKEND_ALONE)
        return 0;
    bool used = given && (fixed || s->name == LAUNCH_MUSTER || s->backend == RDZV_BACKEND_AGENT) &&
                !(dlrover && !fixed);
    if (given && rank_of_flag(c, used, err) < 0)
        return -1;
    if (used)
        return 0;
    if (fixed && c->conf->has_rank && c->conf->rank < s->rdzv.max) {
        s->node_rank = c->conf->rank;
        return 0;
    }
    if (dlrover && (rank_of_env(c, "NODE_RANK", &s->node_rank) ||
                    rank_of_env(c, "WORKER_RANK", &s->node_rank)))
        return 0;
    if (c->in_job && rank_of_env(c, "MUSTER_TASK_INDEX", &s->node_rank))
        return 0;
    if (fixed)
        s->node_rank = 0; /* torchrun's default */
    return 0;
}

/* ---- the backend ---- */

static int no_meeting(const struct choice *c, struct err *err)
{
    err_set(err, ERR_LATE, "--nnodes=%s: where do the nodes meet?", flags_text(c->flags, "nnodes"));
    return err_hint(err,
                    "--rdzv-endpoint=HOST:29400 with the name of one of them, the same on "
                    "all; or submit it as a muster job, where the server brings them together");
}

static int alone(struct choice *c, struct err *err)
{
    struct rdzv_settings *t = &c->s->rdzv;
    if (t->min > 1) {
        err_set(err, ERR_LATE, "--standalone is one node, and --nnodes=%s needs %u",
                flags_text(c->flags, "nnodes"), t->min);
        return err_hint(err, "leave --standalone away and give --rdzv-endpoint, or leave --nnodes "
                             "away");
    }
    t->max = 1;
    c->s->backend = RDZV_BACKEND_ALONE;
    return 0;
}

static int read_backend(struct choice *c, struct err *err)
{
    const char *name = flags_text(c->flags, "rdzv-backend");
    static const char *const known[] = { "c10d", "static" };
    c->is_static = strcmp(name, "static") == 0;
    if (c->standalone || c->is_static || strcmp(name, "c10d") == 0)
        return 0;
    if (c->s->name == LAUNCH_DLROVER_RUN && strcmp(name, "dlrover-master") == 0) {
        c->is_static = true; /* its own name for what it does anyhow */
        return 0;
    }
    if (strncmp(name, "etcd", 4) == 0 || strcmp(name, "zeus") == 0) {
        err_set(err, ERR_LATE,
                "--rdzv-backend=%s: muster keeps its rendezvous itself and speaks "
                "to no other store",
                name);
        return err_hint(err, "--rdzv-backend=c10d with the same --rdzv-endpoint host on all nodes");
    }
    const char *near = scan_nearest(name, known, ARRAY_LEN(known));
    err_set(err, ERR_LATE, "--rdzv-backend: \"%.60s\" is no rendezvous", name);
    return err_hint(err, "%s", near ? near : "c10d or static");
}

static int refuse_dlrover_master(const struct choice *c, struct err *err)
{
    const char *master = env_text("DLROVER_MASTER_ADDR");
    if (c->s->name != LAUNCH_DLROVER_RUN || !master || c->in_job || c->standalone)
        return 0;
    err_set(err, ERR_LATE, "DLROVER_MASTER_ADDR is %.80s: muster does not talk to a dlrover master",
            master);
    return err_hint(err, "unset it and give --rdzv-endpoint=HOST:29400, or --standalone, or run "
                         "this in a muster job");
}

/* Whoever names an endpoint and neither a backend nor a place means the elastic rendezvous: with a
 * static one all nodes would be node rank 0. */
static bool elastic(const struct choice *c)
{
    if (!c->is_static)
        return true;
    if (!c->has_endpoint || flags_given(c->flags, "rdzv-backend"))
        return false;
    return c->s->name != LAUNCH_TORCHRUN || !flags_given(c->flags, "node-rank");
}

/* What stands for the port in "HOST:PORT"; "" where nothing does. */
static const char *port_of(const char *endpoint)
{
    const char *colon = strrchr(endpoint, ':');
    return colon && !strchr(colon, ']') ? colon + 1 : "";
}

/* Port 0 is any free one. */
static bool is_zero(const char *port)
{
    return *port && port[strspn(port, "0")] == '\0';
}

/* One node with a port of its own: a static rendezvous with itself, so that MASTER_PORT is what was
 * asked for, as with torchrun. */
static bool asks_for_port(const struct choice *c)
{
    const char *endpoint = port_of(flags_text(c->flags, "rdzv-endpoint"));
    if (!c->is_static || c->s->name == LAUNCH_DLROVER_RUN)
        return false;
    if (c->has_endpoint)
        return (c->s->name == LAUNCH_TORCHRUN || flags_given(c->flags, "rdzv-backend")) &&
               (!c->in_job || c->conf->meet_endpoint) && *endpoint && !is_zero(endpoint);
    const char *port = flags_text(c->flags, "master-port");
    return port && !is_zero(port);
}

/* One node is enough, and at a free port no other one finds it. */
static bool goes_alone(const struct choice *c)
{
    return c->s->rdzv.min == 1 && !c->in_job && elastic(c) &&
           is_zero(port_of(flags_text(c->flags, "rdzv-endpoint")));
}

static int decide(struct choice *c, struct err *err)
{
    struct settings *s = c->s;
    bool dlrover = s->name == LAUNCH_DLROVER_RUN, one = s->rdzv.max == 1;
    bool port = flags_given(c->flags, "master-port");
    if (c->standalone && !(dlrover && c->in_job && !one))
        return alone(c, err);
    if (one && !asks_for_port(c))
        return alone(c, err);
    if (!one && goes_alone(c)) {
        c->say(s, "--rdzv-endpoint: at port 0 no other node finds this one: it goes alone");
        return alone(c, err);
    }
    if (c->in_job && !one && !(c->conf->meet_endpoint && (c->has_endpoint || c->has_master))) {
        s->backend = RDZV_BACKEND_AGENT;
        return 0;
    }
    if (!one && elastic(c)) {
        s->backend = RDZV_BACKEND_ENDPOINT;
        return endpoint_address(c, err);
    }
    if (s->name != LAUNCH_TORCHRUN && !c->has_endpoint && !c->has_master && !port)
        return no_meeting(c, err);
    s->backend = RDZV_BACKEND_STATIC;
    return static_address(c, err);
}

int rdzv_settings_decide(struct settings *s, struct arena *a, const struct flags *flags,
                         const struct rdzv_conf *conf, void (*say)(void *arg, const char *sentence),
                         struct err *err)
{
    const char *socket = env_text("MUSTER_LAUNCH_SOCKET"),
               *cookie = env_text("MUSTER_ATTEMPT_COOKIE");
    struct choice c = { .s = s,
                        .arena = a,
                        .flags = flags,
                        .conf = conf,
                        .say = say,
                        .in_job = socket && cookie,
                        .has_endpoint = *flags_text(flags, "rdzv-endpoint") != '\0',
                        .has_master = flags_given(flags, "master-addr"),
                        .standalone = flags_on(flags, "standalone") };
    if (read_backend(&c, err) < 0 || refuse_dlrover_master(&c, err) < 0 || decide(&c, err) < 0)
        return -1;
    if (c.in_job) {
        s->agent_socket = socket;
        s->agent_cookie = cookie;
    }
    if (c.in_job && s->backend == RDZV_BACKEND_AGENT) {
        if (!s->local_addr)
            s->local_addr = env_text("MUSTER_TASK_ADDRESS");
        if (c.has_endpoint || c.has_master)
            say(s, "inside a job the server brings the nodes together: the address of the "
                   "rendezvous is not used (--rdzv-conf meet=endpoint insists)");
    }
    return decide_rank(&c, err) < 0 || decide_run_id(&c, err) < 0 ? -1 : 0;
}
