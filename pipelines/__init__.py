"""How columns get computed: reading text logs, statistics and materialization, as Beam jobs."""
