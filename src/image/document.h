/* The documents of an image as registries give them: index, manifest and configuration. Pure: text
 * in, struct out; whoever reads the files compares them with their digests first. */
#ifndef IMAGE_DOCUMENT_H
#define IMAGE_DOCUMENT_H

#include "base/arena.h"
#include "base/err.h"
#include "image/reference.h"
#include "job/words.h"

#include <stdint.h>

#define IMAGE_DOCUMENT_MAX (4u << 20) /* bytes of each */
#define IMAGE_LAYERS_MAX   512u
#define IMAGE_ENV_MAX      1024u

enum image_packing { IMAGE_PLAIN, IMAGE_GZIP, IMAGE_ZSTD };
struct image_blob {
    char digest[IMAGE_DIGEST_LEN + 1]; /* SHA-256, hex */
    uint64_t size;                     /* bytes */
    enum image_packing packing;        /* of a layer */
};
struct image_manifest {
    struct image_blob config;
    struct image_blob *layers; /* the lowest first */
    size_t n_layers;
};
struct image_config {
    const char *architecture; /* as Go names it: "amd64", "arm64" */
    const char *os;           /* "linux" */
    const char *work_dir;     /* absolute; "" where it says none */
    const char *user;         /* "", "NAME", "UID:GID" */
    struct words env;         /* "NAME=value" */
    struct words diffs;       /* SHA-256 of the unpacked layers, hex; as many as there are layers */
};

/* Each: ERR_INPUT says what is wrong with the document. Texts live in the arena. */
/* A list of manifests, one for each kind of processor: the one for `architecture` under Linux. For
 * a manifest that is no list manifest->digest is "". ERR_CANNOT: it has none for it; the message
 * says which it has. */
int image_read_index(struct arena *, const char *text, size_t len, const char *architecture,
                     struct image_blob *manifest, struct err *err);
/* A manifest of OCI or Docker, not a list of them. */
int image_read_manifest(struct arena *, const char *text, size_t len, struct image_manifest *,
                        struct err *);
int image_read_config(struct arena *, const char *text, size_t len, struct image_config *,
                      struct err *);

/* How images name the processor that uname() calls `machine`: "x86_64" is "amd64". */
const char *image_architecture(const char *machine);

#endif
