"""What is wanted beyond the published pages, for tests/seeds."""

from __future__ import annotations

from collections.abc import Iterator

from promise import Example, How, Page, absent, by_tests


class Beyond(Page):
    page = "beyond the pages"
    document = "beyond"
    count = 10

    def examples(self) -> Iterator[Example]:
        yield by_tests(1, "what if", "replicas, gpus, queue, priority, a drain",
                        "test_explain.py::test_one_change", "::test_each_way_is_true",
                        "test_queues.py::test_what_is_free_and_what_a_drain_would_mean",
                        )  # fmt: skip
        yield by_tests(2, "why, how long, what would change it", "what is said is true",
                        "test_explain.py::test_what_is_short_and_until_when", "::test_not_before",
                        "::test_by_what_jobs_ran_before",
                        "test_explain_true.py::test_who_comes_later_is_not_ahead")  # fmt: skip
        yield by_tests(3, "no starvation", "promised times are kept",
                        "test_explain_true.py::test_a_few", "::test_promises_of_one_time",
                        how=How.CHANGED, note="in the simulator")  # fmt: skip
        yield by_tests(4, "exact replay", "of what a server decided",
                        "test_replay.py::test_a_recorded_server_is_replayed")  # fmt: skip
        yield by_tests(5, "warm restart", "by a fork, torch is imported",
                        "test_warm.py::test_restart_after_kill_is_a_fork")  # fmt: skip
        yield by_tests(6, "who was first", "reason, event and hint say the same",
                        "test_first_death.py::test_the_second_failure_is_not_called_the_first",
                        "test_first_run.py::test_show_tells_who_was_first")  # fmt: skip
        yield by_tests(7, "rendezvous and store", "without torch's own, 16 ranks meet",
                        "test_store.py::test_sixteen_ranks_meet")  # fmt: skip
        yield by_tests(8, "eviction", "of what takes more than its share",
                        "test_simulate.py::test_queues_take_back_what_is_theirs", how=How.CHANGED,
                        note="in the simulator; the time of the last save is not known",
                        )  # fmt: skip
        yield absent(9, "goodput", "no ledger of it is kept")
        yield absent(10, "laptop, Slurm, Kubernetes alike", "on Kubernetes nothing runs yet")
