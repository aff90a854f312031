/* `muster-node image-pack DIR BYTES`: an image as one file for machines, so that a registry is
 * asked for its layers once and not by each of them. */
#ifndef NODE_IMAGE_PACK_H
#define NODE_IMAGE_PACK_H

/* The question as of image-digest, of a name with its digest and without an account. Makes
 * DIR/DIGEST, a tar of what the registry gave, and prints "sha256:DIGEST"; or why not. Of other
 * such files the oldest go until all have at most so many bytes. 0; 1: it cannot be had. */
int image_pack_main(int argc, char **argv);

#endif
