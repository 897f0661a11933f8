"""Goals of a plan, and the optimisation problem that goals and a snapshot make together."""

from kedge.balance.goals.goals import COUNTS, RESOURCES, SOFT, Goals, NewBroker, goals_from_json

__all__ = ["COUNTS", "RESOURCES", "SOFT", "Goals", "NewBroker", "goals_from_json"]
