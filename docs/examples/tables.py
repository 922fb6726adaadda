"""Tables of the toolkit in pandas, by its default calls: a line for each column, with the type that F.json says.
usage: tables.py TABLE.tsv...    (python3-pandas)"""
import json
import os
import sys

import pandas as pd

for path in sys.argv[1:]:
    table = pd.read_csv(path, sep="\t")
    info = json.load(open(path + ".json")) if os.path.exists(path + ".json") else {"columns": []}
    said = {c["name"]: c["type"] for c in info["columns"]}
    for name in table.columns:
        column = table[name]
        print(path, len(table), name, said.get(name, "?"), int(column.isna().sum()), sep="\t")
        # "unknown": a column without a row. Whole numbers with a missing one among them are floats in pandas.
        wanted = {"text": "O", "integer": "iuf", "number": "fiu"}.get(said.get(name), column.dtype.kind)
        if not column.isna().all() and column.dtype.kind not in wanted:
            sys.exit("%s: column %s: expected %s, found %s" % (path, name, said[name], column.dtype))
