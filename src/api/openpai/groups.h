/* Groups: there are as many as there are roles. Private to api/openpai/. */
#ifndef API_OPENPAI_GROUPS_H
#define API_OPENPAI_GROUPS_H

#include "api/openpai/request.h"

void pai_groups(struct pai *);
void pai_group(struct pai *);
void pai_group_users(struct pai *);
void pai_group_change(struct pai *);

#endif
