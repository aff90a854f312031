/* Names of secrets: what is safe as a part of a path on a node and of an address over HTTP, and
 * stands for one value or for a set. */
#include "job/secret.h"

#include <string.h>

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

static bool part_ok(const char *part, size_t len)
{
    if (len == 0 || strspn(part, NAME_CHARS) < len || part[0] == '-')
        return false;
    return !(part[0] == '.' && (len == 1 || part[1] == '.'));
}

bool secret_name_ok(const char *name)
{
    size_t len = strlen(name), front = strcspn(name, "/");
    if (len > SECRET_NAME_MAX || !part_ok(name, front))
        return false;
    return front == len || part_ok(name + front + 1, len - front - 1);
}

bool secret_is_set(const char *name, size_t *len)
{
    size_t n = strlen(name), behind = sizeof SECRET_ALL - 1;
    if (n <= behind || strcmp(name + n - behind, SECRET_ALL) != 0)
        return false;
    *len = n - behind;
    return true;
}
