/* Secrets at rest. What is secret in the records is sealed (libsodium's secretbox) with a key that
 * lies in a file of its own, so that a copy of the database alone opens nothing. A sealed text says
 * so at its front, and is told by that from what was kept before there was a seal. */
#ifndef STORE_SEAL_H
#define STORE_SEAL_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define SEAL_KEY_LEN 32
#define SEALED_MARK  "sealed:"

/* The key of a file, which is made (mode 0600) when there is none, unless it is `needed`
 * (ERR_CANNOT). A file of another length, also an empty one, and one of zeros is refused
 * (ERR_CANNOT) and never replaced, and so is one that others may read or write (ERR_DENIED). */
int seal_read_key(const char *path, bool needed, unsigned char key[SEAL_KEY_LEN], struct err *);

struct seal;
struct seal *seal_open(const char *path, bool needed, struct err *);
void seal_destroy(struct seal *); /* NULL-safe; the key is forgotten */

/* The sealed text, malloc'ed (caller frees). Two of one text differ. */
char *seal_text(const struct seal *, const void *text, size_t len);
/* The text again, in arena; one that is not sealed as it is. NULL: sealed with another key,
 * damaged, or there is no key (seal NULL). */
const char *seal_reveal(const struct seal *, struct arena *, const char *text);

/* ---- of the records ---- */
struct store;
/* Was anything sealed here: is the key needed? */
bool store_has_sealed(struct store *);
/* Takes the seal over. From now on these are sealed: what a job is (its canonical form, what its
 * submitter said beside it, its text as submitted, with the values of its variables), registry
 * credentials, documents of STORE_SECRET_KINDS. What an older server left in clear is sealed now,
 * and nothing of it stays in the file. Not inside a turn. false in *fits: what was sealed before
 * was sealed with another key. */
int store_use_seal(struct store *, struct seal *, bool *fits, struct err *);
/* After a key that does not fit: it counts from now on, what another one sealed stays unreadable.
 * ERR_CANNOT while jobs live, because what they are could not be read. */
int store_change_seal(struct store *, struct err *);
const struct seal *store_seal(const struct store *); /* NULL: records that end with the process */
#define STORE_SECRET_KINDS(X)                                                                      \
    X("k8s.secrets") X("k8s.configmaps") X("dlc.template") X("job.document")

#endif
