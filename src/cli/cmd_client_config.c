/* muster client-config: what points another system's client to this server: environment, a file of
 * its own. What it needs (a key, a token, a certificate) is made, and said. */
#include "cli/cmd.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/output.h"
#include "text/json.h"
#include "text/yaml.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONFIG_MAX ((size_t)4 << 20)

struct client_opts {
    struct common_opts common;
    const char *user, *namespace;
    bool write;
};
static const struct opt opts[] = {
    { .name = "write",
      .type = OPT_FLAG,
      .offset = offsetof(struct client_opts, write),
      .help = "into the client's own file instead of printing" },
    { .name = "user",
      .type = OPT_STR,
      .offset = offsetof(struct client_opts, user),
      .arg = "NAME",
      .help = "whose key or token; default: your own" },
    { .name = "namespace",
      .type = OPT_STR,
      .offset = offsetof(struct client_opts, namespace),
      .arg = "NAME",
      .help = "of the context for kubectl; default: default" },
    COMMON_OPTS,
    OPT_END,
};

struct making { /* one configuration */
    struct cli *cli;
    const struct client_opts *o;
    struct err *err;
    const char *address; /* "http://127.0.0.1:6878" */
    const char *host;    /* "127.0.0.1:6878" */
    bool json;           /* a document instead of the client's own file */
};

static const struct text_node *make(struct making *m, const char *path)
{
    AUTO_BUF struct buf text = BUF_INIT(4096);
    struct arena *a = m->cli->arena;
    struct text_node *body = text_map(a, NULL, NULL);
    if (m->o->user)
        text_str(a, body, "owner", m->o->user);
    text_str(a, body, "label", "client-config");
    json_print(body, 0, &text);
    const struct text_node *tree = call_send(
        m->cli,
        &(struct call){ .method = "POST", .path = path, .body = buf_str(&text), .len = text.len },
        m->err);
    if (tree && !m->cli->quiet)
        fprintf(stderr, "(made %s %s of %s)\n", text_get(tree, "secret") ? "access key" : "token",
                answer_text(tree, "id", "?"), answer_text(tree, "owner", "?"));
    return tree;
}

/* The file in the home directory, written so that only its owner reads it. */
static int write_file(struct making *m, const char *name, const struct buf *text)
{
    const char *home = getenv("HOME");
    struct arena *a = m->cli->arena;
    if (!home || home[0] != '/')
        return err_set(m->err, ERR_CANNOT, "HOME is not set: there is nowhere to write");
    char *path = arena_printf(a, "%s/%s", home, name);
    char *dir = arena_strndup(a, path, (size_t)(strrchr(path, '/') - path));
    if (file_mkdirs(dir, 0700, m->err) < 0 ||
        file_replace(path, text->data, text->len, 0600, m->err) < 0)
        return -1;
    printf("%s\n", path);
    return 0;
}

/* The list that the file holds now, NULL: there is no file. What cannot be read is not replaced. */
static int read_list(struct making *m, const char *name, const struct text_node **list)
{
    const char *home = getenv("HOME");
    AUTO_FREE char *text = NULL;
    size_t len;
    struct report report;
    *list = NULL;
    report_init(&report, m->cli->arena);
    const char *path = arena_printf(m->cli->arena, "%s/%s", home ? home : "", name);
    if (access(path, F_OK) != 0)
        return 0;
    if (file_read(path, CONFIG_MAX, &text, &len, m->err) < 0)
        return -1;
    *list = json_parse(m->cli->arena, text, len, JSON_COMMENTS, &report);
    return *list && (*list)->kind == TEXT_LIST
               ? 0
               : err_set(m->err, ERR_CONFLICT, "%s holds no list of clusters; it is left alone",
                         path);
}

static void put_json(const struct text_node *root, struct buf *out)
{
    json_print(root, 4, out);
    buf_putc(out, '\n');
}

/* ---- dlc ---- */

static int config_dlc(struct making *m, struct buf *out)
{
    const struct text_node *key = make(m, "/v1/keys");
    if (!key)
        return -1;
    if (m->json) {
        struct text_node *root = text_map(m->cli->arena, NULL, NULL);
        text_str(m->cli->arena, root, "access_key_id", text_word(key, "id"));
        text_str(m->cli->arena, root, "access_key_secret", text_word(key, "secret"));
        text_str(m->cli->arena, root, "endpoint", m->host);
        text_str(m->cli->arena, root, "protocol", "http");
        put_json(root, out);
        return 0;
    }
    buf_addf(
        out,
        "export ALIBABA_CLOUD_ACCESS_KEY_ID=%s\n"
        "export ALIBABA_CLOUD_ACCESS_KEY_SECRET=%s\n"
        "# in programs, for both clients (pai_dlc and AIWorkspace):\n"
        "#   Config(access_key_id=..., access_key_secret=..., endpoint='%s', protocol='http')\n",
        text_word(key, "id"), text_word(key, "secret"), m->host);
    return 0;
}

/* ---- openpai ---- */

static void put_cluster(struct making *m, struct text_node *list, const struct text_node *token)
{
    struct arena *a = m->cli->arena;
    struct text_node *one = text_map(a, text_map(a, list, NULL), "cluster"); /* as pai addc does */
    text_str(a, one, "alias", "muster");
    text_str(a, one, "username", text_word(token, "owner"));
    text_str(a, one, "token", text_word(token, "token"));
    text_str(a, one, "pai_uri", m->address);
    text_str(a, one, "rest_server_uri", arena_printf(a, "%s/rest-server", m->host));
    text_bool(a, one, "https", false);
}

static const char *alias_of(const struct text_node *one)
{
    const struct text_node *cluster = text_get(one, "cluster");
    return cluster ? text_word(cluster, "alias") : "";
}

/* The clusters that are there stay, but for an older one of this name. */
static int config_openpai(struct making *m, struct buf *out)
{
    struct arena *a = m->cli->arena;
    const struct text_node *old = NULL, *token;
    if (m->o->write && read_list(m, ".openpai/clusters.json", &old) < 0)
        return -1;
    if (!(token = make(m, "/v1/tokens")))
        return -1;
    struct text_node *list = text_list(a, NULL, NULL);
    for (const struct text_node *one = old ? old->first : NULL; one; one = one->next)
        if (strcmp(alias_of(one), "muster") != 0)
            text_copy(a, list, NULL, one);
    put_cluster(m, list, token);
    put_json(list, out);
    return 0;
}

/* ---- kubectl ---- */

static struct text_node *named(struct arena *a, struct text_node *root, const char *list,
                               const char *key)
{
    struct text_node *one = text_map(a, text_list(a, root, list), NULL);
    text_str(a, one, "name", "muster");
    return text_map(a, one, key);
}

static const char *base64(struct arena *a, const char *text)
{
    size_t len = strlen(text),
           room = sodium_base64_encoded_len(len, sodium_base64_VARIANT_ORIGINAL);
    return sodium_bin2base64(arena_alloc(a, room), room, (const unsigned char *)text, len,
                             sodium_base64_VARIANT_ORIGINAL);
}

static int config_kubectl(struct making *m, struct buf *out)
{
    struct arena *a = m->cli->arena;
    const struct text_node *trust = call_get(m->cli, "/v1/certificate", m->err);
    const struct text_node *token = trust ? make(m, "/v1/tokens") : NULL;
    if (!token)
        return -1;
    struct text_node *root = text_map(a, NULL, NULL);
    text_str(a, root, "apiVersion", "v1");
    text_str(a, root, "kind", "Config");
    struct text_node *cluster = named(a, root, "clusters", "cluster");
    text_str(a, cluster, "server", text_word(trust, "address"));
    text_str(a, cluster, "certificate-authority-data", base64(a, text_word(trust, "authority")));
    text_str(a, named(a, root, "users", "user"), "token", text_word(token, "token"));
    struct text_node *context = named(a, root, "contexts", "context");
    text_str(a, context, "cluster", "muster");
    text_str(a, context, "user", "muster");
    text_str(a, context, "namespace", m->o->namespace ? m->o->namespace : "default");
    text_str(a, root, "current-context", "muster");
    if (m->json)
        put_json(root, out);
    else
        yaml_print(root, out);
    return 0;
}

/* ---- the verb ---- */

static const struct client {
    const char *name, *file, *then;
    int (*config)(struct making *, struct buf *out);
} clients[] = {
    { "dlc", ".config/muster/dlc.env", ". ", config_dlc },
    { "openpai", ".openpai/clusters.json", NULL, config_openpai },
    /* Not ~/.kube/config: that is of other clusters. */
    { "kubectl", ".kube/muster.yaml", "export KUBECONFIG=", config_kubectl },
};

static const struct client *find(const char *name, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(clients); i++)
        if (strcmp(clients[i].name, name) == 0)
            return &clients[i];
    err_set(err, ERR_INPUT, "no client \"%.40s\" is known", name);
    err_hint(err, "dlc, openpai or kubectl");
    return NULL;
}

static int find_address(struct making *m)
{
    const struct text_node *server = call_get(m->cli, "/v1/server", m->err);
    if (!server)
        return -1;
    m->address = text_word(server, "address");
    m->host = strstr(m->address, "://");
    m->host = m->host ? m->host + 3 : m->address;
    if (*m->address)
        return 0;
    err_set(m->err, ERR_CANNOT, "the server listens on no TCP port");
    return err_remedy_of(m->err, REMEDY_SERVER_LISTEN, "127.0.0.1:6878");
}

static int run_client_config(struct cli *cli, const void *opts_, int argc, char **argv,
                             struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(CONFIG_MAX);
    const struct client_opts *o = opts_;
    struct making m = { .cli = cli, .o = o, .err = err, .json = cli->json && !o->write };
    if (cmd_operands(&cmd_client_config, argc, 1, 1, err) < 0)
        return -1;
    const struct client *client = find(argv[0], err);
    if (!client || find_address(&m) < 0 || client->config(&m, &out) < 0)
        return -1;
    if (!m.o->write) {
        out_buf(&out);
        return EXIT_OK;
    }
    if (write_file(&m, client->file, &out) < 0)
        return -1;
    if (!cli->quiet && client->then)
        fprintf(stderr, "(then: %s~/%s)\n", client->then, client->file);
    return EXIT_OK;
}

static const char *const examples[] = {
    "muster client-config kubectl --write",
    "a kubeconfig with this server's certificate and a token",
    "muster client-config dlc",
    "an access key as environment, and the endpoint for programs",
    "muster client-config openpai --write --user alice",
    "a cluster \"muster\" for the command line pai",
    NULL,
};
const struct cmd cmd_client_config = {
    .name = "client-config",
    .summary = "point other systems' clients here: dlc, openpai, kubectl",
    .operands = "dlc|openpai|kubectl",
    .opts = opts,
    .size = sizeof(struct client_opts),
    .subs = "dlc openpai kubectl",
    .examples = examples,
    .run = run_client_config,
};
