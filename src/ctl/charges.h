/* What live jobs hold, charged to their users in the queues. */
#ifndef CTL_CHARGES_H
#define CTL_CHARGES_H

#include "live/live.h"

struct ctl;

/* Before the commit, for all touched jobs: so nobody has to call anything when places are taken or
 * given. Writes the rows of users whose charge changed. */
void charges_record(struct ctl *);
void charges_release(struct ctl *, const struct live_job *); /* it is forgotten: holds nothing */
void charges_resume(struct ctl *, const struct live_job *);  /* it was loaded, held that before */

#endif
