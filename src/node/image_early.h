/* `muster-node image-early DIR BYTES DIGEST...`: an image comes into the store of this machine for
 * a job that waits in the queue, so that its tasks find it there. */
#ifndef NODE_IMAGE_EARLY_H
#define NODE_IMAGE_EARLY_H

/* The question as of image-digest, of a name with its digest. Prints "bytes N TOTAL" about once a
 * second as it comes (TOTAL 0: not known), and at the end "sha256:DIGEST", or why not. BYTES is the
 * limit of the store. Images of the DIGESTs, which jobs ahead want, are in use meanwhile. Pulls
 * that tasks wait for come first (node/fetch/turn.h). 0; 1: it cannot be had. */
int image_early_main(int argc, char **argv);

#endif
