/* Memory for SQLite from free lists of a few sizes: a trial opens a database a dozen times, and
 * half of what SQLite did there was taking and giving back small pieces. Nothing goes back to the C
 * library before the process ends. Test code; one thread. */
#ifndef CTL_TEST_FAULTS_POOL_H
#define CTL_TEST_FAULTS_POOL_H

/* SQLite takes its memory here; before its first use. */
void pool_install(void);

#endif
