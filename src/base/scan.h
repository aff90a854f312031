/* Strict scanning of numbers, sizes and durations (the whole token or nothing), and their printing.
 */
#ifndef BASE_SCAN_H
#define BASE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All: true and *out on success; false and *out untouched otherwise. Decimal only, no white space,
 * no sign for u64. */
bool scan_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out);
bool scan_i64(const char *s, int64_t min, int64_t max, int64_t *out);
bool scan_real(const char *s, double *out); /* finite JSON-style number */
/* "90s" "15m" "2h" "30d" "250ms" "1h30m", bare number = seconds ("1.5" too). Milliseconds. */
bool scan_duration(const char *s, uint64_t *ms);
/* "64" bytes, "64Mi" "16Gi" "1Ti" "500M" "2G" "10k", optional trailing B ("16GiB"), decimals with a
 * unit ("1.5Gi"). */
bool scan_size(const char *s, uint64_t *bytes);
/* Decimal with at most three places, times 1000: "0.5" -> 500, "2" -> 2000, "100m" -> 100. */
bool scan_milli(const char *s, uint64_t *milli);

#define FMT_MAX 32
/* Each fills out (FMT_MAX bytes) and returns it. */
const char *fmt_duration(char out[FMT_MAX],
                         uint64_t ms); /* canonical and readable back: "90s" "2h" "1h30m" "250ms" */
const char *fmt_age(char out[FMT_MAX], uint64_t ms); /* for people: "41s" "3m" "2h" "5d" */
const char *fmt_size(char out[FMT_MAX],
                     uint64_t bytes); /* exact, readable back: "16Gi" "1.5Gi" "200M" "12345" */
const char *fmt_bytes(char out[FMT_MAX],
                      uint64_t bytes); /* for people, rounded: "22Gi" "1.5Gi" "812" */
const char *fmt_milli(char out[FMT_MAX], uint64_t milli); /* "0.5" "2" */
const char *fmt_int(char out[FMT_MAX], int64_t value);    /* for where printf costs too much */
const char *fmt_time(
    char out[FMT_MAX],
    uint64_t unix_ms); /* RFC 3339 in UTC with milliseconds, "2026-01-02T03:04:05.678Z" */
/* Local time with zone for people: "2026-01-02 03:04:05 +0100" */
const char *fmt_time_local(char out[FMT_MAX], uint64_t unix_ms);

/* Nearest of n names to word by edit distance, or NULL when none is near enough to suggest. */
const char *scan_nearest(const char *word, const char *const *names, size_t n);
bool scan_utf8(const char *s, size_t n); /* valid UTF-8 without NUL */
/* Length of the longest part at the front that scan_utf8() accepts, in bytes. Linear, eight ASCII
 * bytes a step. */
size_t scan_utf8_prefix(const char *s, size_t n);
/* Bytes (1..4) of the character at s and its code; 0 when the bytes there are no character. */
size_t scan_char(const char *s, size_t n, uint32_t *code);
/* Columns of UTF-8 text on a terminal (wcwidth; invalid bytes count 1). */
size_t scan_columns(const char *s, size_t n);

#endif
