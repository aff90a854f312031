/* The programs that a batch script of Slurm finds, and the one that runs it: names of muster-node
 * (main/node_main.c). Each takes its command line and returns its exit status. */
#ifndef STEP_STEP_H
#define STEP_STEP_H

/* muster-step: a node of the job. Starts tasks for srun; on the first node it runs the script and
 * ends with it. */
int step_main(int argc, char **argv);
int srun_main(int argc, char **argv);
int scontrol_main(int argc, char **argv); /* show hostnames, show job ids of pids: what is local */
/* Of the job's server, with the rights of the job's programs. */
int sbatch_main(int argc, char **argv);
int squeue_main(int argc, char **argv);
int scancel_main(int argc, char **argv);

#endif
