"""Places that results are sent to: tables, lineage, experiment trackers, orchestrators."""
