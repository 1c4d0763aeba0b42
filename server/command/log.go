package command

import (
	"io"
	"log/slog"
	"os"

	"waybill/server/command/terminal"
)

// logger returns the log of a server. It goes to w, which gathers what is written to standard error: it
// writes text for a person, who has a terminal, and JSON for a program.
func (p *Process) logger(w io.Writer, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if f, ok := p.Stderr.(*os.File); ok && terminal.Is(f) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}
