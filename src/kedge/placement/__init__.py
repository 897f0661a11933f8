"""Where new replicas go."""
