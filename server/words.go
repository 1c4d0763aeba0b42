package server

import (
	"strconv"
	"strings"
)

// Counted returns a number of things in words: 1 row, 2 rows, 2 companies.
func Counted[N int | int64 | uint64](n N, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "y"):
		what = strings.TrimSuffix(what, "y") + "ies"
	default:
		what += "s"
	}
	return strconv.FormatUint(uint64(n), 10) + " " + what
}

// were is the verb after a number of things that were, with blanks around it.
func were(n int) string {
	if n == 1 {
		return " was "
	}
	return " were "
}

// are is the verb after a number of things, with blanks around it.
func are(n int) string {
	if n == 1 {
		return " is "
	}
	return " are "
}
