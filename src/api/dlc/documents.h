/* What the core keeps for these clients, and how it is listed: documents, entries of the catalogue
 * with a document beside, lists in pages. */
#ifndef API_DLC_DOCUMENTS_H
#define API_DLC_DOCUMENTS_H

#include "api/dlc/op.h"

/* ---- documents ---- */
const struct document_view *dlc_object(struct dlc_call *, const char *kind, const char *project,
                                       const char *name);
const struct text_node *dlc_spec(const struct document_view *object);      /* never NULL */
bool dlc_own(const struct dlc_call *, const struct document_view *object); /* or an admin */
/* Puts it (spec NULL: removes) and answers `ready` when it is committed. */
void dlc_store(struct dlc_call *, const struct document *, bool create, struct text_node *ready);

/* ---- entries of the catalogue ---- */
/* NULL: there is none. It holds until the next declaration. */
const struct entry *dlc_entry(struct dlc_call *, enum entry_kind, const char *name);
/* Declares the entry, then puts the documents, then answers `ready`. */
struct dlc_change {
    enum entry_kind kind;
    const char *name;
    const struct text_node *entry;  /* NULL: remove it */
    const struct document *objects; /* in the arena */
    size_t n_objects;
    struct text_node *ready;
};
void dlc_change(struct dlc_call *, const struct dlc_change *);

/* ---- things: an entry, and what only these clients say of it ---- */
struct dlc_kind {
    enum entry_kind entry;
    const char *document; /* its kind */
    bool versions;        /* "ID:v2" is no thing of its own */
};
struct dlc_object {
    const char *id, *owner;          /* in the arena; owner NULL: the server's user declared it */
    const struct entry *entry;       /* until the next declaration; NULL: there is none yet */
    const struct document_view *row; /* the document, NULL: there is none */
    const struct text_node *spec;    /* of the document; never NULL */
};
struct dlc_object dlc_thing(struct dlc_call *, const struct dlc_kind *, const struct entry *);
/* Its owner's, an admin's, the server's own and what is public. */
bool dlc_thing_visible(const struct dlc_call *, const struct dlc_object *);
/* Those that are visible, in the order of the catalogue, as rows of a list. */
const struct dlc_object *dlc_things(struct dlc_call *, const struct dlc_kind *, size_t *n);
/* Of param 0; else answered NotFound. */
bool dlc_thing_find(struct dlc_call *, const struct dlc_kind *, struct dlc_object *);
const char *dlc_thing_access(const struct dlc_object *); /* "PUBLIC" or "PRIVATE" */
/* Accessibility, UserId, WorkspaceId and the two times, the second by its name. */
void dlc_thing_common(struct dlc_call *, struct text_node *out, const struct dlc_object *,
                      const char *changed);
/* Is it listed for that workspace? What the server's user declared belongs to every one. */
bool dlc_thing_within(const struct dlc_object *, const char *workspace);
/* Puts the entry, to which kind and name are added, and the document; then answers `ready`. */
void dlc_thing_put(struct dlc_call *, const struct dlc_kind *, const char *id,
                   struct text_node *entry, const struct text_node *spec, struct text_node *ready);
void dlc_thing_remove(struct dlc_call *, const struct dlc_kind *, const char *id,
                      struct text_node *ready);

/* ---- lists: PageNumber, PageSize, SortBy, Order; answer {KEY: [...], TotalCount} ---- */
#define DLC_SORTS 8
struct dlc_list_type {
    const char *key;              /* "Images" */
    uint64_t size;                /* of a page, when none is said */
    bool descending;              /* when no Order is said */
    bool numbered;                /* the answer says PageNumber and PageSize too */
    const char *sorts[DLC_SORTS]; /* members to sort by; the first when none is said */
};
struct dlc_row;
struct dlc_listing {
    struct dlc_call *d;
    const struct dlc_list_type *of;
    struct facade_page page;
    bool descending;
    const char *by;
    struct dlc_row *rows;
    size_t n, cap;
};
/* false: answered, something of the query is no good. */
bool dlc_listing_begin(struct dlc_listing *, struct dlc_call *, const struct dlc_list_type *);
/* A row, which is not copied. Times (Gmt...) are those of its document, to the millisecond; NULL:
 * what the row says. What says nothing comes first. */
void dlc_listing_add(struct dlc_listing *, const struct text_node *shown,
                     const struct document_view *object);
/* The answer: one page of what was added, sorted. Rows of equal value stay as they were added. */
struct text_node *dlc_listing_end(struct dlc_listing *);

#endif
