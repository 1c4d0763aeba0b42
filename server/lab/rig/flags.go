package rig

import "flag"

// Long has tests try all of what they try some of by default, each kind at least once.
var Long = flag.Bool("long", false, "try all, and not each kind once")
