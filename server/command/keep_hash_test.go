package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"waybill/server/lab/rig"
)

// hashes is a keeper of hashes in a line of shell: it adds what it is given to a file.
const hashes = `touch %[1]s; last=$(tail -n 1 %[1]s); echo "${last:-0 -}"
while read -r seq hash; do echo "$seq $hash" >> %[1]s; echo "$seq"; done`

// keepHash returns the keeper that passes hashes on to a command.
func keepHash(command string) string {
	return fmt.Sprintf("exec python3 -I '%s' '%s'", rig.File("testdata/deploy/keep-hash.py"), command)
}

// Decision keep.hashes: what keep-hash.py passes on is the number and the hash of each line and nothing else,
// before anybody is told of the line. So a line that is taken back afterwards is missed.
func TestAKeeperOfHashes(t *testing.T) {
	t.Parallel()
	if !rig.Has(t, "python3") {
		return
	}
	bin, dir := build(t)
	file := filepath.Join(filepath.Dir(dir), "hashes")
	keeper := keepHash(fmt.Sprintf(hashes, file))
	for range 2 { // the second start goes on where the first ended
		p := startProcess(t, bin, dir, "-keep", keeper)
		p.key = strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
		order := offer(t, p)
		for range 3 {
			told := p.sells(t, order)
			kept := strings.Split(strings.TrimSpace(content(t, file)), "\n")
			seq, _, _ := strings.Cut(kept[len(kept)-1], " ")
			if last, err := strconv.Atoi(seq); err != nil || last < told {
				t.Errorf("line %d was told of, and the keeper of hashes has %s", told, seq)
			}
		}
		p.cmd.Process.Signal(syscall.SIGTERM)
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("a stop ends with %v", err)
		}
	}
	var journal strings.Builder
	line := regexp.MustCompile(`(?m)^{"hash":"([0-9a-f]{64})","seq":(\d+),`)
	for _, m := range line.FindAllStringSubmatch(content(t, dir, firstFile), -1) {
		journal.WriteString(m[2] + " " + m[1] + "\n")
	}
	if content(t, file) != journal.String() {
		t.Error("the keeper of hashes has something else than the hashes of the journal")
	}
}

// Where the command of a keeper of hashes ends, the server ends at once, though no line comes.
func TestAKeeperOfHashesEndsWithItsCommand(t *testing.T) {
	t.Parallel()
	if !rig.Has(t, "python3") {
		return
	}
	bin, dir := build(t)
	file := filepath.Join(filepath.Dir(dir), "hashes")
	pid := file + ".pid"
	command := fmt.Sprintf("echo $$ > %s; %s", pid, fmt.Sprintf(hashes, file))
	p := startProcess(t, bin, dir, "-keep", keepHash(command))
	number, err := strconv.Atoi(strings.TrimSpace(content(t, pid)))
	if err != nil {
		t.Fatal(err)
	}
	syscall.Kill(number, syscall.SIGKILL)
	p.cmd.Wait()
	if code := p.cmd.ProcessState.ExitCode(); code != exitIO {
		t.Errorf("the server ends with %d", code)
	}
}

// A line whose hash does not follow is not passed on.
func TestAKeeperOfHashesChecksTheChain(t *testing.T) {
	t.Parallel()
	if !rig.Has(t, "python3") {
		return
	}
	_, dir := build(t)
	want(t, 0, "", "import", "-data", dir, "../../testdata/demo")
	stream := want(t, 0, "", "tail", "-data", dir, "-format", "copy")
	file := filepath.Join(t.TempDir(), "hashes")
	forged := strings.Replace(stream, `"skipped":0`, `"skipped":1`, 1)
	for text, code := range map[string]int{forged: 1, stream: 0} {
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("python3", "-I", "../../testdata/deploy/keep-hash.py", fmt.Sprintf(hashes, file))
		cmd.Stdin = strings.NewReader(text)
		out, _ := cmd.CombinedOutput()
		said := strings.Contains(string(out), "does not follow")
		if got := cmd.ProcessState.ExitCode(); got != code || said != (code != 0) {
			t.Errorf("exit %d, want %d\n%s", got, code, out)
		}
	}
	if cmd := exec.Command("python3", "-I", "../../testdata/deploy/keep-hash.py"); cmd.Run() == nil ||
		cmd.ProcessState.ExitCode() != exitUsage {
		t.Errorf("without a command it ends with %d", cmd.ProcessState.ExitCode())
	}
}
