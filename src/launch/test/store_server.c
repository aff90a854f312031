/* A store on loopback for tests and measurements: prints its port, serves until stdin ends, then
 * prints what is left in it. --total BYTES, --hello MS and --connections N set limits. */
#include "base/scan.h"
#include "launch/store.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void on_stdin(uv_poll_t *poll, int status, int events)
{
    char piece[256];
    (void)status;
    (void)events;
    if (read(STDIN_FILENO, piece, sizeof piece) <= 0)
        uv_stop(poll->loop);
}

static int usage(void)
{
    fprintf(stderr, "usage: launch_store_server [--total BYTES] [--hello MS] [--connections N]\n");
    return 2;
}

static int read_options(int argc, char **argv, struct store_limits *limits)
{
    for (int i = 1; i < argc; i += 2) {
        uint64_t n;
        if (i + 1 == argc || !scan_u64(argv[i + 1], 1, UINT32_MAX, &n))
            return -1;
        if (strcmp(argv[i], "--total") == 0)
            limits->total_bytes = (size_t)n;
        else if (strcmp(argv[i], "--hello") == 0)
            limits->hello_ms = n;
        else if (strcmp(argv[i], "--connections") == 0)
            limits->connections = (unsigned)n;
        else
            return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct store_limits limits = store_default_limits;
    struct err err;
    uv_loop_t loop;
    uv_poll_t input;
    if (read_options(argc, argv, &limits) != 0)
        return usage();
    if (uv_loop_init(&loop) != 0 || uv_poll_init(&loop, &input, STDIN_FILENO) != 0) {
        fprintf(stderr, "launch_store_server: stdin is to be a pipe\n");
        return 1;
    }
    struct store_server *store = store_open(&loop, "127.0.0.1", 0, &limits, &err);
    if (!store) {
        fprintf(stderr, "launch_store_server: %s\n", err.what);
        return 1;
    }
    uv_poll_start(&input, UV_READABLE, on_stdin);
    printf("%u\n", (unsigned)store_port(store));
    fflush(stdout);
    uv_run(&loop, UV_RUN_DEFAULT);
    printf("connections=%zu keys=%zu\n", store_connections(store), store_keys(store));
    store_close(store);
    uv_close((uv_handle_t *)&input, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop) != 0;
}
