package rig

import (
	"flag"
)

var Every = flag.Int(
	"every",
	7,
	"TestEveryChangedBitOfEvidenceIsFound changes a bit in each byte of so many; "+
		"with 1 TestSamplesCanBePasted calls each operation in each language",
)
