/* Which last words mean that another process went first, as Python, gloo and NCCL print them, and
 * which errors are a process's own although they sound alike. */
#include "job/peer_error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_of_a_peer(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "ConnectionResetError: [Errno 104] Connection reset by peer\n",
        "EOFError",
        "EOFError\n",
        "RuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by peer [::1]:5\n",
        "[rank3]: Traceback (most recent call last):\n[rank3]:   File \"a.py\", line 1\n"
        "[rank3]: torch.distributed.DistBackendError: NCCL error in: x\n",
        "ValueError: x\n\nDuring handling of the above exception, another exception occurred:\n\n"
        "BrokenPipeError: [Errno 32] Broken pipe\n",
        "[E] [PG 0] Watchdog caught collective operation timeout: WorkNCCL(\nterminate called\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!peer_error_in(texts[i]))
            fail_msg("%s", texts[i]);
}

static void test_of_its_own(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "\n",
        "peer went away\n",
        "ValueError: Connection closed by peer\n",
        "RuntimeError: CUDA out of memory\n",
        "a warning: ConnectionResetError: is only mentioned\nstep 3\n",
        "ConnectionResetError: x\nDuring handling of the above exception\nKeyError: 'a'\n",
        "[unclosed\nMyError: x",
        "[rank1]: SystemExit: 3",
        "EOFError: EOF when reading a line\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (peer_error_in(texts[i]))
            fail_msg("%s", texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_a_peer),
        cmocka_unit_test(test_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
