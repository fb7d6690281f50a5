"""Three workers judge tasks: two know most capitals, the third guesses."""

import csv
import random
import sys
from pathlib import Path

MISTAKEN = {
    "Australia": "Sydney", "Brazil": "Rio de Janeiro", "Canada": "Toronto", "Morocco": "Casablanca",
    "Nigeria": "Lagos", "Pakistan": "Karachi", "Switzerland": "Zurich", "Tanzania": "Dar es Salaam",
    "Turkey": "Istanbul", "Vietnam": "Ho Chi Minh City",
}  # fmt: skip
RELIABILITY = {"ann": 0.97, "bob": 0.95, "guesser": 0.5}

chance = random.Random(1)
results = csv.writer(sys.stdout)
results.writerow(["task", "worker", "label"])
with Path(sys.argv[1]).open(newline="", encoding="utf-8") as tasks:
    for task in csv.DictReader(tasks):
        wrong = any(f"{country} capital {city}" in task["sentence"] for country, city in MISTAKEN.items())
        for worker, reliability in RELIABILITY.items():
            says_true = wrong != (chance.random() < reliability)
            results.writerow([task["task"], worker, "true" if says_true else "false"])
