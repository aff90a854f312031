"""The closed sets of words of the unified API. Members compare equal to their texts."""

from __future__ import annotations

from enum import Enum


class AcceleratorType(str, Enum):
    """What a job's `accelerator` counts."""

    CPU = "CPU"
    GPU = "GPU"
    TPU = "TPU"


class DLStreamType(str, Enum):
    """How a job's data moves; only the RL builder looks at it."""

    TASK_STREAM = "TASK_STREAM"
    DATA_STREAM = "DATA_STREAM"


class RLRoleType(str, Enum):
    """The role names that `RLJobBuilder` knows."""

    TRAINER = "TRAINER"
    ACTOR = "ACTOR"
    ROLLOUT = "ROLLOUT"
    REFERENCE = "REFERENCE"
    REWARD = "REWARD"
    CRITIC = "CRITIC"


class MasterStateBackendType(str, Enum):
    """Accepted and without effect: the state of a job is the server's."""

    RAY_INTERNAL = "RAY_INTERNAL"
    HDFS = "HDFS"
    IN_MEMORY = "IN_MEMORY"


class WorkloadEntrypointType(str, Enum):
    """What an entrypoint text names: something to import, or a script with arguments."""

    MODULE_FUNC = "MODULE_FUNC"
    PY_CMD = "PY_CMD"


class MasterStage(str, Enum):
    """Stages of a job as the reference's control API calls them."""

    INIT = "INIT"
    READY = "READY"
    RUNNING = "RUNNING"
    STOPPING = "STOPPING"
    STOPPED = "STOPPED"


class ExecutionResultType(str, Enum):
    """How an instance ended."""

    SUCCESS = "SUCCESS"
    FAIL = "FAIL"
