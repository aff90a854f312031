/* With what a store is spoken to, from where all of its clients have it: the variables
 * AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; else the profile AWS_PROFILE
 * ("default") of the file AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials). */
#ifndef SHIP_S3_CREDENTIALS_H
#define SHIP_S3_CREDENTIALS_H

#include "base/arena.h"
#include "base/err.h"

#include <stddef.h>

struct s3_credentials {
    const char *key, *secret, *token; /* token: of a session, or NULL */
};
/* In arena. ERR_UNAUTHENTICATED: there are none; a half is none. */
int s3_find_credentials(struct arena *, struct s3_credentials *, struct err *);
/* Of the text of such a file; what is not there stays NULL. */
void s3_read_profile(struct arena *, const char *text, const char *profile,
                     struct s3_credentials *);

#endif
