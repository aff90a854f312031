/* Included before every C file by the build: calls that are never right here. */
#ifndef BASE_BANNED_CALLS_H
#define BASE_BANNED_CALLS_H

#include <alloca.h> /* before poisoning: system headers name these */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef strtok
#undef alloca
#pragma GCC poison strcpy strcat sprintf vsprintf strncpy strncat strtok gets atoi atol atoll      \
    localtime gmtime system popen alloca

#endif
