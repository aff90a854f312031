/* What of this façade outlives a request. */
#ifndef API_DLC_STATE_H
#define API_DLC_STATE_H

#include "api/dlc/nonces.h"
#include "api/dlc/terminal.h"

struct dlc_state {
    struct nonces *nonces;       /* signatures and addresses of terminals that were used */
    struct terminals *terminals; /* that are open */
};

#endif
