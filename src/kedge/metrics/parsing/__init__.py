"""The forms that sources write metrics in, parsed to measurements."""
