/* Names of the format that several parts read or write. Internal to this folder. */
#ifndef DIALECT_ELASTICJOB_NAMES_H
#define DIALECT_ELASTICJOB_NAMES_H

#define EJ_API        "elastic.iml.github.io/v1alpha1"
#define EJ_GROUP      "elastic.iml.github.io/"
#define EJ_KIND       "ElasticJob"
#define EJ_CONVENTION "elasticjob"
#define EJ_MASTER     "dlrover-master"
#define EJ_GANG       "gang.scheduling.koordinator.sh/"
#define EJ_POD_GROUP  "pod-group.scheduling.sigs.k8s.io"
#define EJ_PORT       "service" /* label of the port that other tasks reach a task at */

#endif
