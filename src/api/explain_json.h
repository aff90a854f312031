/* Explanations as JSON. */
#ifndef API_EXPLAIN_JSON_H
#define API_EXPLAIN_JSON_H

#include "api/view_rows.h"

extern const struct view_row explain_rows[]; /* of a struct explain_view */

#endif
