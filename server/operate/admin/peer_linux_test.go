package admin_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"waybill/server/operate/admin"
)

// leaving names the socket that a process of this test opens before it ends.
const leaving = "WAYBILL_TEST_LEAVING"

// An act has its author's login. A caller that has ended before it was asked for, as a program that sends an
// act and does not wait, would leave none: it is no known caller, and its act is refused.
func TestACallerThatHasEndedIsNotKnown(t *testing.T) {
	if path := os.Getenv(leaving); path != "" {
		if _, err := net.Dial("unix", path); err != nil {
			t.Fatal(err)
		}
		return // the process ends
	}
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	called := func() bool {
		c, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, known := admin.Caller(admin.ConnContext(context.Background(), c))
		return known
	}
	stays, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer stays.Close()
	if !called() {
		t.Error("a caller that waits is not known")
	}
	leaves := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	leaves.Env = append(os.Environ(), leaving+"="+path)
	if out, err := leaves.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if called() {
		t.Error("a caller that has ended is known")
	}
}
