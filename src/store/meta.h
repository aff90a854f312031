/* Names of entries of `meta` that say what happened to the records. Private to store/. */
#ifndef STORE_META_H
#define STORE_META_H

/* Written by recover.c, taken away by repair.c. */
#define META_RECOVERED "recovered"
#define META_RESTORED  "restored"
/* That the end mark was written and synced: from then on it may not be missing. */
#define META_MARKED    "marked"

#endif
