/* The core and its catalogue (catalogue/declarations.h), which it gives a turn. Inside ctl/. */
#ifndef CTL_CATALOGUE_WORK_H
#define CTL_CATALOGUE_WORK_H

struct catalogue;
struct ctl;
struct err;

/* Makes it, after accounts and queues. -1: queues of the settings make no sense. */
int catalogue_work_begin(struct ctl *, struct err *);
void catalogue_work_end(struct ctl *);
const struct catalogue *core_catalogue(const struct ctl *);

#endif
