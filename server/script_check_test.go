package server

import (
	"errors"
	"strconv"

	"waybill/server/lab/transcript"
)

// check does a check of the transcript.
func (p *player) check(line string) {
	if _, err := strconv.Atoi(line); err == nil {
		p.asked = true
	}
	err := p.Check(line)
	if wrong := new(transcript.Mismatch); errors.As(err, &wrong) {
		p.fatal("%v\n(%s)", err, p.resp.Body)
	}
	if err != nil {
		p.fatal("%v", err)
	}
}
