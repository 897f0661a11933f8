"""Metrics with known answers: what the pipeline is tested and measured on.

Goal. A pipeline is believed when it finds what was hidden from it. The generator makes the samples
of a few clusters, plants faults in them with exact counts, and says beforehand what every sum,
percentile and finding must be. Nothing that it says is computed from the rows that it wrote: the
truth is kept beside them while they are made.

    from kedge.pipeline.generator import generate
    expected = generate(Path("metrics"), size="S", seed=7, formats=("parquet",))

| size | replicas | samples | rows       |
|------|----------|---------|------------|
| XS   |      300 |      40 | 12 thousand |
| S    |    1 200 |     120 | 146 thousand |
| M    |   30 000 |     170 | 5.2 million |
| L    |  120 000 |     417 | 50.7 million |

The faults. Each replica tells one row a minute. A row has at most one of these:

| fault      | share | what happens to the row                        | it must end       |
|------------|------:|------------------------------------------------|-------------------|
| malformed  | 0.2 % | a copy with one broken field comes too         | quarantined       |
| exact_dup  |   1 % | comes twice, with the same `seq`               | once in silver    |
| correction | 0.1 % | another figure with a higher `seq`, some first | corrected         |
| late_ok    |   1 % | comes 2 to 25 minutes late                     | kept              |
| late_drop  | 0.1 % | comes 60 to 180 minutes late                   | in the late table |

so that `rows_total = clean_unique + late_drop + exact_dup + correction + malformed`. Lines of text
that are no sample at all come on top of that and are counted apart (`text_broken`).

Also planted: in each cluster a hot broker, whose leaders carry six times the traffic; partitions
whose ISR flaps; partitions that grow without end; a daily wave.

Rows are written in order of arrival, so a late row is in a later file. All figures are whole
numbers: sums are exact in any order. The same size and seed give the same rows on every machine.
"""

from kedge.pipeline.generator.run import generate
from kedge.pipeline.generator.sizes import SIZES, Size

__all__ = ["SIZES", "Size", "generate"]
