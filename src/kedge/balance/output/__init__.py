"""From the assignment that the search found to the plan that an operator reviews."""
