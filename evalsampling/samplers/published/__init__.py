"""Samplers that papers compare theirs with, registered as other packages register theirs."""
