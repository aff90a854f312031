/* Asks the driver of this machine's accelerators, in a process of its own. */
#ifndef MAIN_GPU_MAIN_H
#define MAIN_GPU_MAIN_H

/* "list-gpus": what it says, as lines (gpu/lines.h). 0, or 1 when they could not be written. */
int gpu_main(int argc, char **argv);

#endif
