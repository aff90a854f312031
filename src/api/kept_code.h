/* The files of uploaded archives, below archives/ in the state directory: HASH is one that was
 * checked; OWNER/HASH is the same file, in the directory of who sent it first, whose store_quota it
 * counts in, and OWNER/.HASH.PART what came of it so far. */
#ifndef API_KEPT_CODE_H
#define API_KEPT_CODE_H

#include "api/call.h"

struct kept_code { /* paths in the call's arena */
    const char *hash, *folder, *path;
    const char *owned, *owned_path, *part; /* NULL: only asked for */
};
/* hash is 64 digits, part a name or NULL; with one the directories are made. */
int kept_code_at(struct call *, const char *hash, const char *part, struct kept_code *,
                 struct err *err);
bool kept_code_is_there(const struct kept_code *);
/* Room for `more` bytes of this owner: what no live job names and nobody named for a day goes as
 * far as it has to, the oldest first. ERR_FULL: their quota does not have it. */
int kept_code_make_room(struct call *, const struct kept_code *, uint64_t more, struct err *err);
/* The part becomes what is kept. */
int kept_code_take(const struct kept_code *, struct err *err);

#endif
