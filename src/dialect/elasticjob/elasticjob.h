/* DLRover's ElasticJob (elastic.iml.github.io/v1alpha1) with Koordinator's gang annotations, and
 * the environment, exit classes and phase words that its pods and users rely on. What is honoured
 * and what differs: doc/dialect-elasticjob.md. */
#ifndef DIALECT_ELASTICJOB_ELASTICJOB_H
#define DIALECT_ELASTICJOB_ELASTICJOB_H

#include "dialect/dialect.h"

extern const struct dialect elasticjob_dialect;
extern const struct convention elasticjob_convention;

struct buf;
/* The field tables of the page, in Markdown, from the rows that decode. */
void elasticjob_reference(struct buf *out);

#endif
