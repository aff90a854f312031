/* HTTP/1.0, because its answers end with the connection: no lengths, no pieces. What comes is
 * bounded, and so is the time that nothing comes.
 *
 * Inputs: MUSTER_SERVER and the token of the job, from the environment. Effects: the request's. */
#include "step/ask.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/socket_path.h"
#include "text/json.h"
#include "wire/gateway.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_MAX (64u << 20)
#define HEAD_MAX   4096u
#define SILENCE_S  60
#define UNIX       "unix:"
#define GATEWAY    "/" GATEWAY_SOCKET

int ask_fail(const char *name, const char *what, const char *value, const char *hint)
{
    fprintf(stderr, "%s: error: %s%s%s\n", name, what, *value ? " " : "", value);
    if (*hint)
        fprintf(stderr, "%s: %s\n", name, hint);
    return 1;
}

/* ---- the request ---- */

void ask_escape(struct buf *path, const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    for (; *text; text++) {
        if (strchr(plain, *text))
            buf_putc(path, *text);
        else
            buf_addf(path, "%%%02X", (unsigned char)*text);
    }
}

void ask_query(struct buf *path, const char *key, const char *value)
{
    if (!value)
        return;
    buf_addf(path, "%c%s=", strchr(buf_str(path), '?') ? '&' : '?', key);
    ask_escape(path, value);
}

static const char *socket_path(void)
{
    const char *server = getenv("MUSTER_SERVER");
    return server && strncmp(server, UNIX, strlen(UNIX)) == 0 ? server + strlen(UNIX) : NULL;
}

bool ask_is_elsewhere(void)
{
    const char *path = socket_path();
    const size_t n = path ? strlen(path) : 0;
    return n >= strlen(GATEWAY) && strcmp(path + n - strlen(GATEWAY), GATEWAY) == 0;
}

/* The user's own token comes first, as for muster itself. */
static void put_head(struct buf *out, const struct ask *ask)
{
    const char *token = getenv("MUSTER_TOKEN");
    if (!token || !*token)
        token = getenv("MUSTER_JOB_TOKEN");
    buf_addf(out, "%s %s HTTP/1.0\r\nHost: muster\r\n", ask->method, ask->path);
    if (token && *token && !strpbrk(token, "\r\n"))
        buf_addf(out, "Authorization: Bearer %s\r\n", token);
    buf_addf(out, "Content-Length: %zu\r\n\r\n", ask->len);
    buf_add(out, ask->body, ask->len);
}

/* ---- the connection ---- */

static int open_socket(const char *path, struct err *err)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    const struct timeval limit = { .tv_sec = SILENCE_S };
    if (!path) {
        err_set(err, ERR_INPUT, "MUSTER_SERVER names no socket of a server");
        return err_hint(err, "this is for programs of jobs that have server: submit");
    }
    if (socket_path_check(path, err) < 0)
        return -1;
    memcpy(to.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 ||
        connect(fd, (const struct sockaddr *)&to, sizeof to) != 0) {
        err_sys(err, "no server answers at %s", path);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    return fd;
}

static int exchange(int fd, const struct buf *request, struct buf *answer, struct err *err)
{
    char piece[16384];
    for (size_t sent = 0; sent < request->len;) {
        ssize_t n = send(fd, request->data + sent, request->len - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) /* one that refuses early has answered */
            break;
        sent += (size_t)n;
    }
    for (;;) {
        ssize_t n = read(fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && answer->len == 0)
            return err_sys(err, "the server does not answer");
        if (n <= 0)
            break;
        buf_add(answer, piece, (size_t)n);
    }
    return answer->overflow
               ? err_set(err, ERR_TOO_LARGE, "the answer is larger than %u MiB", ANSWER_MAX >> 20)
               : 0;
}

/* ---- the answer ---- */

/* What is wrong with which line of a script stands in a list. */
static void say_problem(const char *name, const struct text_node *problem, unsigned status)
{
    char fallback[64];
    snprintf(fallback, sizeof fallback, "the server answered %u", status);
    const struct text_node *list = problem ? text_get(problem, "errors") : NULL;
    const char *what = problem ? text_word(problem, "detail") : "";
    for (const struct text_node *n = list ? list->first : NULL; n; n = n->next) {
        char line[32] = "";
        if (text_number(n, "line"))
            snprintf(line, sizeof line, "line %llu:", (unsigned long long)text_number(n, "line"));
        ask_fail(name, *line ? line : text_word(n, "what"), *line ? text_word(n, "what") : "",
                 text_word(n, "hint"));
    }
    if (!list || !list->first) /* else it says the first of them again */
        ask_fail(name, *what ? what : fallback, "", problem ? text_word(problem, "hint") : "");
}

/* "HTTP/1.1 201 Created"; 0: it is no answer. */
static unsigned status_of(const struct buf *answer)
{
    static const char front[] = "HTTP/1.";
    const size_t at = sizeof front + 1; /* behind the digit and the blank */
    uint64_t status;
    if (answer->len < at + 3 || strncmp(answer->data, front, sizeof front - 1) != 0)
        return 0;
    AUTO_FREE char *word = mem_strndup(answer->data + at, 3);
    return scan_u64(word, 100, 599, &status) ? (unsigned)status : 0;
}

/* A problem of ours; NULL. */
static const struct text_node *refuse(const char *name, const struct ask *ask, const char *what,
                                      const char *hint)
{
    if (!ask->status)
        ask_fail(name, what, "", hint);
    return NULL;
}

static const struct text_node *read_answer(const char *name, struct arena *a, const struct ask *ask,
                                           const struct buf *answer)
{
    struct report report;
    const unsigned status = status_of(answer);
    const char *end = answer->len ? memmem(answer->data, answer->len, "\r\n\r\n", 4) : NULL;
    if (!end || !status)
        return refuse(name, ask, "the server hung up", "");
    const char *body = end + 4;
    report_init(&report, a);
    const struct text_node *root =
        json_parse(a, body, answer->len - (size_t)(body - answer->data), JSON_ANSWER, &report);
    const bool good = status >= 200 && status < 300;
    if (good && !root)
        return refuse(name, ask, "the server's answer breaks off", "");
    if (ask->status)
        *ask->status = status;
    else if (!good)
        say_problem(name, root, status);
    return good ? root : NULL;
}

const struct text_node *ask_server(const char *name, struct arena *a, const struct ask *ask)
{
    AUTO_BUF struct buf request = BUF_INIT(ask->len + strlen(ask->path) + HEAD_MAX);
    AUTO_BUF struct buf answer = BUF_INIT(ANSWER_MAX);
    struct err err = { .what = "" };
    if (ask->status)
        *ask->status = 0;
    put_head(&request, ask);
    if (request.overflow)
        return refuse(name, ask, "the token in MUSTER_TOKEN or MUSTER_JOB_TOKEN is too long", "");
    AUTO_CLOSE int fd = open_socket(socket_path(), &err);
    if (fd < 0 || exchange(fd, &request, &answer, &err) < 0)
        return refuse(name, ask, err.what, err.hint);
    return read_answer(name, a, ask, &answer);
}
