/* A connection to a port of this machine as a program's standard input and output. */
#ifndef NODE_PORT_PIPE_H
#define NODE_PORT_PIPE_H

/* Until the other end closes; what is wrong goes to stderr. Exit status. */
int port_pipe_main(int argc, char **argv);

#endif
