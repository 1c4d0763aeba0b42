package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"waybill/server/docs"
	"waybill/server/front"
	"waybill/server/proof/statement"
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

// audit prints the program that checks a directory without this one.
func (c *call) audit() (int, error) {
	if !c.get("script").(bool) {
		return exitUsage, errors.New("audit: -script must be given; it prints audit.py")
	}
	_, err := c.Stdout.Write(docs.Auditor())
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
