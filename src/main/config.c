/* Settings: flag before environment before file before default, each value with where it came from.
 * The file is YAML with the table's keys; a list or map in it is joined into the text form that
 * flags have, so that there is one reader for each kind. */
#include "main/config.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "cli/settings_file.h"
#include "cli/state_dir.h"
#include "conn/address.h"
#include "text/yaml.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CONFIG_MAX (1u << 20)

enum kind {
    TEXT,
    ADDRESS,
    PROGRAM,
    NODES,
    QUEUES,
    DURATION,
    PAIRS,
    PRICES,
    LIST,
    PORTS,
    SIZE,
    COUNT,
    LEVEL,
    CHOICE
};

static const struct {
    const char *key, *env, *def, *arg, *doc;
    enum kind kind;
} settings[SETTING_N] = {
#define SETTING_ROW(id, name, type, value, form, text)                                             \
    [SETTING_##id] = {                                                                             \
        .key = name, .env = "MUSTER_" #id, .def = value, .arg = form, .doc = text, .kind = type    \
    },
    SETTINGS(SETTING_ROW)
#undef SETTING_ROW
};

/* Flags as people type them: "idle-exit" for idle_exit. Spelled out by the preprocessor once,
 * dashed at first use. */
#define SETTING_OPT(id, k, t, v, a, d)                                                             \
    { .name = k,                                                                                   \
      .type = OPT_STR,                                                                             \
      .offset = SETTING_##id * sizeof(const char *),                                               \
      .arg = a,                                                                                    \
      .help = d },
static struct opt options[] = { SETTINGS(SETTING_OPT) OPT_END };
#undef SETTING_OPT
static char flag_names[SETTING_N][32];

const struct opt *config_options(void)
{
    for (size_t i = 0; i < SETTING_N; i++) {
        snprintf(flag_names[i], sizeof flag_names[i], "%s", settings[i].key);
        for (char *c = flag_names[i]; *c; c++)
            *c = *c == '_' ? '-' : *c;
        options[i].name = flag_names[i];
    }
    return options;
}

const char *setting_key(enum setting s)
{
    return settings[s].key;
}

const char *setting_doc(enum setting s)
{
    return settings[s].doc;
}

/* ---- forms ---- */

static bool duration_of(const char *text, uint64_t *ms)
{
    if (strcmp(text, "never") == 0) {
        *ms = UINT64_MAX;
        return true;
    }
    return scan_duration(text, ms);
}

static bool ports_of(const char *text, uint32_t *first, uint32_t *last)
{
    char front[16];
    uint64_t a, b;
    const char *dash = strchr(text, '-');
    if (!dash || (size_t)(dash - text) >= sizeof front)
        return false;
    snprintf(front, sizeof front, "%.*s", (int)(dash - text), text);
    if (!scan_u64(front, 1, 65535, &a) || !scan_u64(dash + 1, a, 65535, &b))
        return false;
    *first = (uint32_t)a;
    *last = (uint32_t)b;
    return true;
}

/* "127.0.0.1:6878", "[::1]:6879", "none". Whether a program may listen there is seen by trying. */
static bool address_of(const char *text)
{
    const char *colon = strrchr(text, ':');
    struct address at;
    char host[64];
    uint64_t port;
    size_t len = colon ? (size_t)(colon - text) : 0;
    if (strcmp(text, "none") == 0)
        return true;
    if (len == 0 || len >= sizeof host || !scan_u64(colon + 1, 0, UINT16_MAX, &port))
        return false;
    bool shut = len > 2 && text[0] == '[' && colon[-1] == ']';
    snprintf(host, sizeof host, "%.*s", (int)(shut ? len - 2 : len), shut ? text + 1 : text);
    return address_numeric(&at, host, (uint16_t)port);
}

/* One that was kept may be gone: the server starts without it, for the jobs that there are. */
static bool program_of(const struct setting_value *v)
{
    struct stat st;
    if (!*v->text || strcmp(v->text, "none") == 0 || strcmp(v->from, "kept") == 0)
        return true;
    return stat(v->text, &st) == 0 && S_ISREG(st.st_mode) && access(v->text, X_OK) == 0;
}

/* The words of a CHOICE are its form, apart by |. */
static bool choice_of(enum setting s, const char *text, unsigned *position)
{
    size_t len = strlen(text);
    unsigned n = 0;
    for (const char *at = settings[s].arg; *at; n++) {
        size_t word = strcspn(at, "|");
        if (word == len && strncmp(at, text, len) == 0) {
            *position = n;
            return true;
        }
        at += word + (at[word] == '|');
    }
    return false;
}

/* "A100=2.5,*=1": each with a decimal of at most three places. */
static bool prices_of(const char *text)
{
    char item[160];
    uint64_t milli;
    while (*text) {
        size_t n = strcspn(text, ",");
        snprintf(item, sizeof item, "%.*s", (int)(n < sizeof item ? n : sizeof item - 1), text);
        const char *eq = strrchr(item, '=');
        if (!eq || eq == item || n >= sizeof item || !scan_milli(eq + 1, &milli))
            return false;
        text += n + (text[n] == ',');
    }
    return true;
}

/* The same of numbers of all kinds. */
static const char *wanted_amount(enum kind kind, const char *text)
{
    uint64_t n;
    switch (kind) {
    case DURATION: return duration_of(text, &n) ? NULL : "a duration: 90s, 15m, 2h or never";
    case SIZE: return scan_size(text, &n) ? NULL : "a size: 64Mi, 1Gi";
    case COUNT: return scan_u64(text, 1, 1000000, &n) ? NULL : "a number from 1 to 1000000";
    default: return NULL;
    }
}

/* What the value should look like; NULL: it does. */
static const char *wanted_of(enum setting s, const struct setting_value *v)
{
    static const char address[] = "a numeric address and a port, 127.0.0.1:6878, or none",
                      program[] = "a Python program that is there, /usr/bin/python3, or none";
    uint32_t a, b;
    switch (settings[s].kind) {
    case ADDRESS: return address_of(v->text) ? NULL : address;
    case PROGRAM: return program_of(v) ? NULL : program;
    case PORTS: return ports_of(v->text, &a, &b) ? NULL : "a range: 20000-32767";
    case LEVEL: return log_level_from_word(v->text) >= 0 ? NULL : "debug, info, warn or error";
    case CHOICE: return choice_of(s, v->text, &a) ? NULL : settings[s].arg;
    case PRICES: return prices_of(v->text) ? NULL : "prices by model: A100=2.5,*=1";
    default: return wanted_amount(settings[s].kind, v->text);
    }
}

static int check(enum setting s, const struct setting_value *v, struct err *err)
{
    const char *wanted = wanted_of(s, v);
    if (!wanted)
        return 0;
    bool kept = strcmp(v->from, "kept") == 0;
    err_set(err, ERR_INPUT, "%s is \"%.80s\" (%s%s)", settings[s].key, v->text,
            kept ? "" : "from the ", v->from);
    if (kept)
        err_remedy_of(err, REMEDY_DROP_KEPT, "%s", settings[s].key);
    return err_hint(err, "write %s", wanted);
}

/* ---- the file ---- */

/* A list or map of scalars as flags write it: "a,b" and "k=v,k=v". false: something else is in it.
 */
static bool join(struct arena *a, const struct text_node *node, const char **text)
{
    AUTO_BUF struct buf out = BUF_INIT(CONFIG_MAX);
    for (const struct text_node *n = node->first; n; n = n->next) {
        if (!n->str)
            return false;
        if (n->key)
            buf_addf(&out, "%s%s=%s", n == node->first ? "" : ",", n->key, n->str);
        else
            buf_addf(&out, "%s%s", n == node->first ? "" : ",", n->str);
    }
    *text = arena_strdup(a, buf_str(&out));
    return true;
}

/* Names, or maps with one: joined as flags write names. */
static bool join_names(struct arena *a, const struct text_node *list, const char **text)
{
    AUTO_BUF struct buf out = BUF_INIT(CONFIG_MAX);
    for (const struct text_node *n = list->first; n; n = n->next) {
        const struct text_node *name = n->kind == TEXT_MAP ? text_get(n, "name") : n;
        if (!name || !name->str || name->kind == TEXT_NULL)
            return false;
        buf_addf(&out, "%s%s", n == list->first ? "" : ",", name->str);
    }
    *text = arena_strdup(a, buf_str(&out));
    return true;
}

static int take(struct arena *a, enum setting s, const struct text_node *node,
                struct setting_value *v, struct err *err)
{
    enum kind kind = settings[s].kind;
    v->from = "file";
    v->tree = node;
    if (node->str && node->kind != TEXT_NULL)
        v->text = node->str;
    else if (node->kind == TEXT_LIST && kind == NODES)
        v->text = arena_printf(a, "%zu nodes", node->count);
    else if (node->kind == TEXT_LIST && kind == QUEUES && join_names(a, node, &v->text))
        return 0;
    else if (!((node->kind == TEXT_LIST && kind == LIST) ||
               (node->kind == TEXT_MAP && (kind == PAIRS || kind == PRICES))) ||
             !join(a, node, &v->text))
        return err_set(err, ERR_INPUT, "%u:%u: %s cannot be %s", node->place.line, node->place.col,
                       settings[s].key, text_kind_word(node->kind));
    return 0;
}

static int unknown_key(const struct text_node *node, struct err *err)
{
    const char *names[SETTING_N];
    for (size_t i = 0; i < SETTING_N; i++)
        names[i] = settings[i].key;
    const char *near = scan_nearest(node->key, names, SETTING_N);
    err_set(err, ERR_INPUT, "%u:%u: unknown setting \"%.60s\"", node->key_place.line,
            node->key_place.col, node->key);
    return near ? err_hint(err, "\"%s\"?", near) : err_remedy_of(err, REMEDY_HELP_VERB, "server");
}

static int take_all(struct arena *a, const struct text_node *root, struct config *config,
                    struct err *err)
{
    if (root->kind == TEXT_NULL)
        return 0;
    if (root->kind != TEXT_MAP)
        return err_set(err, ERR_INPUT, "it is %s, not a map of settings",
                       text_kind_word(root->kind));
    for (const struct text_node *n = root->first; n; n = n->next) {
        size_t s = 0;
        while (s < SETTING_N && strcmp(settings[s].key, n->key) != 0)
            s++;
        if (s == SETTING_N)
            return unknown_key(n, err);
        if (s == SETTING_CONFIG || s == SETTING_STATE_DIR) {
            err_set(err, ERR_INPUT, "%u:%u: %s cannot be set in the file", n->key_place.line,
                    n->key_place.col, n->key);
            return err_hint(err, "set %s, or use --%s", settings[s].env, config_options()[s].name);
        }
        if (take(a, (enum setting)s, n, &config->at[s], err) < 0)
            return -1;
    }
    return 0;
}

static bool blank(const char *text)
{
    for (; *text; text += *text == '\n') {
        text += strspn(text, " \t\r");
        if (*text == '#')
            text += strcspn(text, "\n");
        if (*text && *text != '\n')
            return false;
    }
    return true;
}

static int read_file(struct arena *a, const char *path, bool wanted, struct config *config,
                     struct err *err)
{
    AUTO_FREE char *text = NULL;
    size_t len;
    struct report report;
    if (!wanted && access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (file_read(path, CONFIG_MAX, &text, &len, err) < 0)
        return err_in(err, "configuration");
    config->file = arena_strdup(a, path);
    if (blank(text))
        return 0;
    report_init(&report, a);
    struct text_node *root = yaml_parse(a, text, len, &report);
    if (!root || !report_ok(&report)) {
        report_err(&report, err);
        return err_in(err, "%s", path);
    }
    if (take_all(a, root, config, err) < 0)
        return err_in(err, "%s", path);
    return 0;
}

static const char *default_file(struct arena *a)
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (xdg && xdg[0] == '/')
        return arena_printf(a, "%s/muster/config.yaml", xdg);
    return home && home[0] == '/' ? arena_printf(a, "%s/.config/muster/config.yaml", home) : NULL;
}

/* ---- all of it ---- */

static void set(struct config *config, size_t s, const char *text, const char *from)
{
    config->at[s] = (struct setting_value){ .text = text, .from = from };
}

/* What was given to servers of this state directory before. */
static int read_kept(struct arena *a, const char *dir, struct pairs *kept, struct err *err)
{
    struct err none;
    AUTO_FREE char *found = state_dir_find(dir, &none);
    return found ? settings_file_read(a, found, kept, err) : 0;
}

int config_load(struct arena *a, const char *const *flags, struct config *config, struct err *err)
{
    struct pairs kept = { .n = 0 };
    if (read_kept(a, flags[SETTING_STATE_DIR], &kept, err) < 0)
        return -1;
    const char *file =
        flags[SETTING_CONFIG] ? flags[SETTING_CONFIG] : getenv(settings[SETTING_CONFIG].env);
    const char *usual = default_file(a);
    *config = (struct config){ .file = NULL };
    if (!file || (!*file && !flags[SETTING_CONFIG]))
        file = pairs_get(&kept, settings[SETTING_CONFIG].key);
    for (size_t s = 0; s < SETTING_N; s++)
        set(config, s, settings[s].def, "default");
    bool wanted = file && *file;
    if ((wanted || usual) && read_file(a, wanted ? file : usual, wanted, config, err) < 0)
        return -1;
    for (size_t s = 0; s < SETTING_N; s++) {
        const char *env = getenv(settings[s].env), *was = pairs_get(&kept, settings[s].key);
        if (flags[s])
            set(config, s, flags[s], "flag");
        else if (env && *env)
            set(config, s, arena_strdup(a, env), "environment");
        else if (was)
            set(config, s, was, "kept");
        if (check((enum setting)s, &config->at[s], err) < 0)
            return -1;
    }
    if (!*config->at[SETTING_CONFIG].text && config->file)
        config_settle(config, SETTING_CONFIG, config->file);
    return 0;
}

static size_t setting_named(const char *key, size_t len)
{
    size_t s = 0;
    while (s < SETTING_N &&
           (strlen(settings[s].key) != len || strncmp(settings[s].key, key, len) != 0))
        s++;
    return s;
}

/* A text in the form of the file. */
static int take_text(struct arena *a, enum setting s, const char *text, const char *from,
                     struct config *config, struct err *err)
{
    struct report report;
    report_init(&report, a);
    const struct text_node *root = yaml_parse(a, text, strlen(text), &report);
    if (!root || !report_ok(&report)) {
        report_err(&report, err);
        return err_in(err, "%s", settings[s].key);
    }
    if (take(a, s, root, &config->at[s], err) < 0)
        return -1;
    config->at[s].from = from;
    return 0;
}

/* Settings that decide nothing about jobs make no difference to a replay. */
static bool decides(size_t s)
{
    static const enum setting all[] = { SETTING_NODES,    SETTING_QUEUES,      SETTING_TOPOLOGY,
                                        SETTING_PRICES,   SETTING_DEFAULT_RUN, SETTING_HALF_LIFE,
                                        SETTING_PORTS,    SETTING_KEEP,        SETTING_ROOTS,
                                        SETTING_TORCHRUN, SETTING_RUNTIME };
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (all[i] == s)
            return true;
    return false;
}

static int take_set(struct arena *a, const char *text, struct config *config, struct err *err)
{
    const char *eq = strchr(text, '=');
    size_t s = eq ? setting_named(text, (size_t)(eq - text)) : SETTING_N;
    if (s == SETTING_N || !decides(s)) {
        err_set(err, ERR_INPUT, "--set %.80s: %s", text,
                eq ? "no setting that decides about jobs" : "it has no value");
        return err_hint(err, "default_run=1h; also half_life keep nodes ports prices queues roots "
                             "runtime topology torchrun");
    }
    if (eq[1] == '[')
        return take_text(a, (enum setting)s, eq + 1, "--set", config, err);
    set(config, s, eq + 1, "--set");
    return 0;
}

int config_replay(struct arena *a, const struct config_recording *recorded, struct config *config,
                  struct err *err)
{
    *config = (struct config){ .file = NULL };
    for (size_t s = 0; s < SETTING_N; s++)
        set(config, s, settings[s].def, "default");
    set(config, SETTING_RUNTIME, "host", "default"); /* of recordings that do not say it */
    for (size_t i = 0; i < recorded->settings->n; i++) {
        const struct pair *one = &recorded->settings->at[i];
        size_t s = setting_named(one->name, strlen(one->name));
        if (s < SETTING_N && decides(s))
            set(config, s, one->value, "recording");
    }
    for (size_t i = 0; i < recorded->trees->n; i++) {
        const struct pair *one = &recorded->trees->at[i];
        size_t s = setting_named(one->name, strlen(one->name));
        if (s < SETTING_N && decides(s) &&
            take_text(a, (enum setting)s, one->value, "recording", config, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < recorded->n_sets; i++)
        if (take_set(a, recorded->sets[i], config, err) < 0)
            return -1;
    for (size_t s = 0; s < SETTING_N; s++)
        if (check((enum setting)s, &config->at[s], err) < 0)
            return -1;
    return 0;
}

void config_settle(struct config *config, enum setting s, const char *text)
{
    config->at[s].text = text;
}

uint64_t config_number(const struct config *config, enum setting s)
{
    const char *text = config->at[s].text;
    uint64_t n = 0;
    switch (settings[s].kind) {
    case DURATION: duration_of(text, &n); break;
    case SIZE: scan_size(text, &n); break;
    case COUNT: scan_u64(text, 0, UINT64_MAX, &n); break;
    case LEVEL: n = (uint64_t)log_level_from_word(text); break;
    case TEXT:
    case ADDRESS:
    case PROGRAM:
    case NODES:
    case QUEUES:
    case PAIRS:
    case PRICES:
    case LIST:
    case CHOICE:
    case PORTS: BUG("%s is not a number", settings[s].key);
    }
    return n;
}

unsigned config_choice(const struct config *config, enum setting s)
{
    unsigned position = 0;
    if (!choice_of(s, config->at[s].text, &position))
        BUG("%s was not checked", settings[s].key);
    return position;
}

void config_ports(const struct config *config, uint32_t *first, uint32_t *last)
{
    ports_of(config->at[SETTING_PORTS].text, first, last);
}

void config_list(struct arena *a, const struct config *config, enum setting s, struct pairs *out)
{
    const char *at = config->at[s].text;
    while (*at) {
        size_t n = strcspn(at, ",");
        char *item = arena_strndup(a, at, n);
        bool pairs = settings[s].kind == PAIRS || settings[s].kind == PRICES;
        char *eq = pairs ? strrchr(item, '=') : NULL;
        if (eq)
            *eq = '\0';
        if (*item)
            pairs_set(out, a, item, eq ? eq + 1 : "");
        at += n + (at[n] == ',');
    }
}

const struct text_node *config_queues(const struct config *config)
{
    const struct text_node *tree = config->at[SETTING_QUEUES].tree;
    if (!tree || tree->kind != TEXT_LIST)
        return NULL;
    for (const struct text_node *n = tree->first; n; n = n->next)
        if (n->kind == TEXT_MAP)
            return tree;
    return NULL;
}

struct text_node *config_tree(struct arena *a, const struct config *config)
{
    struct text_node *list = text_list(a, NULL, NULL);
    for (size_t s = 0; s < SETTING_N; s++) {
        struct text_node *row = text_map(a, list, NULL);
        text_str(a, row, "name", settings[s].key);
        text_str(a, row, "value", config->at[s].text);
        text_str(a, row, "from", config->at[s].from);
        text_str(a, row, "doc", settings[s].doc);
    }
    return list;
}
