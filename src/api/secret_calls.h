/* Routes of secrets by name. */
#ifndef API_SECRET_CALLS_H
#define API_SECRET_CALLS_H

struct call;

void secrets_list(struct call *);
void secret_put(struct call *);
void secret_remove(struct call *);

#endif
