/* The port for agents is closed to everybody before the core knows which agents it expects: one
 * that came back to a server that does not know it yet would be told to leave. */
#include "main/agents.h"

#include "answer/archives.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "image/jobs/images.h"
#include "link/agent_listener.h"
#include "tls/identity.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define STRANGERS_LEAST 16u
#define STRANGERS_MOST  512u
#define PLACES_MOST     8u /* as nodes take (node/conf.h) */

struct agents {
    struct tls_identity identity;
    struct tls_server *tls;
    struct agent_listener *listener;
    char *address; /* with the port that it got */
    struct ctl *ctl;
};

/* "ADDR:PORT", "[ADDR]:PORT". */
static int read_place(const char *text, struct agent_listener_config *config, char addr[64],
                      struct err *err)
{
    const char *colon = strrchr(text, ':'), *from = text;
    size_t len = colon ? (size_t)(colon - text) : 0;
    uint64_t port;
    if (len >= 2 && text[0] == '[' && colon[-1] == ']') {
        from++;
        len -= 2;
    }
    if (len == 0 || len >= 64 || !scan_u64(colon + 1, 0, 65535, &port)) {
        err_set(err, ERR_INPUT, "agents is \"%.80s\"", text);
        return err_hint(err, "write 0.0.0.0:6879, or none");
    }
    memcpy(addr, from, len);
    addr[len] = '\0';
    config->addr = addr;
    config->port = (uint16_t)port;
    return 0;
}

static int listen_there(struct agents *agents, const struct agents_config *config, struct err *err)
{
    struct agent_listener_config how = { .tls = agents->tls,
                                         .caller = config->caller,
                                         .caller_arg = config->caller_arg };
    char addr[64];
    const unsigned share = config->most / 8;
    how.strangers = share < STRANGERS_LEAST  ? STRANGERS_LEAST
                    : share > STRANGERS_MOST ? STRANGERS_MOST
                                             : share;
    if (read_place(config->where, &how, addr, err) < 0)
        return -1;
    agents->listener = agent_listener_create(config->hub, &how, err);
    if (!agents->listener) {
        err_in(err, "agents");
        return err_hint(err, "choose another address with --agents ADDR:PORT, or none");
    }
    free(agents->address);
    agents->address = mem_printf(strchr(addr, ':') ? "[%s]:%u" : "%s:%u", addr,
                                 agent_listener_port(agents->listener));
    log_info("server.agents", "address=%s pin=%s", agents->address, agents->identity.pin);
    return 0;
}

/* An agent is given the code and the packed images of its own job, and no other. */
static int open_code(void *arg, struct generation of, const char *hash)
{
    const struct agents *agents = arg;
    struct arena *arena = arena_create();
    const char *path = answer_code_path(agents->ctl, arena, of.job, hash);
    if (!path)
        path = answer_packed_image(agents->ctl, arena, of.job, hash);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    arena_destroy(arena);
    return fd;
}

int agents_open(const struct agents_config *config, struct agents **out, struct err *err)
{
    struct agents *agents = *out;
    if ((agents && agents->listener) || strcmp(config->where, "none") == 0)
        return 0;
    if (!agents) {
        agents = mem_new(sizeof *agents);
        agents->ctl = config->ctl;
        if (tls_identity_open(config->state_dir, &agents->identity, err) == 0)
            agents->tls = tls_server_create(&agents->identity.config, err);
    }
    if (!agents->tls || listen_there(agents, config, err) < 0) {
        if (!*out)
            agents_destroy(agents);
        return -1;
    }
    link_serve_code(config->hub, (struct link_code){ .open = open_code, .arg = agents });
    *out = agents;
    return 0;
}

int agents_open_kept(const struct agents_config *config, bool needed, struct agents **out,
                     struct err *err)
{
    AUTO_FREE char *path = file_join(config->state_dir, "agents.port");
    AUTO_FREE char *text = NULL;
    char where[32] = "0.0.0.0:0";
    struct agents_config at = *config;
    size_t len;
    uint64_t port = 0;
    if (*out && (*out)->listener)
        return 0;
    bool kept = file_read(path, 16, &text, &len, NULL) == 0 && scan_u64(text, 1, UINT16_MAX, &port);
    if (!kept && !needed)
        return 0;
    snprintf(where, sizeof where, "0.0.0.0:%u", (unsigned)port);
    at.where = where;
    if (agents_open(&at, out, err) < 0) {
        if (!kept || needed)
            return -1;
        log_warn("agents.port", "reason=\"%s\" note=\"nodes of Slurm find this server no more\"",
                 err->what);
        return 0;
    }
    snprintf(where, sizeof where, "%u", agent_listener_port((*out)->listener));
    return kept ? 0 : file_replace(path, where, strlen(where), 0600, err);
}

void agents_forget(struct agents *agents, const char *state_dir)
{
    AUTO_FREE char *path = file_join(state_dir, "agents.port");
    if (agents && agents->listener)
        log_info("server.agents", "address=none was=%s", agents->address);
    agents_close(agents);
    (void)unlink(path);
}

const char *agents_address(const struct agents *agents)
{
    return agents && agents->listener ? agents->address : "none";
}

void agents_close(struct agents *agents)
{
    if (agents)
        agent_listener_destroy(TAKE(agents->listener));
}

void agents_destroy(struct agents *agents)
{
    if (!agents)
        return;
    agents_close(agents);
    tls_server_destroy(agents->tls);
    tls_identity_fini(&agents->identity);
    free(agents->address);
    free(agents);
}

void agents_put(const struct agents *agents, struct arena *a, struct text_node *map)
{
    if (!agents || !agents->listener)
        return;
    const struct agent_listener_counts counts = agent_listener_counts(agents->listener);
    struct text_node *put = text_map(a, map, "agents");
    text_str(a, put, "address", agents->address);
    text_str(a, put, "pin", agents->identity.pin);
    text_int(a, put, "joined", (int64_t)counts.joined);
    text_int(a, put, "resumed", (int64_t)counts.resumed);
    text_int(a, put, "refused", (int64_t)counts.refused);
    text_int(a, put, "strangers", (int64_t)counts.strangers);
    text_int(a, put, "callers", (int64_t)counts.callers);
}

/* ---- where that is, for others ---- */

static bool is_any(const char *where)
{
    return strncmp(where, "0.0.0.0:", 8) == 0 || strncmp(where, "[::]:", 5) == 0;
}

/* The i-th address that others may know this machine by, of IPv4; NULL: there are no more. */
static const char *own_address(struct arena *a, size_t i)
{
    uv_interface_address_t *at = NULL;
    const char *found = NULL;
    int n = 0;
    if (uv_interface_addresses(&at, &n) != 0)
        return NULL;
    for (int k = 0; k < n && !found; k++) {
        char text[64];
        if (at[k].is_internal || at[k].address.address4.sin_family != AF_INET || i-- > 0)
            continue;
        uv_ip4_name(&at[k].address.address4, text, sizeof text);
        found = arena_strdup(a, text);
    }
    uv_free_interface_addresses(at, n);
    return found;
}

const char *agents_host(struct arena *a, const char *where)
{
    const char *colon = strrchr(where, ':');
    if (!colon || (*where == '[' && !is_any(where)) || strncmp(where, "127.", 4) == 0)
        return NULL;
    return is_any(where) ? own_address(a, 0) : arena_strndup(a, where, (size_t)(colon - where));
}

/* A wildcard stands for all of them. */
void agents_put_where(const struct agents *agents, struct arena *a, struct text_node *map)
{
    struct text_node *list = text_list(a, map, "server");
    const char *own;
    if (!agents)
        return;
    const char *port = strrchr(agents->address, ':');
    const bool any = is_any(agents->address);
    for (size_t i = 0; any && (own = own_address(a, i)); i++)
        text_str(a, list, NULL, arena_printf(a, "%s%s", own, port));
    if (!any || list->count == 0)
        text_str(a, list, NULL, agents->address);
    text_str(a, map, "pin", agents->identity.pin);
}

const char *agents_places(const struct agents *agents, struct arena *a)
{
    AUTO_BUF struct buf out = BUF_INIT(4096);
    struct text_node *where = text_map(a, NULL, NULL);
    unsigned n = 0;
    if (!agents || !agents->listener)
        return NULL;
    agents_put_where(agents, a, where);
    const struct text_node *list = text_get(where, "server");
    for (const struct text_node *one = list->first; one && n < PLACES_MOST; one = one->next)
        buf_addf(&out, "%s%s", n++ ? "," : "", one->str);
    return arena_strdup(a, buf_str(&out));
}
