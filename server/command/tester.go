//go:build !lean

package command

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"waybill/server/front"
	"waybill/server/lab/conform"
)

// conform plays the interface's rules against a server, whoever has written it. That a rule failed is exit 1,
// and so is a booking that was left.
func (c *call) conform() (int, error) {
	if c.text("recorded") != "" {
		return c.recorded()
	}
	opt := conform.Options{
		Key:     c.text("key"),
		Key2:    c.text("key2"),
		IDToken: c.text("id-token"),
		Write:   c.get("write").(bool),
		Stage:   c.get("stage").(int),
		From:    c.text("from"),
		To:      c.text("to"),
		Date:    c.text("date"),
		Stop:    c.Stop,
	}
	// Without a stage all are played.
	if opt.Stage != 0 && !conform.HasStage(opt.Stage) {
		return exitUsage, errors.New("-stage is a number from 1 to 9")
	}
	if c.get("list").(bool) {
		return exitFailed, conform.List(opt.Stage, c.Stdout)
	}
	if err := c.whereToPlay(&opt); err != nil {
		return exitUsage, err
	}
	sum, err := conform.Run(opt, c.Stdout)
	if err == nil {
		err = sum.Report(c.text("junit"))
	}
	return exitFailed, errors.Join(err, sum.Err())
}

// whereToPlay reads the flags that say against which server, and on which journey. All of them are checked
// before anybody is asked.
func (c *call) whereToPlay(opt *conform.Options) (err error) {
	if c.text("base-url") == "" {
		return errors.New("-base-url names the server to ask")
	}
	if opt.BaseURL, err = front.ParseURL(c.text("base-url")); err != nil {
		return fmt.Errorf("-base-url: %w", err)
	}
	if control := c.text("control"); control != "" {
		if opt.ControlURL, err = front.ParseURL(control); err != nil {
			return fmt.Errorf("-control: %w", err)
		}
		if !opt.Write {
			return errors.New("-control makes a world to write in, and goes with -write")
		}
	}
	// A key that was copied with the line's end is no key, and every rule would say so.
	for _, name := range []string{"key", "key2", "id-token"} {
		if strings.ContainsFunc(c.text(name), func(r rune) bool { return r <= ' ' || r > '~' }) {
			return fmt.Errorf("-%s has a character that no %s has", name, name)
		}
	}
	if opt.Key2 != "" && opt.Key2 == opt.Key {
		return errors.New("-key and -key2 are of two partners")
	}
	none := opt.From == "" && opt.To == "" && opt.Date == ""
	if !none && (opt.From == "" || opt.To == "" || opt.Date == "") {
		return errors.New("-from, -to and -date go together")
	}
	if _, err := time.Parse(time.DateOnly, opt.Date); !none && err != nil {
		return fmt.Errorf("-date %q is not a day as in 2026-11-25", opt.Date)
	}
	return nil
}
