/* Operator log on stderr, one write(2) a line. A line that was said within the last second is
 * counted instead; its number follows when the second is over and anything is logged, or on
 * log_flush(). Control characters in values become '?', so that a line stays one line. This is the
 * only mutable state outside main/: a log that had to be passed everywhere would be left out of the
 * places that need it most. */
#include "base/log.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_SIZE 1024
#define SLOTS     8
#define WINDOW_MS 1000

struct line_entry {
    char line[LINE_SIZE];
    size_t len; /* 0: free */
    uint64_t since_ms;
    unsigned long again;
};

static struct {
    enum log_level least;
    struct line_entry said[SLOTS];
} state = { .least = LOG_INFO };

static const char *const words[] = {
    [LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARN] = "warn", [LOG_ERROR] = "error"
};

#define LEVELS (sizeof words / sizeof words[0])

void log_set_level(enum log_level least)
{
    state.least = least;
}

int log_level_from_word(const char *word)
{
    for (size_t i = 0; i < LEVELS; i++)
        if (strcmp(words[i], word) == 0)
            return (int)i;
    return -1;
}

/* line has room for the newline. Nobody could be told of a failure. */
static void put(char *line, size_t len)
{
    line[len] = '\n';
    if (write(STDERR_FILENO, line, len + 1) < 0)
        return;
}

static void forget(struct line_entry *s)
{
    if (s->len && s->again) {
        char line[LINE_SIZE + 40];
        int n =
            snprintf(line, sizeof line - 1, "%.*s repeated=%lu", (int)s->len, s->line, s->again);
        put(line, (size_t)n);
    }
    s->len = 0;
}

void log_flush(void)
{
    for (size_t i = 0; i < SLOTS; i++)
        forget(&state.said[i]);
}

/* Counts the line if it was said just now; else remembers it in the oldest slot. */
static bool counted(const char *line, size_t len)
{
    uint64_t now = clock_mono_ms();
    struct line_entry *oldest = &state.said[0];
    for (size_t i = 0; i < SLOTS; i++) {
        struct line_entry *s = &state.said[i];
        if (s->len && now - s->since_ms >= WINDOW_MS)
            forget(s);
        if (s->len == len && memcmp(s->line, line, len) == 0) {
            s->again++;
            return true;
        }
        if (!s->len || (oldest->len && s->since_ms < oldest->since_ms))
            oldest = s;
    }
    forget(oldest);
    memcpy(oldest->line, line, len);
    oldest->len = len;
    oldest->since_ms = now;
    oldest->again = 0;
    return false;
}

/* Length of what snprintf() put into size bytes. */
static size_t fitted(int n, size_t size)
{
    if (n < 0)
        return 0;
    return (size_t)n < size ? (size_t)n : size - 1;
}

void log_event(enum log_level level, const char *event, const char *fmt, ...)
{
    if (level < state.least || (size_t)level >= LEVELS)
        return;
    char line[LINE_SIZE];
    size_t room = sizeof line - 1; /* one for the newline */
    size_t len = fitted(snprintf(line, room, "%s %s ", words[level], event), room);
    va_list ap;
    va_start(ap, fmt);
    len += fitted(vsnprintf(line + len, room - len, fmt, ap), room - len);
    va_end(ap);
    while (len && line[len - 1] == ' ')
        len--;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    if (!counted(line, len))
        put(line, len);
}
