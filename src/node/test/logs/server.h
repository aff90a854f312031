/* The server of a scene. */
#ifndef NODE_TEST_LOGS_SERVER_H
#define NODE_TEST_LOGS_SERVER_H

#include "node/test/logs/scene.h"

#define SERVER_JOB        77u
#define SERVER_GENERATION ((struct generation){ .job = SERVER_JOB, .number = 1 })
#define SERVER_TOKEN      "0505050505050505050505050505050505050505050505050505050505050505"
#define SERVER_COPIES     "copy" /* directory below that of the scene */

_Noreturn void server_run(struct scene *, int listener); /* until it is killed */

#endif
