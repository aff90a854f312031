/* Two pipes that all ranks of a round share. A rank writes its number into the first one and then
 * reads from the second one, which is closed here when the last number is known. Numbers are
 * counted rather than ends of the pipe, because what a rank forked may hold its ends. */
#include "launch/exit_gate.h"

#include <fcntl.h>
#include <unistd.h>

int exit_gate_open(struct exit_gate *gate, struct arena *arena, uint32_t n, struct err *err)
{
    exit_gate_close(gate);
    gate->here = ARENA_ARRAY(arena, n, bool);
    gate->n = gate->missing = n;
    if (pipe2(gate->report, O_CLOEXEC) == 0 && pipe2(gate->release, O_CLOEXEC) == 0 &&
        fcntl(gate->report[0], F_SETFL, O_NONBLOCK) == 0)
        return 0;
    (void)err_sys(err, "pipes for the end of the ranks");
    exit_gate_close(gate);
    return -1;
}

const char *exit_gate_variable(const struct exit_gate *gate, struct arena *arena,
                               uint32_t local_rank)
{
    return arena_printf(arena, "MUSTER_EXIT_GATE=%d,%d,%u", gate->report[1], gate->release[0],
                        local_rank);
}

void exit_gate_ends(const struct exit_gate *gate, int ends[2])
{
    ends[0] = gate->report[1];
    ends[1] = gate->release[0];
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

void exit_gate_started(struct exit_gate *gate)
{
    close_end(&gate->report[1]);
    close_end(&gate->release[0]);
}

int exit_gate_reports(const struct exit_gate *gate)
{
    return gate->report[0];
}

void exit_gate_read(struct exit_gate *gate)
{
    uint32_t local_rank;
    while (gate->report[0] >= 0) {
        ssize_t n = read(gate->report[0], &local_rank, sizeof local_rank);
        if (n == (ssize_t)sizeof local_rank)
            exit_gate_arrive(gate, local_rank);
        else if (n >= 0)
            close_end(&gate->report[0]); /* all have ended, or one writes nonsense */
        else
            return;
    }
}

void exit_gate_arrive(struct exit_gate *gate, uint32_t local_rank)
{
    if (local_rank >= gate->n || gate->here[local_rank])
        return;
    gate->here[local_rank] = true;
    if (--gate->missing == 0)
        exit_gate_release(gate);
}

void exit_gate_release(struct exit_gate *gate)
{
    close_end(&gate->release[1]);
}

void exit_gate_close(struct exit_gate *gate)
{
    for (int i = 0; i < 2; i++) {
        close_end(&gate->report[i]);
        close_end(&gate->release[i]);
    }
    gate->n = gate->missing = 0;
}
