package command

import (
	"path/filepath"
	"testing"
)

// Decision statement.rows: what the command line alone shows wrong is 2, a partner or a company that there is
// not is 1, each in one line.
func TestStatementSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	want(t, 0, "wb_", "partner", "add", "-data", dir, "anna")
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{2, `^waybill: -from must be given as a day, as in 2026-11-20\n$`, nil},
		{2, `^waybill: -to must be given as a day, as in 2026-11-20\n$`, []string{"-from", "2026-11-20"}},
		{2, `^waybill: -to "20.11.2026" is not a day as in 2026-11-20, of the years 1970 to 2199\n$`,
			[]string{"-from", "2026-11-20", "-to", "20.11.2026"}},
		{2, `^waybill: -from 2026-11-21 is after -to 2026-11-20\n$`,
			[]string{"-from", "2026-11-21", "-to", "2026-11-20"}},
	} {
		want(t, c.code, c.says, append([]string{"statement", "-data", dir}, c.args...)...)
	}
	for says, more := range map[string][]string{
		`^waybill: -zone "Kyiv" is not a time zone as in Europe/Kyiv\n$`:                    {"-zone", "Kyiv"},
		`^waybill: -partner and -company are both given: .*\n$`:                             {"-partner", "anna", "-company", "zorevia-lines"},
		`^waybill: -format "pdf" must be one of csv, text\n$`:                               {"-format", "pdf"},
		`^waybill: there is no partner "boris"\n$`:                                          {"-partner", "boris"},
		`^waybill: no company has the slug "zorevia"\n$`:                                    {"-company", "zorevia"},
		`^kind,seq,time,currency,amount,ticket,booking,partner,company,rule\njournal,\d+,.`: {"-partner", "anna"},
		`^kind,seq,time,.*\njournal,\d+,\S+Z,,,,,,,hash [0-9a-f]{64} checkpoint \d+\n$`:     {"-company", "zorevia-lines"},
		`^kind +seq +time .*\njournal +\d+ .* checkpoint \d+\n$`:                            {"-format", "text"},
	} {
		code := 2
		switch {
		case more[1] == "boris" || more[1] == "zorevia":
			code = 1
		case len(more) == 2 && more[1] != "Kyiv" && more[1] != "pdf":
			code = 0
		}
		args := []string{"statement", "-data", dir, "-from", "2026-11-20", "-to", "2026-11-20"}
		want(t, code, says, append(args, more...)...)
	}
}

// Decision audit.script: audit prints a program, and takes no directory, no days and no file.
func TestAuditPrintsItsScript(t *testing.T) {
	t.Parallel()
	want(t, 0, `^#!/usr/bin/env python3\n"""`, "audit", "-script")
	want(t, 2, `^waybill: audit: -script must be given; it prints audit\.py\n$`, "audit")
	want(t, 2, `^waybill: audit: there is no flag -from; .*\n$`, "audit", "-script", "-from", "2026-11-20")
	want(t, 2, `^waybill: audit: there is no flag -data; .*\n$`, "audit", "-data", "data", "-script")
	want(t, 2, `^waybill: audit: takes no operands, not "out\.zip"; .*\n$`, "audit", "-script", "out.zip")
}
