/* Asks the name service of this machine for an account, in a process of its own. */
#ifndef MAIN_ACCOUNT_MAIN_H
#define MAIN_ACCOUNT_MAIN_H

/* "account-of NAME" (or uid1234): lines of uid, gid, groups, home, shell, and ordinary=yes for the
 * account of a person; nothing when there is none. 0, or 1 when it could not be asked. */
int account_main(int argc, char **argv);

#endif
