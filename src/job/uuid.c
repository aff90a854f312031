/* UUIDs made of ids and names. That of a job has the job's id in it, so that no table leads back;
 * the others are a hash. Version 8 is the one for values of one's own making. */
#include "job/uuid.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>

/* The keys are fixed: a UUID has to be the same in every server that shows the thing. */
static const struct hash_seed seeds[2] = {
    { .k = { 0x6d75737465722e31ull, 0x9e3779b97f4a7c15ull } },
    { .k = { 0x6d75737465722e32ull, 0xc2b2ae3d27d4eb4full } },
};

static const char *print(char out[UUID_TEXT], uint64_t high, uint64_t low)
{
    high = (high & ~0xf000ull) | 0x8000ull;             /* version */
    low = (low & ~(3ull << 62)) | (uint64_t)2ull << 62; /* variant */
    (void)snprintf(out, UUID_TEXT, "%08llx-%04llx-%04llx-%04llx-%012llx",
                   (unsigned long long)(high >> 32), (unsigned long long)(high >> 16 & 0xffff),
                   (unsigned long long)(high & 0xffff), (unsigned long long)(low >> 48),
                   (unsigned long long)(low & 0xffffffffffffull));
    return out;
}

/* 48 bits of the id before the version, 16 at the end; the rest is a check. */
const char *uuid_of_job(char out[UUID_TEXT], uint64_t id)
{
    uint64_t check = hash_bytes(seeds[0], &id, sizeof id);
    return print(out, (id & ~0xffffull) | (check & 0xffff), (check & ~0xffffull) | (id & 0xffff));
}

static bool read_hex(const char *text, uint64_t *out, unsigned digits)
{
    for (; digits && *text; text++) {
        const char *hex = "0123456789abcdef", *at = strchr(hex, *text);
        if (*text == '-')
            continue;
        if (!at)
            return false;
        *out = *out << 4 | (uint64_t)(at - hex);
        digits--;
    }
    return digits == 0;
}

bool uuid_job(const char *text, uint64_t *id)
{
    char again[UUID_TEXT];
    uint64_t high = 0, low = 0;
    if (strlen(text) != UUID_TEXT - 1 || !read_hex(text, &high, 16) ||
        !read_hex(text + 19, &low, 16))
        return false;
    uint64_t found = (high & ~0xffffull) | (low & 0xffff);
    if (strcmp(uuid_of_job(again, found), text) != 0)
        return false;
    *id = found;
    return true;
}

const char *uuid_of(char out[UUID_TEXT], const char *kind, uint64_t owner, const char *name)
{
    uint64_t halves[2];
    for (int i = 0; i < 2; i++) {
        uint64_t all[3] = { hash_bytes(seeds[i], kind, strlen(kind)), owner,
                            hash_bytes(seeds[i], name, strlen(name)) };
        halves[i] = hash_bytes(seeds[i], all, sizeof all);
    }
    return print(out, halves[0], halves[1]);
}
