/* Small grammars of torchrun's flags (torch.distributed.elastic.multiprocessing.Std.from_str and
 * the comma separated lists of its parser), strict. */
#include "launch/flag_lists.h"

#include "base/mem.h"
#include "base/scan.h"
#include "flags/flags.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>

static size_t count_of(const char *text, char c)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == c;
    return n;
}

/* ---- streams ---- */

static bool std_item(const char *item, struct std_rank *out)
{
    const char *colon = strchr(item, ':');
    char rank[16];
    uint64_t r, bits;
    if (!colon || (size_t)(colon - item) >= sizeof rank)
        return false;
    snprintf(rank, sizeof rank, "%.*s", (int)(colon - item), item);
    if (!scan_u64(rank, 0, RDZV_MAX_RANKS, &r) || !scan_u64(colon + 1, 0, 3, &bits))
        return false;
    *out = (struct std_rank){ .local_rank = (uint32_t)r, .bits = (uint8_t)bits };
    return true;
}

int std_choice_read(const char *text, const char *what, struct arena *a, struct std_choice *out,
                    struct err *err)
{
    uint64_t all;
    if (scan_u64(text, 0, 3, &all)) {
        *out = (struct std_choice){ .all = (uint8_t)all };
        return 0;
    }
    size_t n = count_of(text, ',') + 1;
    struct std_rank *some = ARENA_ARRAY(a, n, struct std_rank);
    const char *at = text;
    for (size_t i = 0; i < n; i++) {
        size_t len = strcspn(at, ",");
        if (!std_item(arena_strndup(a, at, len), &some[i])) {
            err_set(err, ERR_LATE, "%s is \"%.80s\"", what, text);
            return err_hint(err,
                            "0 nothing, 1 stdout, 2 stderr, 3 both; or by local rank: 0:3,1:1");
        }
        at += len + 1;
    }
    *out = (struct std_choice){ .some = some, .n_some = n };
    return 0;
}

uint8_t std_choice_of(const struct std_choice *c, uint32_t local_rank)
{
    uint8_t bits = c->all;
    for (size_t i = 0; i < c->n_some; i++)
        if (c->some[i].local_rank == local_rank)
            bits = c->some[i].bits;
    return bits;
}

/* ---- ranks ---- */

int rank_list_read(const char *text, const char *what, struct arena *a, const uint32_t **at,
                   size_t *n, struct err *err)
{
    if (!*text)
        return 0;
    size_t count = count_of(text, ',') + 1;
    uint32_t *ranks = ARENA_ARRAY(a, count, uint32_t);
    const char *item = text;
    for (size_t i = 0; i < count; i++) {
        size_t len = strcspn(item, ",");
        uint64_t rank;
        if (!scan_u64(arena_strndup(a, item, len), 0, RDZV_MAX_RANKS, &rank)) {
            err_set(err, ERR_LATE, "%s is \"%.80s\"", what, text);
            return err_hint(err, "local ranks with commas between: 0,1,2");
        }
        ranks[i] = (uint32_t)rank;
        item += len + 1;
    }
    *at = ranks;
    *n = count;
    return 0;
}

/* ---- words ---- */

void filter_list_read(const char *text, struct arena *a, struct words *out)
{
    AUTO_BUF struct buf word = BUF_INIT(1u << 16);
    *out = (struct words){ .at = ARENA_ARRAY(a, count_of(text, ',') + 1, const char *) };
    for (const char *c = text;; c++) {
        if (c[0] == ',' && c[1] == ',') {
            buf_putc(&word, ',');
            c++;
        } else if (*c && *c != ',') {
            buf_putc(&word, *c);
        } else {
            if (word.len)
                out->at[out->n++] = arena_strdup(a, buf_str(&word));
            buf_clear(&word);
            if (!*c)
                return;
        }
    }
}

/* ---- signals ---- */

static const struct {
    const char *name;
    int number;
} signals_known[] = {
#define ROW(s)                                                                                     \
    {                                                                                              \
        .name = #s, .number = s                                                                    \
    }
    ROW(SIGHUP),    ROW(SIGINT),  ROW(SIGQUIT),  ROW(SIGTERM), ROW(SIGUSR1),
    ROW(SIGUSR2),   ROW(SIGALRM), ROW(SIGPIPE),  ROW(SIGCONT), ROW(SIGTSTP),
    ROW(SIGTTIN),   ROW(SIGTTOU), ROW(SIGURG),   ROW(SIGXCPU), ROW(SIGXFSZ),
    ROW(SIGVTALRM), ROW(SIGPROF), ROW(SIGWINCH), ROW(SIGIO),   ROW(SIGPWR),
#undef ROW
};

/* What torchrun would die of, or never hear the end of. */
static int refuse_signal(const char *what, const char *name, struct err *err)
{
    if (strcmp(name, "SIGCHLD") == 0)
        err_set(err, ERR_LATE, "%s: SIGCHLD tells the launcher of its ranks' ends", what);
    else
        err_set(err, ERR_LATE, "%s: %s cannot be handled by any program", what, name);
    return err_hint(err, "leave it away");
}

static int signal_number(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(signals_known); i++)
        if (strcmp(signals_known[i].name, name) == 0)
            return signals_known[i].number;
    return strcmp(name, "SIGRTMIN") == 0 ? SIGRTMIN : strcmp(name, "SIGRTMAX") == 0 ? SIGRTMAX : 0;
}

static void add_signal(struct settings *settings, int number)
{
    for (size_t i = 0; i < settings->n_signals; i++)
        if (settings->signals[i] == number)
            return;
    if (settings->n_signals < ARRAY_LEN(settings->signals))
        settings->signals[settings->n_signals++] = number;
}

int signal_list_read(const char *text, const char *what, struct arena *a, struct settings *settings,
                     struct words *unknown, struct err *err)
{
    *unknown = (struct words){ .at = ARENA_ARRAY(a, count_of(text, ',') + 1, const char *) };
    settings->n_signals = 0;
    for (const char *at = text;; at++) {
        size_t len = strcspn(at, ",");
        const char *from = at;
        size_t part = len;
        while (part && isspace((unsigned char)*from))
            from++, part--;
        while (part && isspace((unsigned char)from[part - 1]))
            part--;
        const char *name = arena_strndup(a, from, part);
        int number = signal_number(name);
        if (strcmp(name, "SIGKILL") == 0 || strcmp(name, "SIGSTOP") == 0 ||
            strcmp(name, "SIGCHLD") == 0)
            return refuse_signal(what, name, err);
        if (number > 0)
            add_signal(settings, number);
        else
            unknown->at[unknown->n++] = name;
        at += len;
        if (!*at)
            return 0;
    }
}
