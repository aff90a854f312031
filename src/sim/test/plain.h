/* Dialects for tests: the canonical form, read as it is. */
#ifndef SIM_TEST_PLAIN_H
#define SIM_TEST_PLAIN_H

#include "dialect/dialect.h"

const struct dialects *plain_dialects(void);

#endif
