/* Reads agent.conf, and host.conf, which has some of its keys. Unknown keys are left to a newer
 * engine; a missing or over-long one is an error that names it. */
#include "node/conf.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONF_FILE_MAX 32768u
#define LEAVE_MS_MAX  86400000u

/* A job id is written as 19 decimal digits or as 13 characters of base 36; the length tells them
 * apart. */

static const struct key {
    const char *name;
    size_t offset, size;
    bool may_miss, of_agent; /* of_agent: the host of a machine has none */
} keys[] = {
    { .name = "socket", .offset = offsetof(struct conf, socket), .size = 1024, .may_miss = true },
    { .name = "follow", .offset = offsetof(struct conf, follow), .size = 1024, .may_miss = true },
    { .name = "pin", .offset = offsetof(struct conf, pin), .size = 65, .may_miss = true },
    { .name = "token", .offset = offsetof(struct conf, token), .size = 160 },
    { .name = "node", .offset = offsetof(struct conf, node), .size = 256 },
    { .name = "cookie",
      .offset = offsetof(struct conf, cookie),
      .size = COOKIE_MAX,
      .of_agent = true },
    { .name = "user_dir",
      .offset = offsetof(struct conf, user_dir),
      .size = 1024,
      .may_miss = true },
    { .name = "archive", .offset = offsetof(struct conf, archive), .size = 1024, .may_miss = true },
    { .name = "code", .offset = offsetof(struct conf, code), .size = 65, .may_miss = true },
    { .name = "shared", .offset = offsetof(struct conf, shared), .size = 1200, .may_miss = true },
    { .name = "programs",
      .offset = offsetof(struct conf, programs),
      .size = 1024,
      .may_miss = true },
    { .name = "cache", .offset = offsetof(struct conf, cache), .size = 1024, .may_miss = true },
    { .name = "images", .offset = offsetof(struct conf, images), .size = 1024, .may_miss = true },
    { .name = "gpus", .offset = offsetof(struct conf, gpus), .size = 512, .may_miss = true },
    { .name = "user", .offset = offsetof(struct conf, user), .size = 256, .may_miss = true },
    { .name = "home", .offset = offsetof(struct conf, home), .size = 1024, .may_miss = true },
    { .name = "shell", .offset = offsetof(struct conf, shell), .size = 256, .may_miss = true },
};

static const struct number {
    const char *name;
    size_t offset;
} numbers[] = {
    { "uid", offsetof(struct conf, uid) },
    { "gid", offsetof(struct conf, gid) },
};

/* "4,24,1000" */
static int take_groups(struct conf *conf, char *text, struct err *err)
{
    for (char *word; (word = strsep(&text, ","));) {
        uint64_t id;
        if (conf->n_groups == ACCOUNT_GROUPS_MAX || !scan_u64(word, 0, UINT32_MAX - 1, &id))
            return err_set(err, ERR_INPUT, "groups= has \"%.20s\"", word);
        conf->groups[conf->n_groups++] = (uint32_t)id;
    }
    return 0;
}

/* "10.0.0.1:6879,[2001:db8::1]:6879" */
static int take_places(struct conf *conf, char *text, struct err *err)
{
    for (char *word; (word = strsep(&text, ","));) {
        struct conf_place *place = &conf->places[conf->n_places];
        char *colon = strrchr(word, ':'), *addr = word;
        struct address to;
        uint64_t port;
        if (conf->n_places == CONF_PLACES_MAX)
            return err_set(err, ERR_INPUT, "tcp= has more than %d addresses", CONF_PLACES_MAX);
        if (!colon || !scan_u64(colon + 1, 1, 65535, &port))
            return err_set(err, ERR_INPUT, "tcp= has \"%.60s\", which is no ADDRESS:PORT", word);
        *colon = '\0';
        if (*addr == '[' && colon[-1] == ']') {
            addr++;
            colon[-1] = '\0';
        }
        if (strlen(addr) >= sizeof place->addr || strcmp(addr, "*") == 0 ||
            !address_numeric(&to, addr, (uint16_t)port))
            return err_set(err, ERR_INPUT, "tcp= has \"%.60s\", which is no numeric address", addr);
        memcpy(place->addr, addr, strlen(addr) + 1);
        place->port = (uint16_t)port;
        conf->n_places++;
    }
    return 0;
}

static bool is_hash(const char *text)
{
    return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static int check_server(const struct conf *conf, struct err *err)
{
    if (!conf->n_places)
        return *conf->socket ? 0 : err_set(err, ERR_INPUT, "socket= or tcp= is missing");
    if (is_hash(conf->pin))
        return 0;
    return err_set(err, ERR_INPUT, "pin= is not the 64 hexadecimal digits of a SHA-256");
}

static int take_count(struct conf *conf, const char *line, const char *value, struct err *err)
{
    if (strcmp(line, "cache_size") == 0 && !scan_u64(value, 1, UINT64_MAX, &conf->cache_size))
        return err_set(err, ERR_INPUT, "cache_size=%s is no number of bytes", value);
    if (strcmp(line, "images_size") == 0 && !scan_u64(value, 1, UINT64_MAX, &conf->images_size))
        return err_set(err, ERR_INPUT, "images_size=%s is no number of bytes", value);
    if (strcmp(line, "cpus") == 0 && !scan_u64(value, 1, 1u << 20, &conf->cpus))
        return err_set(err, ERR_INPUT, "cpus=%.20s is no number of processors", value);
    if (strcmp(line, "memory") == 0 && !scan_u64(value, 1, UINT64_MAX, &conf->memory))
        return err_set(err, ERR_INPUT, "memory=%.20s is no number of bytes", value);
    if (strcmp(line, "generation") == 0) {
        uint64_t number;
        if (!scan_u64(value, 1, UINT32_MAX, &number))
            return err_set(err, ERR_INPUT, "generation=%s is not a number", value);
        conf->generation.number = (uint32_t)number;
    }
    return 0;
}

static int take_line(struct conf *conf, char *line, struct err *err)
{
    char *equals = strchr(line, '=');
    if (!equals)
        return 0;
    *equals = '\0';
    char *value = equals + 1;
    if (strcmp(line, "groups") == 0 && *value)
        return take_groups(conf, value, err);
    if (strcmp(line, "tcp") == 0)
        return take_places(conf, value, err);
    if (strcmp(line, "sandbox") == 0)
        conf->sandbox = strcmp(value, "on") == 0;
    if (strcmp(line, "outlive_term") == 0)
        conf->outlive_term = strcmp(value, "on") == 0;
    if (strcmp(line, "logs") == 0)
        conf->send_logs = strcmp(value, "send") == 0;
    if (strcmp(line, "leave_ms") == 0 && !scan_u64(value, 0, LEAVE_MS_MAX, &conf->leave_ms))
        return err_set(err, ERR_INPUT, "leave_ms=%.20s is no time up to a day", value);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        uint64_t id;
        if (strcmp(line, numbers[i].name) != 0)
            continue;
        if (!scan_u64(value, 0, UINT32_MAX - 1, &id))
            return err_set(err, ERR_INPUT, "%s=%.20s is no number of an account", line, value);
        *(uint32_t *)(void *)((char *)conf + numbers[i].offset) = (uint32_t)id;
    }
    if (take_count(conf, line, value, err) != 0)
        return -1;
    if (strcmp(line, "job") == 0 && !scan_u64(value, 1, UINT64_MAX, &conf->generation.job))
        return err_set(err, ERR_INPUT, "job=%s is no job", value);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (strcmp(line, keys[i].name) != 0)
            continue;
        if (strlen(value) >= keys[i].size)
            return err_set(err, ERR_INPUT, "%s is longer than %zu bytes", line, keys[i].size - 1);
        memcpy((char *)conf + keys[i].offset, value, strlen(value) + 1);
    }
    return 0;
}

static int read_file(const char *path, bool of_agent, struct conf *out, struct err *err)
{
    AUTO_FREE char *text = NULL;
    size_t len;
    if (file_read(path, CONF_FILE_MAX, &text, &len, err) != 0)
        return err_in(err, "reading the configuration");
    struct conf conf = { .generation = { .job = 0 } };
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (take_line(&conf, line, err) != 0)
            return err_in(err, "%s", path);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (!keys[i].may_miss && (of_agent || !keys[i].of_agent) &&
            *((char *)&conf + keys[i].offset) == '\0')
            return err_set(err, ERR_INPUT, "%s: %s= is missing", path, keys[i].name);
    if (of_agent && (conf.generation.job == 0 || conf.generation.number == 0))
        return err_set(err, ERR_INPUT, "%s: job= or generation= is missing", path);
    if (*conf.code && !is_hash(conf.code))
        return err_set(err, ERR_INPUT, "%s: code= is not the 64 digits of a SHA-256", path);
    if (check_server(&conf, err) != 0)
        return err_in(err, "%s", path);
    *out = conf;
    return 0;
}

int conf_read(const char *dir, struct conf *out, struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/agent.conf", dir);
    return read_file(path, true, out, err);
}

/* The certificate stays the one that is known: who writes the file can lead nobody to another
 * server. */
static void follow(struct conf *conf)
{
    AUTO_FREE char *text = NULL;
    struct conf found = { .n_places = 0 };
    struct stat st;
    size_t len;
    if (!*conf->follow || stat(conf->follow, &st) != 0 || st.st_uid != geteuid() ||
        (st.st_mode & 022) || file_read(conf->follow, CONF_FILE_MAX, &text, &len, NULL) != 0)
        return;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (strncmp(line, "tcp=", 4) == 0 && take_places(&found, line + 4, NULL) != 0)
            return;
    if (!found.n_places)
        return;
    memcpy(conf->places, found.places, sizeof conf->places);
    conf->n_places = found.n_places;
}

int conf_read_host(const char *dir, struct conf *out, struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/host.conf", dir);
    if (read_file(path, false, out, err) != 0)
        return -1;
    if (strchr(out->node, '/') || out->node[0] == '.')
        return err_set(err, ERR_INPUT, "%s: node=%.60s is no name of a node", path, out->node);
    follow(out);
    return 0;
}

const char *conf_server(const struct conf *conf)
{
    return conf->n_places ? conf->pin : conf->socket;
}

const struct account *conf_account(const struct conf *conf, struct account *space)
{
    if (!*conf->user)
        return NULL;
    *space = (struct account){ .name = conf->user,
                               .home = conf->home,
                               .shell = conf->shell,
                               .ids = { .uid = conf->uid,
                                        .gid = conf->gid,
                                        .groups = conf->groups,
                                        .n_groups = conf->n_groups } };
    return space;
}
