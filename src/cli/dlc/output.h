/* What `dlc` prints. Internal to this folder. */
#ifndef CLI_DLC_OUTPUT_H
#define CLI_DLC_OUTPUT_H

#include "base/arena.h"
#include "text/tree.h"

/* "| JobId | RequestId |" with its frame; cells row by row, the first row is the head. */
void dlc_table(struct arena *, const char *const *cells, size_t columns, size_t rows);
void dlc_json(const struct text_node *);
const char *dlc_request_id(struct arena *);

#endif
