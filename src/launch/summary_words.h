/* Words for how a process ended. */
#ifndef LAUNCH_SUMMARY_WORDS_H
#define LAUNCH_SUMMARY_WORDS_H

#include <stdint.h>

#define SIGNAL_NAME_MAX 24
/* "SIGSEGV", "signal 42". Returns out. */
const char *signal_name(uint32_t signal, char out[SIGNAL_NAME_MAX]);
/* "segmentation fault"; NULL: nothing to add to the name. */
const char *signal_meaning(uint32_t signal);
/* What often is behind it and what to do; NULL: nothing is known. */
const char *signal_hint(uint32_t signal);
/* "a shell's word for SIGKILL", "command not found"; NULL for ordinary codes. */
const char *exit_code_meaning(int32_t code);

#endif
