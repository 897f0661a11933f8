"""Answers from load tables: forecasts, capacity, cost, groups of findings, slow brokers.

Pure functions on arrays and values: no files, no clock, no Spark. `pipeline.table_reader` reads the
tables, these modules compute, `report` draws and explains.

    robust          medians and spreads that outliers do not move
    forecast        trend and weekly pattern of a series, with an interval
    back_test       the error of forecasts from rolling origins, beside naive ones
    capacity        days until brokers are full, and how many brokers a date needs
    owners, cost    who pays how much for which bytes, to the last digit
    finding_groups  many findings of one cause as one line, ranked, and what changed
    slow_brokers    brokers that stand out of their own history and of their peers
"""
