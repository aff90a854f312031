/* Why a job waits, in words for answers, lists and events. */
#ifndef CTL_REASONS_H
#define CTL_REASONS_H

#include "ctl/live.h"

struct ctl;
const char *reason_word(enum wait_why); /* "resource", "quota" ...; NULL: WAIT_NONE */
/* The reason's own line, with the number and name of the job that it is about; in arena. */
const char *reason_text(struct ctl *, struct arena *, const struct wait_reason *);

#endif
