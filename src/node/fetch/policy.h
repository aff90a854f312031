/* What this node's administrator, or the account, demands of images before they may be used:
 * containers-policy.json(5), which skopeo, podman and others follow. */
#ifndef NODE_FETCH_POLICY_H
#define NODE_FETCH_POLICY_H

#include <stdbool.h>
#include <stddef.h>

enum policy {
    POLICY_NONE,    /* there is no such file: nothing is demanded */
    POLICY_ANY,     /* every image is accepted, wherever it comes from */
    POLICY_DEMANDS, /* some are not, or only with signatures; or nobody can tell */
};
/* home: of the account; NULL: that of the environment. Its file is before that of the node. */
enum policy policy_read(const char *home);
/* The text of such a file. */
enum policy policy_of(const char *text, size_t len);

#endif
