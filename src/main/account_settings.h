/* What the settings say about accounts, held against this machine before the server serves. */
#ifndef MAIN_ACCOUNT_SETTINGS_H
#define MAIN_ACCOUNT_SETTINGS_H

#include "base/err.h"
#include "main/config.h"

/* Waits until the name service has answered; not for longer than accounts_check() does. program:
 * muster itself. -1: with these settings jobs of others could not run, though they look as if they
 * should. */
int account_settings_check(const struct config *, const char *program, struct err *);

#endif
