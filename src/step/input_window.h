/* How far input of a step may go: a node says up to which byte it takes, so that it reads on
 * (signals, beats) while its tasks do not read. */
#ifndef STEP_INPUT_WINDOW_H
#define STEP_INPUT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INPUT_WINDOW (256u << 10) /* bytes that a task has not taken yet */

/* ---- srun's end, of each node ---- */

struct input_window {
    uint64_t sent, end; /* bytes, of all input to that node; end 0: it has said nothing yet */
};
bool input_window_has_room(const struct input_window *);
/* A node answered: 0 says no end (a node of before), which is no bound. true: it moved. */
bool input_window_move(struct input_window *, uint64_t end);

/* ---- the node's end ---- */

struct input_account {
    uint64_t came, told; /* bytes that came; the end that was told last */
};
/* most: that wait for a task now. The end; true: it is so much farther that it is to be told. */
uint64_t input_account_end(const struct input_account *, size_t most);
bool input_account_is_news(const struct input_account *, size_t most);

#endif
