/* Reads variables of the environment and the file of profiles. Nothing of them is written, logged
 * or handed on: err names files and variables only. */
#include "ship/s3_credentials.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define FILE_MOST (1u << 20)

static const char *from_env(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static const struct {
    const char *name;
    size_t offset;
} fields[] = {
    { "aws_access_key_id", offsetof(struct s3_credentials, key) },
    { "aws_secret_access_key", offsetof(struct s3_credentials, secret) },
    { "aws_session_token", offsetof(struct s3_credentials, token) },
};

/* Without the white space around it. */
static char *strip(struct arena *a, const char *at, size_t n)
{
    while (n && strchr(" \t\r", at[0]))
        at++, n--;
    while (n && strchr(" \t\r", at[n - 1]))
        n--;
    return arena_strndup(a, at, n);
}

static void read_field(struct arena *a, const char *line, size_t n, struct s3_credentials *out)
{
    const char *equals = memchr(line, '=', n);
    if (!equals)
        return;
    const char *name = strip(a, line, (size_t)(equals - line));
    const char *value = strip(a, equals + 1, n - (size_t)(equals - line) - 1);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (strcmp(fields[i].name, name) == 0 && *value)
            *(const char **)((char *)out + fields[i].offset) = value;
}

void s3_read_profile(struct arena *a, const char *text, const char *profile,
                     struct s3_credentials *out)
{
    bool ours = false;
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        const char *stripped = strip(a, line, n);
        size_t len = strlen(stripped);
        if (len > 1 && stripped[0] == '[' && stripped[len - 1] == ']')
            ours = strcmp(strip(a, stripped + 1, len - 2), profile) == 0;
        else if (ours && *stripped && *stripped != '#' && *stripped != ';')
            read_field(a, stripped, len, out);
        line += n + (line[n] == '\n');
    }
}

static const char *file_path(struct arena *a)
{
    const char *file = from_env("AWS_SHARED_CREDENTIALS_FILE"), *home = from_env("HOME");
    return file ? file : arena_printf(a, "%s/.aws/credentials", home ? home : "");
}

static int read_file(struct arena *a, struct s3_credentials *out, struct err *err)
{
    AUTO_FREE char *text = NULL;
    size_t len;
    const char *path = file_path(a), *profile = from_env("AWS_PROFILE");
    if (access(path, F_OK) != 0) {
        err_set(err, ERR_UNAUTHENTICATED, "there are no credentials for the store: %s is not there",
                path);
        return err_hint(err, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write that file");
    }
    if (file_read(path, FILE_MOST, &text, &len, err) < 0)
        return -1;
    s3_read_profile(a, text, profile ? profile : "default", out);
    if (out->key && out->secret)
        return 0;
    err_set(err, ERR_UNAUTHENTICATED, "%s has no credentials in its profile [%s]", path,
            profile ? profile : "default");
    return err_hint(err, "AWS_PROFILE names another one; it wants aws_access_key_id and "
                         "aws_secret_access_key");
}

int s3_find_credentials(struct arena *a, struct s3_credentials *out, struct err *err)
{
    *out = (struct s3_credentials){ .key = from_env("AWS_ACCESS_KEY_ID"),
                                    .secret = from_env("AWS_SECRET_ACCESS_KEY"),
                                    .token = from_env("AWS_SESSION_TOKEN") };
    if (out->key && out->secret)
        return 0;
    if (!out->key != !out->secret) {
        err_set(err, ERR_UNAUTHENTICATED,
                "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY "
                "is set");
        return err_hint(err, "set both, or none and write ~/.aws/credentials");
    }
    *out = (struct s3_credentials){ .key = NULL };
    return read_file(a, out, err);
}
