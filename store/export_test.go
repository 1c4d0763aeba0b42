package store

// ParseLine lets the external tests fuzz the one parser of the journal.
var ParseLine = parseLine
