/* What is done to the records of a server that does not run. */
#ifndef MAIN_RECORDS_MAIN_H
#define MAIN_RECORDS_MAIN_H

#include "cli/host.h"

/* A document about what was found or done, in arena; NULL with err. */
struct text_node *records_main(struct arena *, const struct cli_records *, struct err *err);

#endif
