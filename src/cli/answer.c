/* Typed looks into trees. Servers of other versions may leave members out, add some, or have
 * another kind of value: then what the caller gives for absent ones is taken. */
#include "cli/answer.h"

#include "base/scan.h"

#include <stdio.h>

const char *answer_text(const struct text_node *map, const char *key, const char *absent)
{
    const struct text_node *node = text_get(map, key);
    return node && node->kind == TEXT_STR ? node->str : absent;
}

const char *answer_shown(const struct text_node *map, const char *key, const char *absent)
{
    const struct text_node *node = text_get(map, key);
    return node && node->str ? node->str : absent;
}

uint64_t answer_number(const struct text_node *map, const char *key, uint64_t absent)
{
    const struct text_node *node = text_get(map, key);
    return node && node->kind == TEXT_INT && node->integer >= 0 ? (uint64_t)node->integer : absent;
}

bool answer_has(const struct text_node *map, const char *key)
{
    const struct text_node *node = text_get(map, key);
    return node && node->kind != TEXT_NULL;
}

uint64_t answer_parse_time(const char *text)
{
    struct tm tm = { .tm_year = 0 };
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    uint64_t ms = 0, hours, minutes;
    char two[3] = "", more[3] = "";
    if (!rest)
        return 0;
    if (*rest == '.') {
        uint64_t unit = 100;
        for (rest++; *rest >= '0' && *rest <= '9'; rest++, unit /= 10)
            ms += (uint64_t)(*rest - '0') * unit;
    }
    time_t at = timegm(&tm);
    if ((*rest == '+' || *rest == '-') && sscanf(rest + 1, "%2[0-9]:%2[0-9]", two, more) == 2 &&
        scan_u64(two, 0, 23, &hours) && scan_u64(more, 0, 59, &minutes)) {
        time_t away = (time_t)(hours * 3600 + minutes * 60);
        at += *rest == '+' ? -away : away;
    }
    return at > 0 ? (uint64_t)at * 1000 + ms : 0;
}

uint64_t answer_time(const struct text_node *map, const char *key)
{
    char exact[64];
    snprintf(exact, sizeof exact, "%s_ms", key);
    uint64_t ms = answer_number(map, exact, 0);
    const char *text = ms ? NULL : answer_text(map, key, NULL);
    return text ? answer_parse_time(text) : ms;
}
