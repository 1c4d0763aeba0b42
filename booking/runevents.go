package booking

import (
	"waybill/schedule"
	"waybill/schedule/ids"
)

// RunChange is a carrier's change of a run. It is immutable.
type RunChange struct {
	Run ids.RunName `json:"run"`
	schedule.Change
	Tickets int    `json:"tickets"` // that were cancelled with it
	Reason  string `json:"reason"`  // of the last change
}

// The events, with what is in them.
type (
	// RunCanceled says that a run was cancelled, with the tickets that live. A later RunCanceled of the
	// same run cancels tickets that were pending then.
	RunCanceled struct {
		Run     ids.RunName       `json:"run"`
		Reason  string            `json:"reason"`
		Tickets []CanceledWithRun `json:"tickets"`
	}
	// CanceledWithRun is a ticket that was cancelled with its run.
	CanceledWithRun struct {
		ID       ids.ID   `json:"id"`
		Booking  ids.ID   `json:"booking"`
		Partner  ids.ID   `json:"partner"`
		Refunded bool     `json:"refunded"`
		Refund   int64    `json:"refund"`          // minor units: all that was paid
		Sends    []string `json:"sends,omitempty"` // see Settled.Sends
	}
	// RunMoved says that a run leaves so many minutes later than its timetable says. Tickets that were sold
	// under another timetable leave at the same time.
	RunMoved struct {
		Run     ids.RunName      `json:"run"`
		Minutes int              `json:"minutes"`
		Reason  string           `json:"reason"`
		Runs    []MovedRun       `json:"runs"` // as it was sold, in each form
		Tickets []InformedTicket `json:"tickets"`
	}
	// MovedRun says which run replaces one that was sold.
	MovedRun struct {
		Was     ids.RunID `json:"run"`
		Start   int64     `json:"start"` // see Run
		Offsets []int32   `json:"offsets"`
		// Aligned says that the run was sold by another timetable than the one in force. It then moves by
		// another time than the minutes say, so that it leaves when the run does.
		Aligned bool `json:"aligned,omitempty"`
	}
	// InformedTicket is a live ticket that leaves at another time.
	InformedTicket struct {
		ID      ids.ID   `json:"id"`
		Booking ids.ID   `json:"booking"`
		Partner ids.ID   `json:"partner"`
		Sends   []string `json:"sends,omitempty"` // see Settled.Sends
	}
	// RunRestored says that a cancellation of a run was taken back, or else its move. No ticket was
	// touched.
	RunRestored struct {
		Run    ids.RunName `json:"run"`
		Reason string      `json:"reason"`
	}
)
