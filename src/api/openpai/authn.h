/* The server, logging in, and tokens. Private to api/openpai/. */
#ifndef API_OPENPAI_AUTHN_H
#define API_OPENPAI_AUTHN_H

#include "api/openpai/request.h"

void pai_root(struct pai *);
void pai_root_text(struct pai *);
void pai_info(struct pai *);
void pai_login(struct pai *);
void pai_logout(struct pai *);
void pai_authn_info(struct pai *);
void pai_tokens(struct pai *);
void pai_token_application(struct pai *);
void pai_token_revoke(struct pai *);
void pai_token_check(struct pai *);

#endif
