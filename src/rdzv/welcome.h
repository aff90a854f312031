/* WELCOME: what a member that waits is told, and when again. */
#ifndef RDZV_WELCOME_H
#define RDZV_WELCOME_H

#include <stdint.h>

struct member;
struct rdzv;
void welcome_describe(struct rdzv *); /* the text of what is waited for, anew */
void welcome_send(struct rdzv *, const struct member *);
void welcome_waiting(struct rdzv *, uint64_t now_us); /* tells all who wait, not too often */
uint64_t welcome_due(const struct rdzv *);            /* when to call that again */

#endif
