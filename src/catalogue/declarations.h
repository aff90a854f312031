/* The catalogue of a server (job/catalogue.h): what ships, the queues of its settings, and what was
 * declared, which are rows. In memory as a whole. Whoever changes it is asked for their rights, and
 * the queues follow (queue/queues.h). It writes into the open transaction and knows no core. */
#ifndef CATALOGUE_DECLARATIONS_H
#define CATALOGUE_DECLARATIONS_H

#include "job/catalogue.h"

struct accounts;
struct cluster;
struct queues;
struct store;

struct declarations_config { /* all of it outlives the declarations */
    struct store *store;
    struct accounts *accounts; /* rights, and the audit record */
    struct queues *queues;     /* declared anew when the catalogue changes */
    const struct cluster *cluster;
    const struct words *topology;    /* as queue_tree_make() has it */
    const char *admin;               /* who keeps the catalogue, as people are told */
    const struct words *queue_names; /* of the settings; "default" is always there. NULL: none */
    const struct entry *set;         /* queues of the settings that say more than a name */
    size_t n_set;
    const struct entry *shipped; /* besides the defaults */
    size_t n_shipped;
    void *arg;
    /* A right was found to be so (0, or -1 with err): what counts; in a replay what counted then.
     */
    int (*right)(void *arg, int rc, struct err *err);
};
struct declarations;
/* Empty; to be loaded before any other call but the check of the settings. */
struct declarations *declarations_create(const struct declarations_config *);
void declarations_destroy(struct declarations *); /* NULL-safe */
/* Do the queues of the settings make sense? 0, or -1. Fewer nodes than they count on are no reason.
 */
int declarations_check_settings(const struct declarations *, struct err *err);
/* As the entries are now; until the next change. */
const struct catalogue *declarations_catalogue(const struct declarations *);

/* ---- the turn's part ---- */
void declarations_load(struct declarations *); /* all of it anew, and the queues */
void declarations_committed(struct declarations *);
void declarations_undone(struct declarations *);

/* ---- changes ---- */
/* All of its documents or none: {applied: [{kind, name, applied: created, changed or unchanged}]}
 * in arena. For admins; data sets, code sources and images for everyone, and then only their owner
 * or an admin changes them. NULL: refused, with problems in report or with err alone. */
struct text_node *declare_entries(struct declarations *, struct arena *, const struct declaration *,
                                  struct report *, struct err *err);
struct entry_removal { /* an entry that is to go, and who says so */
    const char *owner;
    enum entry_kind kind;
    const char *name;
};
/* {kind, name, as_shipped}, in arena. NULL: ERR_DENIED, ERR_NOT_FOUND, ERR_CONFLICT: something
 * stands on it; ERR_CANNOT: it is none that was declared. *changed: the catalogue is another one
 * all the same. */
struct text_node *undeclare_entry(struct declarations *, struct arena *,
                                  const struct entry_removal *, bool *changed, struct err *err);

#endif
