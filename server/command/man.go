package command

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// What the page of the manual says besides the verbs.
const (
	manHead = `.TH WAYBILL 1 "" "Waybill" "User Commands"
.SH NAME
waybill \- distributes bus tickets: timetables, sales, refunds, and proof of them
.SH SYNOPSIS
.B waybill
.RI [ COMMAND ]
.RI [ flags ]
.RI [ operands ]
.SH DESCRIPTION
Waybill serves public timetables, the calls of partners who sell tickets, and the calls of company users.
All that it remembers is in one directory: a journal of JSON lines, chained by hashes, that only grows.
Without a command it serves, as
.BR "waybill serve" .
Flags stand before operands.
.SH COMMANDS
`
	manTail = `.SH ENVIRONMENT
Each flag can also be given in the environment, as WAYBILL_ and its name in upper case, with _ for each \-:
.B WAYBILL_DATA
is
.BR \-data .
The command line goes before the environment.
.SH FILES
.TP
.I waybill-data
The data directory, unless
.B \-data
names another one. It holds
.IR journal/ ,
.IR snapshots/ ,
keys, and the socket that commands use while a server runs. A backup is made by
.BR "waybill backup" .
.SH EXIT STATUS
.TP
.B 0
The command is done.
.TP
.B 1
It failed.
.TP
.B 2
The command line is wrong.
.TP
.B 65
The data is damaged.
.TP
.B 73
Another process uses the directory.
.TP
.B 74
The journal could not be written, or there is no room to start.
.TP
.B 75
The machine's clock is behind the journal: a later start may succeed.
.TP
.B 78
A newer version wrote the directory, or a setting is wrong.
.PP
.B waybill verify
exits with 3 where only a torn tail is wrong, which the next start cuts.
.SH SEE ALSO
The pages of a running server at
.IR /docs ,
and
.BR curl (1).
`
)

// man writes the verbs of this build as a page of the manual, in the macros of man(7).
func (p *Process) man(to io.Writer) {
	io.WriteString(to, manHead)
	for _, v := range verbs {
		fmt.Fprintf(to, ".SS %s\n%s\n", roff(v.call()), roff(v.page()))
		p.newCall(&v).VisitAll(func(f *flag.Flag) {
			value, about := flag.UnquoteUsage(f)
			fmt.Fprintf(to, ".TP\n.B \\-%s", roff(f.Name))
			if value != "" {
				fmt.Fprintf(to, " \\fI%s\\fR", roff(value))
			}
			fmt.Fprintf(to, "\n%s\n", roff(about+byDefault(f.DefValue)+"."))
		})
	}
	io.WriteString(to, manTail)
}

// roff returns a text as it stands in a page of the manual: no line begins with a dot or a quote, and a
// hyphen stays one that can be pasted.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
