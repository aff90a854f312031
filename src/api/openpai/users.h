/* Users, and what each may. Private to api/openpai/. */
#ifndef API_OPENPAI_USERS_H
#define API_OPENPAI_USERS_H

#include "api/openpai/request.h"

/* Groups that are always there. */
#define PAI_GROUP_ALL   "default"
#define PAI_GROUP_ADMIN "admingroup"
/* Everybody's virtual clusters and storages, as two members. */
void pai_put_rights(struct pai *, struct text_node *out, const char *clusters,
                    const char *storages);

void pai_users(struct pai *);
void pai_user(struct pai *);
void pai_user_create(struct pai *);
void pai_user_update(struct pai *);
void pai_user_me(struct pai *);
void pai_user_delete(struct pai *);
void pai_user_field(struct pai *);
void pai_user_password(struct pai *);
void pai_user_group(struct pai *);

#endif
