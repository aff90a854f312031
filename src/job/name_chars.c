/* Which characters names may have: what is safe in paths, environments, host names and on a screen.
 * Each rule is a test, its words for a hint, and a pattern for the schema. */
#include "job/job_fields.h"

#include "base/scan.h"

#include <string.h>

#define ALNUM "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

static bool only(const char *s, const char *allowed)
{
    return s[strspn(s, allowed)] == '\0';
}

/* One path component that never leads elsewhere, one line on a screen. */
static bool job_name_ok(const char *s)
{
    if (strcmp(s, ".") == 0 || strstr(s, "..") || strchr(s, '/') || !scan_utf8(s, strlen(s)))
        return false;
    if (s[0] == ' ' || s[0] == '-' || (*s && s[strlen(s) - 1] == ' '))
        return false;
    for (const char *c = s; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return false;
    return true;
}

static bool name_ok(const char *s)
{
    return *s && strlen(s) <= 128 && only(s, ALNUM "._~-") && strcmp(s, ".") != 0 &&
           !strstr(s, "..");
}

static bool env_ok(const char *s)
{
    return *s && strlen(s) <= 255 && !strchr(s, '=');
}

static bool resource_ok(const char *s)
{
    return *s && strlen(s) <= 128 && only(s, ALNUM "._/-");
}

const struct field_chars job_name_chars = {
    .ok = job_name_ok,
    .wanted = "1 to 128 bytes without /, .. and control characters, and no - in front",
    .pattern = "^[^/\\u0000-\\u001f -][^/\\u0000-\\u001f]*$",
};
const struct field_chars name_chars = {
    .ok = name_ok,
    .wanted = "letters, digits, . _ ~ - (no ..)",
    .pattern = "^[A-Za-z0-9._~-]{1,128}$",
};
const struct field_chars env_chars = {
    .ok = env_ok,
    .wanted = "a name without =",
    .pattern = "^[^=]{1,255}$",
};
const struct field_chars resource_chars = {
    .ok = resource_ok,
    .wanted = "letters, digits, . _ / -",
    .pattern = "^[A-Za-z0-9._/-]{1,128}$",
};
