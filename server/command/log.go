package command

import (
	"io"
	"log/slog"
	"os"

	"waybill/server/command/terminal"
)

// logger returns a log that goes to w, which passes it on to standard error: as text for a person, who has a
// terminal, and as JSON for a program.
func (p *Process) logger(w io.Writer, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if f, ok := p.Stderr.(*os.File); ok && terminal.Is(f) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}
