/* Virtual clusters. Private to api/openpai/. */
#ifndef API_OPENPAI_CLUSTERS_H
#define API_OPENPAI_CLUSTERS_H

#include "api/openpai/request.h"

void pai_clusters(struct pai *);
void pai_cluster(struct pai *);
void pai_cluster_change(struct pai *);
void pai_skus(struct pai *);

#endif
