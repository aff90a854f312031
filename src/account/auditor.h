/* What the audit record keeps in memory: who calls, and refusals by the minute. Private to
 * accounts. */
#ifndef ACCOUNT_AUDITOR_H
#define ACCOUNT_AUDITOR_H

struct auditor;
struct auditor *auditor_create(void);
void auditor_destroy(struct auditor *); /* NULL-safe */

#endif
