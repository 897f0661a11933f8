"""Parsers of metrics: every source becomes measurements (`kedge.metrics.measurement`).

| module             | reads                                                                     |
|--------------------|---------------------------------------------------------------------------|
| `exposition`       | the text of a `/metrics` endpoint: Prometheus' format and OpenMetrics     |
| `range_answers`    | answers of Prometheus' `/api/v1/query_range`: series, warnings            |
| `query_range`      | one series of such an answer                                              |
| `cruise_control`   | records of the topic `__CruiseControlMetrics`                             |
| `admin_snapshots`  | what admin requests of a cluster returned, as `kedge pipeline sample` does |
| `series_names`     | metric names and labels of exporters: which series they are               |
| `series_mapping`   | the same for other names, from a TOML file                                |
| `cluster_metadata` | brokers and instances, leaders over time                                  |
| `name_resolution`  | instance to broker id, topic names with their dots                        |
| `collector`        | collects measurements, malformed input and ignored names                  |

Parsers take bytes or values and return values: they open no file and no connection. What cannot be
parsed is a value too (`Malformed`): one bad line does not spoil a file.
"""
