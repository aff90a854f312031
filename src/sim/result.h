/* The outcome of a simulation as a document: what --json writes, and what the table, the page and
 * the comparison are made of. It holds nothing of the machine it was made on. */
#ifndef SIM_RESULT_H
#define SIM_RESULT_H

#include "sim/simulation.h"
#include "text/tree.h"

#define RESULT_VERSION 1

/* In arena. */
struct text_node *result_make(struct arena *, const struct simulation_config *,
                              struct simulation *);
/* A text that result_make's document was printed to; NULL: it is none, err says so. */
struct text_node *result_read(struct arena *, const char *file, const char *text, size_t len,
                              struct err *err);

/* Numbers of a result by dotted path ("utilisation.gpu"); false: not there. */
bool result_number(const struct text_node *result, const char *path, double *out);

#endif
