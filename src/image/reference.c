/* Reads the name of an image. What stands in front of the first slash is a registry when it has a
 * dot or a colon or is "localhost", as Docker decides it; else it belongs to the repository. A tag
 * beside a digest is dropped: the digest alone says which image it is. */
#include "image/reference.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SMALL         "abcdefghijklmnopqrstuvwxyz0123456789"
#define WORD          SMALL "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGEST_PREFIX "sha256:"
#define SHOWN         100

static int refuse(const char *text, const char *why, const char *hint, struct err *err)
{
    err_set(err, ERR_INPUT, "image \"%.*s\" %s", SHOWN, text, why);
    return err_hint(err, "%s", hint);
}

/* ---- parts ---- */

/* Words of small letters and digits, apart by one ".", one or two "_", or any number of "-". */
static bool is_component(const char *at, size_t n)
{
    size_t i = 0;
    while (i < n) {
        size_t word = strspn(at + i, SMALL);
        word = word > n - i ? n - i : word;
        if (word == 0)
            return false;
        i += word;
        if (i == n)
            return true;
        size_t dashes = strspn(at + i, "-"), lines = strspn(at + i, "_");
        if (dashes == 0 && lines > 2)
            return false;
        if (dashes == 0 && lines == 0 && at[i] != '.')
            return false;
        i += dashes ? dashes : lines ? lines : 1;
    }
    return false;
}

static bool is_repository(const char *name)
{
    for (;;) {
        size_t n = strcspn(name, "/");
        if (!is_component(name, n))
            return false;
        if (!name[n])
            return true;
        name += n + 1;
    }
}

static bool is_port(const char *at)
{
    size_t n = strspn(at, "0123456789");
    return n > 0 && n <= 5 && !at[n];
}

/* A host name or an address, with a port. */
static bool is_registry(const char *name)
{
    if (*name == '[') {
        size_t n = strspn(name + 1, "0123456789abcdefABCDEF:.");
        const char *after = name + 1 + n;
        return n > 1 && *after == ']' && (!after[1] || (after[1] == ':' && is_port(after + 2)));
    }
    size_t n = strcspn(name, ":");
    if (n == 0 || strspn(name, WORD "-.") < n || strchr("-.", name[0]) || strchr("-.", name[n - 1]))
        return false;
    return !name[n] || is_port(name + n + 1);
}

static bool is_tag(const char *tag)
{
    size_t n = strlen(tag);
    return n > 0 && n <= IMAGE_TAG_MAX && strspn(tag, WORD "_.-") == n && !strchr("-.", *tag);
}

/* ---- the whole ---- */

static bool names_registry(const char *first)
{
    return strchr(first, '.') || strchr(first, ':') || strcmp(first, "localhost") == 0;
}

static int take_digest(const char *text, const char *digest, struct image_ref *ref, struct err *err)
{
    size_t prefix = strlen(DIGEST_PREFIX);
    const char *hex = digest + prefix;
    if (strncmp(digest, DIGEST_PREFIX, prefix) != 0 || strlen(hex) != IMAGE_DIGEST_LEN ||
        strspn(hex, "0123456789abcdef") != IMAGE_DIGEST_LEN)
        return refuse(text, "has no valid digest behind its @",
                      "write @sha256: and 64 small hexadecimal digits", err);
    memcpy(ref->digest, hex, IMAGE_DIGEST_LEN + 1);
    return 0;
}

/* "REGISTRY/REPOSITORY" of which the first may be missing. */
static int take_name(const char *text, const char *name, struct image_ref *ref, struct err *err)
{
    const char *slash = strchr(name, '/'), *repository = name;
    snprintf(ref->registry, sizeof ref->registry, "docker.io");
    if (slash) {
        char first[IMAGE_NAME_MAX + 1];
        snprintf(first, sizeof first, "%.*s", (int)(slash - name), name);
        if (names_registry(first)) {
            if (!is_registry(first))
                return refuse(text, "names no valid registry", "write HOST or HOST:PORT", err);
            memcpy(ref->registry, first, strlen(first) + 1);
            repository = slash + 1;
        }
    }
    if (!is_repository(repository))
        return refuse(text, "has no valid name",
                      "names are small letters and digits, with . _ - between them and / between "
                      "their parts",
                      err);
    bool official = strcmp(ref->registry, "docker.io") == 0 && !strchr(repository, '/');
    int n = snprintf(ref->repository, sizeof ref->repository, "%s%s", official ? "library/" : "",
                     repository);
    if (n < 0 || strlen(ref->registry) + (size_t)n + 1 > IMAGE_NAME_MAX)
        return refuse(text, "has too long a name", "registry and repository have 255 bytes at most",
                      err);
    return 0;
}

int image_ref_parse(const char *text, struct image_ref *out, struct err *err)
{
    struct image_ref ref = { .tag = "latest" };
    char name[IMAGE_TEXT_MAX];
    size_t len = strlen(text);
    if (len == 0)
        return refuse(text, "is empty", "write REPOSITORY:TAG or REGISTRY/REPOSITORY:TAG", err);
    if (len >= sizeof name)
        return refuse(text, "is too long", "a name of an image has 511 bytes at most", err);
    if (strstr(text, "://"))
        return refuse(text, "is an address", "write it without what ends with ://", err);
    memcpy(name, text, len + 1);
    char *at = strchr(name, '@');
    if (at) {
        *at = '\0';
        if (take_digest(text, at + 1, &ref, err) != 0)
            return -1;
    }
    char *slash = strrchr(name, '/'), *colon = strchr(slash ? slash : name, ':');
    if (colon) {
        *colon = '\0';
        if (!is_tag(colon + 1))
            return refuse(text, "has no valid tag",
                          "a tag has letters, digits, _ . - and 128 bytes at most", err);
        memcpy(ref.tag, colon + 1, strlen(colon + 1) + 1);
    }
    if (at)
        ref.tag[0] = '\0';
    if (take_name(text, name, &ref, err) != 0)
        return -1;
    *out = ref;
    return 0;
}

void image_ref_print(const struct image_ref *ref, char out[IMAGE_TEXT_MAX])
{
    if (*ref->digest)
        snprintf(out, IMAGE_TEXT_MAX, "%s/%s@" DIGEST_PREFIX "%s", ref->registry, ref->repository,
                 ref->digest);
    else
        snprintf(out, IMAGE_TEXT_MAX, "%s/%s:%s", ref->registry, ref->repository, ref->tag);
}
