/* Ends only move on: a byte that came is counted once, and what waits for a task becomes less only
 * as it is taken. srun looks before it reads a piece, so up to a piece more than the window is
 * under way. */
#include "step/input_window.h"

bool input_window_has_room(const struct input_window *w)
{
    return w->sent < w->end;
}

bool input_window_move(struct input_window *w, uint64_t end)
{
    uint64_t before = w->end;
    if (end == 0)
        w->end = UINT64_MAX;
    else if (end > w->end)
        w->end = end;
    return w->end != before;
}

uint64_t input_account_end(const struct input_account *t, size_t most)
{
    return t->came - most + INPUT_WINDOW;
}

bool input_account_is_news(const struct input_account *t, size_t most)
{
    return input_account_end(t, most) >= t->told + INPUT_WINDOW / 2;
}
