/* A server with the façade alone, on a core of the tests' own that knows OpenPAI's formats: an
 * admin (who = "root"), ada, bob and eve, who is in ada's project. Requests go over TCP from a
 * thread of their own. */
#ifndef API_OPENPAI_TEST_FIXTURE_H
#define API_OPENPAI_TEST_FIXTURE_H

#include "api/test/served.h"

#define V1 "/rest-server/api/v1/"
#define V2 "/rest-server/api/v2/"

#define FIX_FORM "application/x-www-form-urlencoded"
#define FIX_YAML "text/yaml"

struct fix {
    struct served served;
    void (*run)(struct fix *);
    char me[64]; /* the admin's name */
    struct {
        char name[16], token[64];
    } users[3];
};
int fix_set_up(void **state);
int fix_set_up_open(void **state); /* with open reading */
int fix_tear_down(void **state);
void fix_run(void **state, void (*run)(struct fix *)); /* in the client's thread */

/* who of a row: "root" the admin, a user's name, "" nobody, else a token. */
struct reply fix_ask(struct fix *, const struct row *);
/* Each row's status and part are as they say. */
void fix_rows(struct fix *, const struct row *, size_t n);
/* Until the answer to the row has its part. */
void fix_await(struct fix *, const struct row *);
const char *fix_text(const struct text_node *map, const char *key); /* fails when there is none */

#endif
