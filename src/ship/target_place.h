/* Where a target is: a directory, or a bucket of an S3 store. */
#ifndef SHIP_TARGET_PLACE_H
#define SHIP_TARGET_PLACE_H

#define TARGET_STORE "s3://" /* how the name of a target in a store begins */

struct target_place {
    const char *where;             /* a directory, or s3://BUCKET/PREFIX */
    const char *endpoint, *region; /* of the store; NULL, "": as the environment has it */
};

#endif
