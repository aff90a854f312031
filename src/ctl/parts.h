/* Makes parts of the core that ask it for what only it knows. Inside ctl/: each when those that it
 * stands on are there. */
#ifndef CTL_PARTS_H
#define CTL_PARTS_H

struct ctl;
struct images;
struct job_access;
struct rdzv_table;
struct secrets;

struct rdzv_table *core_rdzv_table(struct ctl *); /* live jobs */
struct images *core_images(struct ctl *);         /* live jobs, the cluster, scratch */
struct secrets *core_secrets(struct ctl *);       /* live jobs, accounts */
struct job_access core_job_access(struct ctl *);  /* live jobs, arrays, accounts */
void parts_end(struct ctl *);                     /* destroys them */

#endif
