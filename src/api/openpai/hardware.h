/* Nodes, pods and alerts. Private to api/openpai/. */
#ifndef API_OPENPAI_HARDWARE_H
#define API_OPENPAI_HARDWARE_H

#include "api/openpai/request.h"

void pai_kubernetes_nodes(struct pai *);
void pai_kubernetes_pods(struct pai *);
void pai_alerts(struct pai *);

#endif
