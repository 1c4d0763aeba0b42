package worlds

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waybill/server/reach/ticket"
)

// A run is cancelled, moved and restored in one world, and in no other.
func TestARunIsChangedInOneWorld(t *testing.T) {
	x := newControl(t)
	x.world("a", Main)
	x.world("b", "a")
	const path = "/worlds/a/runs/kl-0530/2026-11-25"
	said := func(status int, body, want string) {
		t.Helper()
		if got := x.call(status, "PUT", path, body).body; !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	said(200, `{"do":"move","minutes":30,"reason":"snow","dryRun":true}`, "dry run")
	said(200, `{"do":"move","minutes":30,"reason":"snow"}`, "leaves 30 minutes later")
	said(200, `{"do":"restore","reason":"a thaw"}`, "leaves as its timetable says again")
	said(200, `{"do":"cancel","reason":"snow"}`, "is cancelled; tickets: 0 refunded")
	said(409, `{"do":"move","minutes":30,"reason":"snow"}`, "is cancelled")
	said(400, `{"do":"move","minutes":721,"reason":"snow"}`, "-720 to 720")
	said(400, `{"do":"move","reason":"snow"}`, "minutes must be given")
	said(400, `{"do":"sell","reason":"snow"}`, "cancel, move or restore")
	said(400, `{"do":"cancel"}`, "reason")
	said(400, `{"do":"cancel","reason":"snow","minutes":5}`, `"field":"minutes"`)
	said(400, `{"do":"move","minutes":999,"reason":"snow"}`, `"field":"minutes"`)
	said(400, `{"do":"cancel","reason":"a\u202eb"}`, `"field":"reason"`)
	said(400, `{"do":"cancel","reason":""}`, "reason")
	x.call(404, "PUT", "/worlds/none/runs/kl-0530/2026-11-25", `{"do":"cancel","reason":"snow"}`)
	x.call(400, "PUT", "/worlds/a/runs/kl-0530/tomorrow", `{"do":"cancel","reason":"snow"}`)
	x.call(404, "PUT", "/worlds/a/runs/no-such/2026-11-25", `{"do":"cancel","reason":"snow"}`)
	// In the other world the run is as it was.
	other := strings.Replace(path, "/a/", "/b/", 1)
	got := x.call(200, "PUT", other, `{"do":"cancel","reason":"snow"}`).body
	if strings.Contains(got, "nothing to change") {
		t.Error(got)
	}
}

// Runs of main are not changed by whoever can reach the listener, in the name of the server's user: 403,
// whatever the body says, and the journal has no line of it.
func TestARunOfMainIsNotChangedByCalls(t *testing.T) {
	x := newControl(t)
	written := func() int64 {
		t.Helper()
		var size int64
		files, err := filepath.Glob(filepath.Join(x.dir, "journal", "*"))
		if err != nil || files == nil {
			t.Fatal(files, err)
		}
		for _, f := range files {
			info, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			size += info.Size()
		}
		return size
	}
	before := written()
	for _, body := range []string{
		`{"do":"cancel","reason":"snow"}`,
		`{"do":"move","minutes":30,"reason":"snow"}`,
		`{"do":"restore","reason":"a thaw"}`,
		`{"do":"cancel","reason":"snow","dryRun":true}`,
		`{`,
	} {
		got := x.call(403, "PUT", "/worlds/main/runs/kl-0530/2026-11-25", body).body
		if !strings.Contains(got, "AUTH_NO_ACCESS") || !strings.Contains(got, "only by waybill run") {
			t.Errorf("%s: %s", body, got)
		}
	}
	if after := written(); after != before {
		t.Errorf("the journal has grown by %d bytes", after-before)
	}
}

// A ticket of a world is none of its parent's: it is signed with another key.
func TestAWorldsTicketsAreNotItsParents(t *testing.T) {
	x := newControl(t)
	x.world("a", Main)
	read := func(dir string) string {
		text, err := os.ReadFile(filepath.Join(dir, ticket.PublicFile))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if read(x.dir) == read(filepath.Join(x.dir, "worlds", "a")) {
		t.Error("the world signs with its parent's key")
	}
}
