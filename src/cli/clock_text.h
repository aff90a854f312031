/* Moments for people who wait for them. */
#ifndef CLI_CLOCK_TEXT_H
#define CLI_CLOCK_TEXT_H

#include <stdint.h>

#define CLOCK_TEXT_MAX 48
/* "14:20" today, "Tue 14:20" within six, else "2026-01-02 14:20"; local. */
const char *clock_text(char out[CLOCK_TEXT_MAX], uint64_t at_ms, uint64_t now_ms);

#endif
