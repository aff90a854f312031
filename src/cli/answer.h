/* Reading the server's answers: members that may be absent, with what to take then. Where that is
 * "", 0 or false, text/tree.h has it. */
#ifndef CLI_ANSWER_H
#define CLI_ANSWER_H

#include "text/tree.h"

#include <stdint.h>

const char *answer_text(const struct text_node *map, const char *key, const char *absent);
/* Any scalar, as written. */
const char *answer_shown(const struct text_node *map, const char *key, const char *absent);
uint64_t answer_number(const struct text_node *map, const char *key, uint64_t absent);
bool answer_has(const struct text_node *map, const char *key); /* there and not null */
/* Unix milliseconds of an RFC 3339 time (key_ms where the answer has it); 0: unknown. */
uint64_t answer_time(const struct text_node *map, const char *key);
/* "2026-01-02T03:04:05.678Z" or with "+01:00"; 0 when it is none. */
uint64_t answer_parse_time(const char *text);

#endif
