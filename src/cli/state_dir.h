/* Where a user's server keeps its things, found in the same way by the server and by the command
 * line. */
#ifndef CLI_STATE_DIR_H
#define CLI_STATE_DIR_H

#include "base/err.h"

/* In the directory: the path of the key outside of it that the records are sealed with, a line. */
#define STATE_DIR_KEY_PATH "seal_key.path"

/* dir, else $MUSTER_STATE_DIR, else $XDG_STATE_HOME/muster, else ~/.local/state/muster; absolute,
 * malloc'ed. In the place of the last two one on a disk of this machine, where they are in a home
 * that it shares with others (cli/shared_home.h). NULL with err when there is no home directory to
 * put it in, among others. */
char *state_dir_find(const char *dir, struct err *err);
/* The directory that such a one is in the place of, with what says where the server is; malloc'ed.
 * NULL: dir is in the place of none. */
char *state_dir_shared(const char *dir);
/* <dir>/sock, or a short path outside when that is too long for a socket address; malloc'ed. */
char *state_dir_socket(const char *dir);
/* The bearer token of the file "token"; malloc'ed. A file that others may read is refused with the
 * command that mends it. */
char *state_dir_token(const char *dir, struct err *err);

#endif
