/* Our part of job_spec.extra: what no field of the canonical job says, and the way back needs.
 * Internal to this folder. */
#ifndef DIALECT_DLC_EXTRA_H
#define DIALECT_DLC_EXTRA_H

#include "job/job.h"

#define DLC_EXTRA          "dlc"           /* its key, and the convention */
#define DLC_SLOTS          "Slots"         /* ranks of each of MPI's hosts, no field of DLC */
#define DLC_LAUNCHER_WORKS "LauncherWorks" /* ranks run on MPI's launcher too */
#define DLC_FIRST_WORKER   "FirstWorker"   /* the master was the first Worker */

struct dlc_type;
/* The type that the job was made with (JobType); NULL when it names none. */
const struct dlc_type *dlc_type_of(const struct job_spec *);
/* An MPI job whose launcher was its first worker, as such jobs are read. */
bool dlc_launcher_works(const struct job_spec *);
/* A job of any type whose master was its first worker. */
bool dlc_first_worker(const struct job_spec *);
const char *dlc_first_worker_mark(const struct dlc_type *); /* what says so */

#endif
