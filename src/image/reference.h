/* Names of images as users write them: REGISTRY/REPOSITORY:TAG@DIGEST, most of it left out. */
#ifndef IMAGE_REFERENCE_H
#define IMAGE_REFERENCE_H

#include "base/err.h"

#define IMAGE_NAME_MAX   255u /* of registry and repository together, as the registries have it */
#define IMAGE_TAG_MAX    128u
#define IMAGE_DIGEST_LEN 64u /* hex digits of a SHA-256 */
#define IMAGE_TEXT_MAX   768u

struct image_ref {
    char registry[IMAGE_NAME_MAX + 1];   /* "docker.io", "127.0.0.1:5000" */
    char repository[IMAGE_NAME_MAX + 1]; /* "library/debian" */
    char tag[IMAGE_TAG_MAX + 1];         /* "latest" where nothing was said; "" with a digest */
    char digest[IMAGE_DIGEST_LEN + 1];   /* of the manifest; "": the tag says which */
};
/* The grammar is that of Docker: without a registry it is docker.io, and there a name without a
 * slash is below library/. ERR_INPUT says what is wrong and what to write; *out is written only on
 * success. */
int image_ref_parse(const char *text, struct image_ref *out, struct err *);
/* The name in full, by digest where there is one; both read back as the same image. */
void image_ref_print(const struct image_ref *, char out[IMAGE_TEXT_MAX]);

#endif
