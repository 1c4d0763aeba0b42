package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"waybill/server/docs"
	"waybill/server/front"
	"waybill/server/proof/pack"
	"waybill/server/proof/statement"
	"waybill/server/proof/verify"
	"waybill/store/inspect"
)

// The verbs for those who settle accounts and those who audit them.

// statement prints which money has moved in some days.
func (c *call) statement() (int, error) {
	format := c.text("format")
	of := statement.Filter{
		Partner: c.text("partner"),
		Company: c.text("company"),
	}
	var err error
	of.Period, err = statement.ParsePeriod(c.text("from"), c.text("to"), c.text("zone"))
	switch {
	case err != nil:
		return exitUsage, err
	case of.Partner != "" && of.Company != "":
		return exitUsage, errors.New("-partner and -company are both given: a statement is for one of " +
			"them, or for all")
	case !slices.Contains(statement.Formats, format):
		return exitUsage, fmt.Errorf("-format %q must be one of %s", format,
			strings.Join(statement.Formats, ", "))
	}
	if err := c.mustExist(); err != nil {
		return exitFailed, err
	}
	inUse := c.signedFirst()
	_, err = statement.Write(c.fsys, inUse, of, format, c.Stdout)
	return exitFailed, err
}

// audit writes what an auditor takes home of some days, or the program that checks it.
func (c *call) audit() (int, error) {
	if c.get("script").(bool) {
		if c.NArg() > 0 || c.isGiven("from") || c.isGiven("to") {
			return exitUsage, errors.New("audit: -script prints a program; it takes no days and no file")
		}
		_, err := c.Stdout.Write(docs.Auditor())
		return exitFailed, err
	}
	if c.NArg() == 0 {
		return exitUsage, errors.New("audit: takes OUT.zip after its flags, not 0 operands")
	}
	period, err := statement.ParsePeriod(c.text("from"), c.text("to"), "")
	if err != nil {
		return exitUsage, err
	}
	if err := c.mustExist(); err != nil {
		return exitFailed, err
	}
	inUse := c.signedFirst()
	var wrong error // what verify says
	made, err := pack.File(c.fsys, inUse, pack.Options{
		Period: period,
		Verdict: func() (v any) {
			beside := verify.Beside{Live: inUse || front.IsLocked(c.dir)}
			if inUse {
				beside.Sign = func() { front.SignFirst(c.dir) }
			}
			v, wrong = verify.Judge(c.fsys, c.dir, beside, inspect.Expected{}, "")
			return v
		},
	}, c.Arg(0))
	if err == nil {
		fmt.Fprintln(c.Stdout, c.Arg(0), made)
	}
	if err == nil && wrong != nil {
		fmt.Fprintf(c.Stderr, "waybill: verify says: %v\n", wrong)
	}
	return exitFailed, err
}

// signedFirst reports whether a server has the directory open, and if so has it sign what it has written: up
// to there it is read.
func (c *call) signedFirst() (inUse bool) {
	inUse = front.StepBackBeside(c.dir, c.StepBack)
	if inUse {
		front.SignFirst(c.dir)
	}
	return inUse
}
