/* The façade for the vendor's own clients: PAI-DLC 2020-12-03 and AIWorkspace 2021-02-04, over
 * /api/v1 behind any prefix, told by x-acs-version. What works and what does not: doc/api-dlc.md.
 */
#ifndef API_DLC_DLC_H
#define API_DLC_DLC_H

#include "api/facade.h"

extern const struct facade dlc_facade;

#endif
