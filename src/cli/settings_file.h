/* Settings that were given by flag to `server start`, kept with the state directory for the servers
 * that come after: they count after flags and environment, before the configuration file. */
#ifndef CLI_SETTINGS_FILE_H
#define CLI_SETTINGS_FILE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/pairs.h"

#include <stdbool.h>

/* By key ("idle_exit"), in arena; nothing when there is no file. */
int settings_file_read(struct arena *, const char *state_dir, struct pairs *out, struct err *err);
/* Those of given that are kept replace or, with an empty value, remove what was. */
int settings_file_add(struct arena *, const char *state_dir, const struct pairs *given,
                      struct err *err);
/* 1: it was kept and is not any more; 0: it was not; -1 with err. */
int settings_file_drop(struct arena *, const char *state_dir, const char *key, struct err *err);
/* Is a flag of this setting kept? What is about one run of a server is not: its log level, its
 * recordings. */
bool settings_file_is(const char *key);

#endif
