/* A note is a head of big-endian numbers and a text. From the others to index 0: what it can, then
 * that it has passed or how it failed. From index 0: what all do, then that all have passed or who
 * failed. A connection that closes without that is a failure too: nobody waits for who is gone. */
#include "launch/check_group.h"

#include "base/clock.h"
#include "base/mem.h"
#include "launch/check_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum kind { NOTE_ABILITY = 1, NOTE_PLAN, NOTE_PASSED, NOTE_FAILED };

struct head { /* on the wire */
    uint32_t kind, who, other, a, b, len;
};
struct check_message {
    enum kind kind;
    uint32_t who, other, a, b; /* ability: can, nccl; plan: backend, because */
    char text[CHECK_WHY_MAX];
};

void check_group_init(struct check_group *group, const struct check_task *task)
{
    *group = (struct check_group){ .task = task };
    for (size_t i = 0; i < CHECK_PARTNERS_MAX; i++)
        group->fds[i] = -1;
}

static void leave(struct check_group *group, uint32_t index)
{
    if (group->fds[index] >= 0)
        close(group->fds[index]);
    group->fds[index] = -1;
}

void check_group_close(struct check_group *group)
{
    for (uint32_t i = 0; i < CHECK_PARTNERS_MAX; i++)
        leave(group, i);
}

const char *check_group_name(const struct check_task *task, uint32_t index,
                             char out[CHECK_NAME_MAX])
{
    snprintf(out, CHECK_NAME_MAX, "%.255s port %u", task->order->peers[index].addr,
             task->order->peers[index].port);
    return out;
}

static int fail(const struct check_group *group, uint32_t who, const char *what,
                char why[CHECK_WHY_MAX])
{
    char name[CHECK_NAME_MAX];
    check_why(why, "%s: %s", check_group_name(group->task, who, name), what);
    return -1;
}

/* ---- notes ---- */

static int send_note(int fd, const struct check_message *note)
{
    size_t len = strlen(note->text);
    struct head head = { .kind = htonl(note->kind),
                         .who = htonl(note->who),
                         .other = htonl(note->other),
                         .a = htonl(note->a),
                         .b = htonl(note->b),
                         .len = htonl((uint32_t)len) };
    return check_send(fd, &head, sizeof head) < 0 || check_send(fd, note->text, len) < 0 ? -1 : 0;
}

static int recv_note(int fd, struct check_message *note)
{
    struct head head;
    if (check_recv(fd, &head, sizeof head) < 0)
        return -1;
    size_t len = ntohl(head.len);
    *note = (struct check_message){ .kind = (enum kind)ntohl(head.kind),
                                    .who = ntohl(head.who),
                                    .other = ntohl(head.other),
                                    .a = ntohl(head.a),
                                    .b = ntohl(head.b) };
    if (len >= sizeof note->text) {
        errno = EBADMSG;
        return -1;
    }
    if (check_recv(fd, note->text, len) < 0)
        return -1;
    for (size_t i = 0; i < len; i++) /* it is shown to people */
        if ((unsigned char)note->text[i] < ' ' || note->text[i] == 127)
            note->text[i] = ' ';
    return 0;
}

/* Best effort: who does not take it finds the connection closed. */
static void tell_others(struct check_group *group, const struct check_message *note, uint32_t but)
{
    for (uint32_t i = 0; i < CHECK_PARTNERS_MAX; i++)
        if (i != but && group->fds[i] >= 0)
            (void)send_note(group->fds[i], note);
}

/* ---- waiting ---- */

enum check_source check_group_wait(struct check_group *group, int fd, uint64_t ms, uint32_t *who)
{
    struct pollfd at[CHECK_PARTNERS_MAX + 1];
    uint32_t of[CHECK_PARTNERS_MAX + 1];
    nfds_t n = 0;
    at[n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
    for (uint32_t i = 0; group && i < CHECK_PARTNERS_MAX; i++)
        if (group->fds[i] >= 0) {
            of[n] = i;
            at[n++] = (struct pollfd){ .fd = group->fds[i], .events = POLLIN };
        }
    uint64_t until = clock_mono_ms() + ms;
    int rc;
    do {
        uint64_t now = clock_mono_ms();
        rc = poll(at, n, now < until ? (int)(until - now) : 0);
    } while (rc < 0 && errno == EINTR);
    for (nfds_t i = 1; rc > 0 && !at[0].revents && i < n; i++)
        if (at[i].revents) {
            *who = of[i];
            return CHECK_SOURCE_PARTNER;
        }
    return rc > 0 ? CHECK_SOURCE_FD : CHECK_SOURCE_NONE;
}

/* The first partner whose connection is open; CHECK_PARTNERS_MAX: none. */
static uint32_t first_open(const struct check_group *group)
{
    uint32_t i = 0;
    while (i < CHECK_PARTNERS_MAX && group->fds[i] < 0)
        i++;
    return i;
}

/* ---- what all can, what all do ---- */

static void read_ability(const struct check_message *note, struct check_ability *out)
{
    *out = (struct check_ability){ .can = note->a < CHECK_CAN_N ? (enum check_can)note->a
                                                                : CHECK_CAN_UNKNOWN,
                                   .nccl = note->b != 0 };
    snprintf(out->device, sizeof out->device, "%.*s", (int)sizeof out->device - 1, note->text);
}

/* Abilities of all others, up to the first that failed or is gone: nothing is done together then,
 * and nobody is waited for. Its text is in why. Who is gone; UINT32_MAX: nobody. */
static uint32_t hear_abilities(struct check_group *group, struct check_ability *of,
                               char why[CHECK_WHY_MAX])
{
    uint64_t until = group->met_ms + group->task->agree_ms;
    struct check_group waiting = *group; /* those that have not said it */
    struct check_message note;
    for (uint32_t who; (who = first_open(&waiting)) < CHECK_PARTNERS_MAX;) {
        uint64_t now = clock_mono_ms();
        if (check_group_wait(&waiting, -1, now < until ? until - now : 0, &who) ==
            CHECK_SOURCE_NONE) {
            check_why(why, "did not say in time what it can");
            return who;
        }
        waiting.fds[who] = -1;
        if (recv_note(group->fds[who], &note) < 0 || note.kind != NOTE_ABILITY) {
            check_why(why, "its check has ended");
            return who;
        }
        read_ability(&note, &of[who]);
        if (of[who].can == CHECK_CAN_FAILED) {
            check_why(why, "%s", note.text);
            break;
        }
    }
    return UINT32_MAX;
}

/* A plan of nothing because of somebody's fault is a failure with that partner. */
static int judge_plan(const struct check_group *group, const struct check_plan *plan,
                      const char *text, char why[CHECK_WHY_MAX])
{
    if (plan->because == CHECK_BECAUSE_GONE)
        return fail(group, plan->who, text, why);
    if (plan->because != CHECK_BECAUSE_FAILED)
        return 0;
    char by_itself[CHECK_WHY_MAX];
    check_why(by_itself, "it failed by itself: %s", text);
    return fail(group, plan->who, by_itself, why);
}

static int decide(struct check_group *group, const struct check_ability *own, const char *own_why,
                  struct check_plan *plan, char why[CHECK_WHY_MAX])
{
    struct check_ability of[CHECK_PARTNERS_MAX] = { [0] = *own };
    struct check_message note = { .kind = NOTE_PLAN };
    snprintf(note.text, sizeof note.text, "%s", own_why);
    uint32_t gone = UINT32_MAX;
    if (own->can != CHECK_CAN_FAILED)
        gone = hear_abilities(group, of, note.text);
    *plan = check_plan_make(of, group->task->order->n);
    if (gone != UINT32_MAX)
        *plan = (struct check_plan){ .because = CHECK_BECAUSE_GONE, .who = gone };
    note.a = plan->backend;
    note.b = plan->because;
    note.who = plan->who;
    note.other = plan->other;
    tell_others(group, &note, UINT32_MAX);
    return own->can == CHECK_CAN_FAILED ? 0 : judge_plan(group, plan, note.text, why);
}

static bool read_plan(const struct check_group *group, const struct check_message *note,
                      struct check_plan *plan)
{
    const size_t n = group->task->order->n;
    *plan = (struct check_plan){ .backend = (enum check_backend)note->a,
                                 .because = (enum check_because)note->b,
                                 .who = note->who,
                                 .other = note->other };
    return note->kind == NOTE_PLAN && note->a < CHECK_BACKEND_N && note->b < CHECK_BECAUSE_N &&
           note->who < n && note->other < n;
}

static int ask(struct check_group *group, const struct check_ability *own, const char *own_why,
               struct check_plan *plan, char why[CHECK_WHY_MAX])
{
    const struct check_task *task = group->task;
    struct check_message note = { .kind = NOTE_ABILITY, .a = own->can, .b = own->nccl };
    bool failed = own->can == CHECK_CAN_FAILED;
    uint64_t until = group->met_ms + task->agree_ms + task->patience_ms, now = clock_mono_ms();
    snprintf(note.text, sizeof note.text, "%s", failed ? own_why : own->device);
    *plan = (struct check_plan){ .backend = CHECK_BACKEND_NONE };
    if (send_note(group->fds[0], &note) < 0 && !failed)
        return fail(group, 0, check_errno(), why);
    if (failed)
        return 0;
    check_limit(group->fds[0], now < until ? until - now : 1);
    if (recv_note(group->fds[0], &note) < 0)
        return fail(group, 0, errno == ECONNRESET ? "its check has ended" : check_errno(), why);
    if (!read_plan(group, &note, plan))
        return fail(group, 0, "it does not speak as this launcher does", why);
    return judge_plan(group, plan, note.text, why);
}

int check_group_agree(struct check_group *group, const struct check_ability *own,
                      const char *own_why, struct check_plan *plan, char why[CHECK_WHY_MAX])
{
    return group->task->order->index == 0 ? decide(group, own, own_why, plan, why)
                                          : ask(group, own, own_why, plan, why);
}

/* ---- how it went ---- */

int check_group_hear(struct check_group *group, uint32_t who, char why[CHECK_WHY_MAX])
{
    struct check_message note;
    uint32_t guilty = who;
    bool told = recv_note(group->fds[who], &note) == 0;
    if (told && note.kind == NOTE_PASSED) {
        leave(group, who);
        return 0;
    }
    if (!told || note.kind != NOTE_FAILED)
        note = (struct check_message){ .kind = NOTE_FAILED, .text = "its check has ended" };
    else if (who == 0 && note.who < group->task->order->n)
        guilty = note.who;
    note.who = guilty;
    if (group->task->order->index == 0)
        tell_others(group, &note, who);
    return fail(group, guilty, note.text, why);
}

int check_group_end(struct check_group *group, const char *own_why, uint64_t ms,
                    char why[CHECK_WHY_MAX])
{
    uint64_t until = clock_mono_ms() + ms;
    struct check_message note = { .kind = own_why ? NOTE_FAILED : NOTE_PASSED,
                                  .who = group->task->order->index };
    if (own_why || group->task->order->index != 0) {
        snprintf(note.text, sizeof note.text, "%s", own_why ? own_why : "");
        tell_others(group, &note, UINT32_MAX);
        return 0;
    }
    /* Connections stay open until all have passed: one that closes is a failure. */
    for (uint32_t who; (who = first_open(group)) < CHECK_PARTNERS_MAX;) {
        uint64_t now = clock_mono_ms();
        if (check_group_wait(group, -1, now < until ? until - now : 0, &who) == CHECK_SOURCE_NONE)
            return fail(group, who, "no answer in time", why);
        if (check_group_hear(group, who, why) < 0)
            return -1;
    }
    return 0;
}
