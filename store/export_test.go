package store

import "waybill/store/journal"

// ParseLine lets the external tests fuzz the one parser of the journal.
var ParseLine = journal.Parse

// AppendLine lets the external tests measure how a line is written.
var AppendLine = (*Line).AppendTo
