/* Storages. Private to api/openpai/. */
#ifndef API_OPENPAI_STORAGES_H
#define API_OPENPAI_STORAGES_H

#include "api/openpai/request.h"

void pai_storages(struct pai *);
void pai_storage(struct pai *);
void pai_storage_configs(struct pai *);
void pai_storage_servers(struct pai *);

#endif
