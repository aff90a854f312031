/* The documents of a text: which of them are meant. Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_DOCUMENTS_H
#define DIALECT_ELASTICJOB_DOCUMENTS_H

#include "dialect/elasticjob/reader.h"

/* The documents of a text: the one ElasticJob (NULL: reported) and the PodGroups beside it. */
const struct text_node *ej_documents(struct ej_reader *, const struct text_node *root);
int ej_detect(const struct text_node *root);

#endif
