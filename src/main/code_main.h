/* Reads an archive of code that somebody sent, in a process of its own that may do nothing else. */
#ifndef MAIN_CODE_MAIN_H
#define MAIN_CODE_MAIN_H

/* "check-code HASH BYTES FILES": the gzipped tar on stdin has that SHA-256 and unpacks to a plain
 * tree of no more. 0; or 1 and the error on stdout: its word, a space, its text. */
int code_main(int argc, char **argv);

#endif
