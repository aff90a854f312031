/* The writing end of a task's stdin: of a pipe, or of its terminal. It holds no bytes itself: who
 * writes keeps what the task has not taken yet. */
#ifndef NODE_INPUT_H
#define NODE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct input;
/* fd is given away. ready: a write took less than it was given, and more is taken now. */
struct input *input_create(uv_loop_t *, int fd, bool tty);
void input_destroy(struct input *); /* NULL-safe; the task finds the end */
void input_on_ready(struct input *, void (*ready)(void *arg), void *arg);

/* Bytes that were taken, without waiting: all of them when nobody reads any more. */
size_t input_write(struct input *, const void *, size_t len);
/* No more comes: a pipe is closed for good, a terminal is told what Ctrl-D tells it. */
void input_end(struct input *);
void input_resize(struct input *, uint16_t rows, uint16_t cols); /* of a terminal */

#endif
