/* What can be asked for. Private to api/openpai/. */
#ifndef API_OPENPAI_ROUTES_H
#define API_OPENPAI_ROUTES_H

#include "api/openpai/request.h"

const struct pai_route *pai_routes(size_t *n);

#endif
