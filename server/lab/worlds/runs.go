package worlds

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"waybill/booking"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
	"waybill/server/operate/admin"
)

// What a carrier does with a run can be brought about in a world as everything else that happens to a client:
// by a call, and again by the same call.

// isRunAct reports whether something can be done with a run.
func isRunAct(do string) bool {
	return do == "cancel" || do == "move" || do == "restore"
}

// errMainRun is the answer to a change of a run of main. Its journal says who has done what, and every user
// of this machine may call here: the directory's socket is asked, which knows its caller.
var errMainRun = web.Detailed(http.StatusForbidden, "FORBIDDEN", "AUTH_NO_ACCESS", func(w *wire.Writer) {
	w.Texts("field", "name", "hint", "runs of main can be changed only by waybill run or at the desk")
})

// putRun answers PUT /worlds/{name}/runs/{tripId}/{date}: the run is cancelled, moved or restored, as the
// verbs do it. What it says is what they print.
func (c *Control) putRun(w http.ResponseWriter, r *http.Request) error {
	if r.PathValue("name") == Main {
		return errMainRun
	}
	form := url.Values{
		"trip": {r.PathValue("tripId")},
		"date": {r.PathValue("date")},
	}
	do := ""
	err := web.ReadBody(w, r, false, func(in *wire.Reader) {
		in.Fields(
			wire.Must("do", func() { do = in.Text(isRunAct, "be cancel, move or restore") }),
			wire.Must("reason", func() { form.Set("reason", in.String()) }),
			wire.May("minutes", func() {
				form.Set("minutes", strconv.FormatInt(in.Int(), 10))
			}),
			wire.May("dryRun", func() {
				if in.Bool() {
					form.Set("dry-run", "true")
				}
			}),
		)
	})
	if err != nil {
		return err
	}
	c.changing.RLock()
	defer c.changing.RUnlock()
	of, err := c.named(r)
	if err != nil {
		return err
	}
	op := "run-" + do
	if do != "move" && form.Has("minutes") {
		return web.Invalid(web.Problem("minutes", "says nothing where do is "+do))
	}
	if err := admin.CheckForm(op, form); err != nil {
		return web.Invalid(web.Problem(fieldOf(err), "is wrong: "+strings.TrimPrefix(err.Error(), "-")))
	}
	var said strings.Builder
	err = of.Front.Server.Admin.Do(op, &admin.Act{
		By:   ledger.By{UID: os.Getuid()}, // the world is this process's: it goes with it
		Form: form,
		Out:  &said,
	})
	if errors.Is(err, booking.ErrNoRun) {
		return web.NotFoundFor("tripId", "date")
	}
	if err != nil {
		return web.Fail(http.StatusConflict, "CONFLICT", err.Error())
	}
	return web.Reply(w, http.StatusOK, func(out *wire.Writer) {
		out.String("said", strings.TrimSpace(said.String()))
	})
}

// fieldOf names the member of a body that a complaint about a flag is about; a complaint about none is about
// the run.
func fieldOf(err error) string {
	for _, name := range []string{"reason", "minutes"} {
		if strings.HasPrefix(err.Error(), "-"+name) {
			return name
		}
	}
	return "date"
}
