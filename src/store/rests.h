/* What deleted jobs leave in the records until it is removed (deletion.c): how statements know it.
 * Internal to store/. */
#ifndef STORE_RESTS_H
#define STORE_RESTS_H

/* Members are there as long as their array is: the others wait to be removed (deletion.c). */
#define IS_THERE " AND (array = 0 OR EXISTS (SELECT 1 FROM job a WHERE a.id = job.array))"
#define OF_REST(key, table)                                                                        \
    "DELETE FROM " table " WHERE (" key ") IN"                                                     \
    " (SELECT " key " FROM " table " WHERE job BETWEEN ?1 AND ?2 LIMIT ?3)"
/* In meta, for what is deleted and not all removed: the first id in the name, the last as value. */
#define REST    "'deleted.'"
#define IS_REST "name > 'deleted.' AND name < 'deleted/'"
#define RESTS                                                                                      \
    "(SELECT CAST(substr(name, 9) AS INTEGER) AS low, value AS high FROM meta WHERE " IS_REST ")"

#endif
