// Package words writes counts and amounts for people, in logs, in what verbs print and in letters, and makes
// texts of others fit to be shown there.
package words

import (
	"fmt"
	"strconv"
	"strings"
)

// Counted returns a number of things: 1 row, 2 rows, 2 companies, 2 keys.
func Counted[N int | int64 | uint64](n N, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "y") && !strings.HasSuffix(what, "ey"):
		what = strings.TrimSuffix(what, "y") + "ies"
	default:
		what += "s"
	}
	return strconv.FormatUint(uint64(n), 10) + " " + what
}

// Were returns the verb after a number of things in the past, with blanks around it.
func Were(n int) string {
	if n == 1 {
		return " was "
	}
	return " were "
}

// Are returns the verb after a number of things, with blanks around it.
func Are(n int) string {
	if n == 1 {
		return " is "
	}
	return " are "
}

// Hundredths is money in minor units, or a percentage in hundredths.
type Hundredths int64

// String returns the number with two decimals: 1234 is 12.34, and -5 is -0.05.
func (v Hundredths) String() string {
	if v < 0 {
		return "-" + (-v).String()
	}
	return fmt.Sprintf("%d.%02d", v/100, v%100)
}
