/* Connections from their accept to their end, and how many descriptors who may hold. A visitor is a
 * stranger until a request of its had a credential (over a Unix socket the kernel says who it is):
 * strangers have a small budget and a short clock, and when there are too many, the one goes that
 * has waited longest of those who have most. Known ones may hold, each user for itself, three times
 * of what their door has left, so there is always room for another user. Private to http/. */
#ifndef HTTP_VISITS_H
#define HTTP_VISITS_H

#include <stdbool.h>
#include <stdint.h>

struct uv_loop_s;
struct peer;
struct visits;
struct visit;

struct visits_config {
    struct uv_loop_s *loop;
    unsigned stranger_timeout_s; /* as http/config.h has it */
    int first, bound; /* descriptors in use; those from there on are not for connections */
};
struct visits *visits_create(const struct visits_config *);
void visits_destroy(struct visits *); /* after the last visit. NULL-safe */

/* Just accepted. NULL: there is no room, the descriptor is closed. *full: others should go before
 * more are accepted. */
struct visit *visit_begin(struct visits *, int fd, bool local, const struct peer *, bool *full);
/* Its daemon's end, over TLS: two more descriptors. */
void visit_pass(struct visit *, int fd);
/* The connection with that descriptor, once more to be ended; NULL: none. */
struct visit *visit_share(struct visits *, int fd);
void visit_end(struct visit *); /* NULL-safe */

/* It says something: its clock begins anew, as long as it has not been a stranger for too long. */
void visit_heard(struct visit *);
/* A request was answered. */
void visit_served(struct visit *);
/* Its request has a credential of that user. */
void visit_known(struct visit *, const char *user);
/* It is one of too many: nothing that lasts is begun with it. */
bool visit_crowded(const struct visit *);
/* May such a descriptor be one that lasts beyond its request? */
bool visits_may_last(const struct visits *, int fd);

#endif
