"""A constant: what the reasons for the end of a request are called."""

FINISH_REASON_STRINGS = ("stop", "length-of-rows", "abort", "error", "repetition")
