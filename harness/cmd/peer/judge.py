"""Judges experiments with the installed inference-doctor: one JSON line in, one word out."""

import json
import sys
from importlib.metadata import version

from inference_doctor.quality import QualityThresholds, decide_regression

print(version("inference-doctor"), flush=True)
for line in sys.stdin:
    e = json.loads(line)
    thresholds = QualityThresholds(regression_percent=e["margin"], confidence=e["confidence"])
    print(decide_regression(e["a"], e["b"], lower_is_better=False, thresholds=thresholds).status)
