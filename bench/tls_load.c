/* What TLS costs the two ends of an agent's connection, each with its own library:
 *
 *   full, resumed   one handshake, in ms of processor time
 *   mb_s            bytes sent and read, in MB a second of processor time
 *   kb              memory of one connection that is quiet after some use
 *
 *   tls_load [CONNECTIONS]     prints one JSON document
 */
#include "base/mem.h"
#include "tls/server.h"
#include "tls/test/made.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define BYTES ((size_t)64 << 20)

enum end { CLIENT, SERVER, ENDS };
struct figures {
    double full_ms[ENDS], resumed_ms[ENDS], mb_s[ENDS], kb[ENDS];
};
struct pair {
    struct transport *at[ENDS];
};

static struct made made;
static struct tls_server *server;

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1000 + (double)t.tv_nsec / 1e6;
}

static double memory_kb(void)
{
    struct mallinfo2 info = mallinfo2();
    return (double)(info.uordblks + info.hblkhd) / 1024;
}

static struct pair open_pair(struct tls_client *client, double kb[ENDS])
{
    int fds[2];
    struct pair pair;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        BUG("no socket pair: a lower number of connections may do");
    double before = memory_kb();
    pair.at[CLIENT] = tls_client_transport(client, fds[0]);
    double between = memory_kb();
    pair.at[SERVER] = tls_server_transport(server, fds[1]);
    kb[CLIENT] += between - before;
    kb[SERVER] += memory_kb() - between;
    return pair;
}

static void agree(struct pair *pair, double ms[ENDS], double kb[ENDS])
{
    enum transport_state state[ENDS] = { TRANSPORT_WAIT_IN, TRANSPORT_WAIT_IN };
    while (state[CLIENT] != TRANSPORT_READY || state[SERVER] != TRANSPORT_READY)
        for (enum end e = 0; e < ENDS; e++) {
            double began = cpu_ms(), had = memory_kb();
            if (state[e] != TRANSPORT_READY)
                state[e] = pair->at[e]->calls->start(pair->at[e]);
            if (state[e] == TRANSPORT_BROKEN)
                BUG("%s", pair->at[e]->why);
            ms[e] += cpu_ms() - began;
            kb[e] += memory_kb() - had;
        }
}

static void carry(struct pair *pair, size_t bytes, double ms[ENDS], double kb[ENDS])
{
    static uint8_t out[16384], in[16384];
    for (size_t got = 0, n; got < bytes; got += n) {
        double began = cpu_ms(), had = memory_kb();
        pair->at[CLIENT]->calls->write(pair->at[CLIENT], out, sizeof out, &n);
        double between = cpu_ms();
        kb[CLIENT] += memory_kb() - had;
        had = memory_kb();
        pair->at[SERVER]->calls->read(pair->at[SERVER], in, sizeof in, &n);
        ms[CLIENT] += between - began;
        ms[SERVER] += cpu_ms() - between;
        kb[SERVER] += memory_kb() - had;
    }
}

static struct figures measure(size_t times)
{
    struct figures f = { 0 };
    struct pair *pairs = mem_new(times * sizeof *pairs);
    struct tls_client **clients = mem_new(times * sizeof *clients);
    double ignored[ENDS], ms[ENDS] = { 0 };
    for (size_t i = 0; i < times; i++) {
        clients[i] = tls_client_create(made.pin);
        pairs[i] = open_pair(clients[i], f.kb);
        agree(&pairs[i], f.full_ms, f.kb);
        carry(&pairs[i], 32768, ignored, f.kb);
    }
    carry(&pairs[0], BYTES, ms, ignored);
    for (size_t i = 0; i < times; i++) {
        for (enum end e = 0; e < ENDS; e++)
            pairs[i].at[e]->calls->close(pairs[i].at[e]);
        pairs[i] = open_pair(clients[i], ignored);
        agree(&pairs[i], f.resumed_ms, ignored);
        if (!tls_server_resumed(pairs[i].at[SERVER]))
            BUG("a session was not resumed");
        for (enum end e = 0; e < ENDS; e++)
            pairs[i].at[e]->calls->close(pairs[i].at[e]);
        tls_client_destroy(clients[i]);
    }
    for (enum end e = 0; e < ENDS; e++) {
        f.full_ms[e] /= (double)times;
        f.resumed_ms[e] /= (double)times;
        f.kb[e] /= (double)times;
        f.mb_s[e] = (double)BYTES / 1e6 / ms[e] * 1000;
    }
    free(clients);
    free(pairs);
    return f;
}

int main(int argc, char **argv)
{
    size_t times = argc > 1 ? strtoul(argv[1], NULL, 10) : 200;
    if (times == 0 || times > 100000) {
        fprintf(stderr, "tls_load: CONNECTIONS, 1 to 100000\n");
        return 2;
    }
    make_certificate(&made);
    struct tls_server_config config = { .chain = made.chain, .key = made.key };
    memset(config.ticket_key, 1, sizeof config.ticket_key);
    server = tls_server_create(&config, NULL);
    struct figures f = measure(times);
    for (enum end e = 0; e < ENDS; e++)
        printf(
            "%s\"%s\": {\"full_ms\": %.3f, \"resumed_ms\": %.3f, \"mb_s\": %.0f, \"kb\": %.1f}%s",
            e ? " " : "{", e ? "server" : "client", f.full_ms[e], f.resumed_ms[e], f.mb_s[e],
            f.kb[e], e ? "}\n" : ",\n");
    tls_server_destroy(server);
    return 0;
}
