// Package testdata holds the feed of the demo network, for the program and for tests of other modules. Our
// own tests read all else in this folder from the disk.
package testdata

import "embed"

// Demo has the feed in its folder demo.
//
//go:embed demo
var Demo embed.FS
