"""Plan files, and what every command that takes one does with it before it asks the cluster."""

from __future__ import annotations

import json
from random import Random

from kedge.balance import verify_against
from kedge.balance.goals.goals import goals_from_json
from kedge.model import parse_snapshot
from kedge.plan import from_kafka_file, is_plan, parse_execute, parse_plan, plan_to_json
from kedge.report.plan_summary import plan_lines
from kedge.report.plans import broker_lines, change_row, grounds, partition_lines, summary_row
from tests.fuzz.documents import plan_document, snapshot_document
from tests.fuzz.driver import only_refusals, start
from tests.fuzz.mutation import mutated_json


def fuzz(seed: int) -> None:
    """Read a damaged plan; show it, check it and write it again if it is one."""
    random = Random(seed)
    document = plan_document(random)
    if random.random() < 0.2:  # Kafka's own form
        document = {name: document[name] for name in ("version", "partitions")}
    data = mutated_json(document, random)
    snapshot = parse_snapshot(json.dumps(snapshot_document(random)).encode())
    with only_refusals():
        kafkas = not is_plan(data)
        if kafkas:
            plan = from_kafka_file(parse_execute(data.decode(errors="replace")), snapshot)
        else:
            plan = parse_plan(data)
        assert parse_plan(plan_to_json(plan)).partitions == plan.partitions
        plan_lines(plan)
        summary_row(plan)
        grounds(plan)
        for change in plan.changes:
            partition_lines(plan, change)
            change_row(plan, change)
            broker_lines(plan, change.after[0])
        if plan.goals is not None:
            goals_from_json(plan.goals)
        verify_against(plan, snapshot)


if __name__ == "__main__":
    start(fuzz)
