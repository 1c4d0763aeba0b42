//go:build !lean

package command

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"waybill/schedule"
	"waybill/server/front"
	"waybill/server/lab/conform"
)

// conform plays the interface's rules against a server, whoever has written it. That a rule failed is exit 1,
// and so is a booking that was left where it could have been canceled.
func (c *call) conform() (int, error) {
	if c.text("recorded") != "" {
		return c.recorded()
	}
	opt := conform.Options{
		Key:       c.text("key"),
		Key2:      c.text("key2"),
		IDToken:   c.text("id-token"),
		Email:     c.text("email"),
		FMSObject: c.text("fms"),
		StopID:    c.text("stop"),
		LikeKey:   c.text("like-key"),
		Write:     c.get("write").(bool),
		Beyond:    c.get("beyond").(bool),
		Strict:    c.get("strict").(bool),
		Stage:     c.get("stage").(int),
		From:      c.text("from"),
		To:        c.text("to"),
		Date:      c.text("date"),
		Stop:      c.Stop,
	}
	// Without a stage all are played.
	if opt.Stage != 0 && !conform.HasStage(opt.Stage) {
		return exitUsage, errors.New("-stage must be from 1 to 10")
	}
	if c.get("list").(bool) {
		return exitFailed, conform.List(opt.Stage, c.Stdout)
	}
	if err := c.whereToPlay(&opt); err != nil {
		return exitUsage, err
	}
	if err := c.readForConform(&opt); err != nil {
		return exitFailed, err
	}
	report, err := createReport(c.text("junit"))
	if err != nil {
		return exitFailed, err
	}
	sum, err := conform.Run(opt, c.Stdout)
	if report != nil {
		err = errors.Join(err, sum.JUnit(report), report.Close())
	}
	return exitFailed, errors.Join(err, sum.Err())
}

// createReport makes the file of a report before anybody is asked: nobody learns after half an hour that it
// cannot be written. "" is none.
func createReport(name string) (*os.File, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("-junit: %w", err)
	}
	return f, nil
}

// readForConform reads the files that flags name.
func (c *call) readForConform(opt *conform.Options) error {
	if c.text("password-file") != "" {
		var err error
		if opt.Password, err = c.passwordIn("password-file"); err != nil {
			return err
		}
	}
	if name := c.text("known"); name != "" {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("-known: %w", err)
		}
		defer f.Close()
		if opt.Known, err = conform.ReadKnown(f); err != nil {
			return fmt.Errorf("-known %s: %w", name, err)
		}
	}
	return nil
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
			return errors.New("-control makes a world to write in; give it only with -write")
		}
	}
	if like := c.text("like"); like != "" {
		if opt.LikeURL, err = front.ParseURL(like); err != nil {
			return fmt.Errorf("-like: %w", err)
		}
	}
	// A key that was copied with the line's end is no key, and every rule would say so.
	for _, name := range []string{"key", "key2", "like-key", "id-token"} {
		if strings.ContainsFunc(c.text(name), func(r rune) bool { return r <= ' ' || r > '~' }) {
			return fmt.Errorf("-%s has a character that no %s has", name, strings.TrimPrefix(name, "like-"))
		}
	}
	return c.pairsForConform(opt)
}

// pairsForConform checks flags that go together.
func (c *call) pairsForConform(opt *conform.Options) error {
	if opt.Key2 != "" && opt.Key2 == opt.Key {
		return errors.New("-key and -key2 must be keys of two partners")
	}
	if (opt.LikeURL == "") != (opt.LikeKey == "") {
		return errors.New("give -like and -like-key together")
	}
	if (opt.Email == "") != (c.text("password-file") == "") {
		return errors.New("give -email and -password-file together")
	}
	none := opt.From == "" && opt.To == "" && opt.Date == ""
	if !none && (opt.From == "" || opt.To == "" || opt.Date == "") {
		return errors.New("give -from, -to and -date together")
	}
	if _, err := schedule.ParseDay(opt.Date); !none && err != nil {
		return fmt.Errorf("-date %w", err)
	}
	return nil
}
