/* Faults that are planted into the simulated server, to see that the simulation finds them. They
 * exist in this program alone: hooks.c stands between the objects of the core by the linker's
 * --wrap, and the product has nothing that could switch them on. */
#ifndef CTL_TEST_FAULTS_PLANTED_H
#define CTL_TEST_FAULTS_PLANTED_H

#define PLANTED_FAULTS(X)                                                                          \
    X(EARLY_ANSWER, "early-answer", "clients are answered before the commit")                      \
    X(SKIPPED_SYNC, "skipped-sync", "what is written is never synced")                             \
    X(DOUBLE_START, "double-start", "an attempt that runs is launched again")                      \
    X(LOST_ACK, "lost-ack", "now and then an agent is not told that its facts are committed")      \
    X(EARLY_ACK, "early-ack", "agents are told so before the commit")                              \
    X(OLD_FACTS, "old-facts", "facts of an old generation count for the new one")                  \
    X(EARLY_MARK, "early-mark",                                                                    \
      "the end mark is written before the commit, and leads the records")                          \
    X(KEPT_COMMIT, "kept-commit", "what a failed commit left in the log stays there")              \
    X(OLD_TOKEN, "old-token", "a job's token is accepted in its next generation")                  \
    X(FORGOTTEN_SILENCE, "forgotten-silence",                                                      \
      "a commit that fails forgets who was not heard since the start")                             \
    X(RENEWED_SILENCE, "renewed-silence", "silence begins anew with a commit that fails")          \
    X(TRUSTING_START, "trusting-start", "a server that starts takes all machines for heard")       \
    X(ENDLESS_SILENCE, "endless-silence", "who joins again is silent still")                       \
    X(SILENT_DEATH, "silent-death", "an agent that is silent is taken for gone")
#define PLANTED_ENUM(id, name, what) PLANTED_##id,
enum planted { PLANTED_NONE, PLANTED_FAULTS(PLANTED_ENUM) PLANTED_N };
#undef PLANTED_ENUM

#endif
