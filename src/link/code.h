/* What an agent has asked for of its job's code, and waits for. Private to link/. */
#ifndef LINK_CODE_H
#define LINK_CODE_H

#include "base/vec.h"
#include "conn/conn.h"
#include "link/link.h"

#define WANTS_MAX 16 /* pieces that an agent asks for at once */

struct code_request {
    char hash[65];
    uint64_t offset;
    uint32_t len;
};
struct code_requests {
    VEC(struct code_request) kept;
};
struct code_route { /* to an agent */
    const struct link_code *code;
    const char *own; /* path of what was staged for it alone; NULL: nothing */
    struct generation of;
    struct conn *conn;
};
/* -1: no question of an agent's. scratch: for this call. */
int code_ask(struct code_requests *, const struct code_route *, const struct wire_frame *,
             struct arena *scratch);
void code_go_on(struct code_requests *, const struct code_route *); /* it has room */

#endif
