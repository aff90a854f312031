/* ~/.dlc/config: key=value lines that only their owner reads; and where the server is that they
 * mean.
 *
 * An endpoint of the vendor's cloud is not spoken to: configurations written for it stay usable,
 * and the user is told where the job goes instead. */
#include "cli/dlc/config.h"

#include "base/file.h"
#include "base/mem.h"
#include "text/keyvalue.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CONFIG_MAX (64u << 10)

static const struct {
    const char *name, *question;
} settings[] = {
    { "endpoint", "endpoint (HOST:PORT of a muster server, empty: your own)" },
    { "access_id", "access id" },
    { "access_key", "access key (the server's token)" },
    { "region", "region" },
    { "protocol", NULL },
    { "username", NULL },
    { "password", NULL },
};

bool dlc_config_flag(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        if (strcmp(settings[i].name, name) == 0)
            return strcmp(name, "username") != 0 && strcmp(name, "password") != 0;
    return strcmp(name, "config") == 0;
}

static const char *config_path(const struct dlc_call *c, struct err *err)
{
    const char *named = dlc_flag(c, "config", NULL), *home = getenv("HOME");
    if (named)
        return named;
    if (home && *home)
        return arena_printf(c->cli->arena, "%s/.dlc/config", home);
    err_set(err, ERR_INPUT, "HOME is not set, so there is no ~/.dlc/config");
    err_hint(err, "--config FILE");
    return NULL;
}

static void set(struct dlc_call *c, const char *name, const char *value)
{
    struct text_node *node = text_get(c->config, name);
    if (node)
        node->str = value;
    else
        text_str(c->cli->arena, c->config, name, value);
}

static const char *get(const struct dlc_call *c, const char *name)
{
    const struct text_node *node = text_get(c->config, name);
    return node && node->str && *node->str ? node->str : NULL;
}

/* ---- reading ---- */

static int read_file(struct dlc_call *c, const char *path, struct err *err)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    struct stat st;
    struct report report;
    if (stat(path, &st) != 0 && !dlc_flag(c, "config", NULL))
        return 0;
    if (file_read(path, CONFIG_MAX, &text, &len, err) < 0)
        return -1;
    if (st.st_mode & (S_IRWXG | S_IRWXO))
        fprintf(stderr, "warning: others may read the keys in %s (chmod 600 %s)\n", path, path);
    report_init(&report, c->cli->arena);
    const struct text_node *root = len ? keyvalue_parse(c->cli->arena, text, len, &report) : NULL;
    if (report.errors) {
        report_err(&report, err);
        return err_in(err, "%s", path);
    }
    for (const struct text_node *node = root ? root->first : NULL; node; node = node->next)
        set(c, node->key, node->str);
    return 0;
}

static bool is_cloud(const char *endpoint)
{
    static const char tail[] = "aliyuncs.com";
    size_t len = strcspn(endpoint, ":/"), n = sizeof tail - 1;
    return len >= n && strncmp(endpoint + len - n, tail, n) == 0;
}

static void choose_server(struct dlc_call *c)
{
    const char *endpoint = get(c, "endpoint"), *protocol = get(c, "protocol");
    const char *url = getenv("MUSTER_SERVER");
    const char *host = endpoint ? strstr(endpoint, "://") : NULL;
    if (url && *url)
        c->cli->url = arena_strdup(c->cli->arena, url);
    if (!endpoint)
        return;
    if (is_cloud(host ? host + 3 : endpoint)) {
        fprintf(stderr, "note: %s is not used, jobs go to %s\n", endpoint,
                c->cli->url ? c->cli->url : "your own muster server");
        return;
    }
    c->cli->url =
        host ? arena_strdup(c->cli->arena, endpoint)
             : arena_printf(c->cli->arena, "%s://%s", protocol ? protocol : "http", endpoint);
    if (get(c, "access_key"))
        setenv("MUSTER_TOKEN", get(c, "access_key"), 0);
}

/* Global flags are not the verb's: they leave the flags. */
static void take_global(struct dlc_call *c)
{
    struct text_node *kept = text_map(c->cli->arena, NULL, NULL);
    kept->pairs = true;
    for (const struct text_node *flag = c->flags->first; flag; flag = flag->next) {
        if (!dlc_config_flag(flag->key)) {
            text_str(c->cli->arena, kept, flag->key, flag->str);
        } else if (strcmp(flag->key, "config") != 0) {
            set(c, flag->key, flag->str);
            c->configured = true;
        }
    }
    c->flags = kept;
}

int dlc_config_read(struct dlc_call *c, struct err *err)
{
    struct err none;
    const char *path = config_path(c, &none);
    c->config = text_map(c->cli->arena, NULL, NULL);
    if (path) {
        text_str(c->cli->arena, c->config, "path", path);
        if (read_file(c, path, err) < 0)
            return -1;
    }
    take_global(c);
    choose_server(c);
    return 0;
}

/* ---- writing ---- */

static const char *ask(struct dlc_call *c, const char *question, const char *now)
{
    char line[1024];
    fprintf(stderr, "%s%s%s%s: ", question, now ? " [" : "", now ? now : "", now ? "]" : "");
    if (!fgets(line, sizeof line, stdin))
        return now;
    line[strcspn(line, "\r\n")] = '\0';
    return *line ? arena_strdup(c->cli->arena, line) : now;
}

int dlc_config_run(struct dlc_call *c, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(CONFIG_MAX);
    const char *path = get(c, "path");
    if (!path)
        return config_path(c, err) ? 0 : -1;
    for (const struct text_node *flag = c->flags->first; flag; flag = flag->next)
        set(c, flag->key, flag->str); /* username, password */
    bool asked = !c->configured && c->flags->count == 0;
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        const char *value = get(c, settings[i].name);
        if (asked && settings[i].question)
            value = ask(c, settings[i].question, value);
        if (value)
            buf_addf(&text, "%s=%s\n", settings[i].name, value);
    }
    AUTO_FREE char *dir = mem_strdup(path);
    char *slash = strrchr(dir, '/');
    if (slash && slash != dir) {
        *slash = '\0';
        if (file_mkdirs(dir, 0700, err) < 0)
            return -1;
    }
    if (file_replace(path, buf_str(&text), text.len, 0600, err) < 0)
        return -1;
    printf("%s\n", path);
    return EXIT_OK;
}
