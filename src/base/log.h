/* Operator log: one line each on stderr, `level event key=value...`. Users read events, operators
 * read this. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

void log_set_level(enum log_level least);
int log_level_from_word(const char *word); /* -1 when unknown */
/* event: a word like "job.submitted"; fmt: "job=%llu queue=%s". Identical lines within a second are
 * counted, not repeated. */
void log_event(enum log_level level, const char *event, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Says now what was counted and not said yet (before the process ends or sleeps long). */
void log_flush(void);
#define log_debug(...) log_event(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_event(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_event(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_event(LOG_ERROR, __VA_ARGS__)

#endif
