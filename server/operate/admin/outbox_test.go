package admin_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
)

// Decision messages.as: of lines of before format 2, which do not say how messages left, it is said that they
// do not say it, and they are counted so.
func TestMessagesOfBeforeFormat2AreListedSo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	for from, to := range map[string]string{"v1-trees": ".", "v1-signed/timetables": ledger.TimetableDir} {
		former := os.DirFS(rig.File("testdata/journal/" + from))
		if err := os.CopyFS(filepath.Join(dir, to), former); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	s, err := server.Open(server.Config{Dir: dir, Lab: rig.NoClock(), Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list := func(form url.Values) string {
		var out strings.Builder
		if err := s.Admin.Do("outbox-list", &admin.Act{Form: form, Out: &out}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if said := list(nil); !strings.Contains(said, "; 6 sent (before format 2)") {
		t.Error(said)
	}
	said := list(url.Values{"json": {"true"}})
	n := strings.Count(said, `"state": "sent (before format 2)"`)
	if n != 6 || strings.Contains(said, `"as"`) {
		t.Errorf("%d are shown so in %s", n, said)
	}
}
