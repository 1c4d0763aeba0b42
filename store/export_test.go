package store

// ParseLine lets the external tests fuzz the one parser of the journal.
var ParseLine = parseLine

// AppendLine lets the external tests measure how a line is written.
var AppendLine = (*Line).appendTo
