/* Lists of hosts, as mpirun, horovodrun and deepspeed take them: only how many there are and how
 * many slots they have counts, their names are the job's own. */
#include "cli/line/hosts.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "cli/line/line_job.h"

#include <string.h>

enum { SLOTS_MOST = 4096 };

#define HOSTFILE_MAX (1u << 20)

static void add_host(struct arena *arena, struct line_hosts *hosts, const char *name,
                     uint32_t slots)
{
    for (size_t i = 0; i < hosts->n; i++)
        if (strcmp(hosts->at[i].name, name) == 0) {
            hosts->at[i].slots =
                (hosts->at[i].slots ? hosts->at[i].slots : 1) + (slots ? slots : 1);
            return;
        }
    if (hosts->n == hosts->cap) {
        size_t cap = hosts->cap ? 2 * hosts->cap : 16;
        struct line_host *at = ARENA_ARRAY(arena, cap, struct line_host);
        if (hosts->n)
            memcpy(at, hosts->at, hosts->n * sizeof *at);
        hosts->at = at;
        hosts->cap = cap;
    }
    hosts->at[hosts->n++] = (struct line_host){ .name = name, .slots = slots };
}

static int add_word(struct arena *arena, const char *option, char *word, const char *slots,
                    struct line_hosts *hosts, struct err *err)
{
    char *colon = strrchr(word, ':');
    uint64_t n = 0;
    if (colon) {
        *colon = '\0';
        slots = colon + 1;
    }
    if (!*word || (slots && !scan_u64(slots, 1, SLOTS_MOST, &n))) {
        err_set(err, ERR_INPUT, "%s: \"%.60s%s%.20s\" is no host with a number of slots", option,
                word, slots ? ":" : "", slots ? slots : "");
        return err_hint(err, "HOST or HOST:4");
    }
    if (hosts->n >= LINE_NODES_MOST)
        return err_set(err, ERR_INPUT, "%s: more than %d hosts", option, LINE_NODES_MOST);
    add_host(arena, hosts, word, (uint32_t)n);
    return 0;
}

int line_hosts_list(struct arena *arena, const char *option, const char *text,
                    struct line_hosts *hosts, struct err *err)
{
    char *at = arena_strdup(arena, text);
    for (char *word; (word = strsep(&at, ",")) != NULL;)
        if (add_word(arena, option, word, NULL, hosts, err) < 0)
            return -1;
    return 0;
}

static int add_line(struct arena *arena, const char *option, char *line, struct line_hosts *hosts,
                    struct err *err)
{
    static const char blanks[] = " \t\r";
    const char *slots = NULL;
    line[strcspn(line, "#")] = '\0';
    char *host = line + strspn(line, blanks);
    if (!*host)
        return 0;
    char *rest = host + strcspn(host, blanks);
    for (rest += *rest ? (*rest = '\0', 1) : 0; *rest;) {
        rest += strspn(rest, blanks);
        char *end = rest + strcspn(rest, blanks);
        bool more = *end;
        *end = '\0';
        if (strncmp(rest, "slots=", 6) == 0)
            slots = rest + 6;
        rest = end + more;
    }
    return add_word(arena, option, host, slots, hosts, err);
}

int line_hosts_file(struct arena *arena, const char *option, const char *path,
                    struct line_hosts *hosts, struct err *err)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    if (file_read(path, HOSTFILE_MAX, &text, &len, err) < 0)
        return err_in(err, "%s", option);
    char *at = arena_strndup(arena, text, len);
    for (char *line; (line = strsep(&at, "\n")) != NULL;)
        if (add_line(arena, option, line, hosts, err) < 0)
            return -1;
    if (hosts->n)
        return 0;
    err_set(err, ERR_INPUT, "%s: %.100s names no host", option, path);
    return err_hint(err, "lines like: node1 slots=8");
}
