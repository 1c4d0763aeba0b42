//go:build !lean

package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"waybill/server/lab/ports"
	"waybill/server/lab/rig"
)

var natsServer = flag.String("nats", "", "the nats-server that tests start; without it that in PATH")

// engine is three nats-servers on loopback, each of which syncs every write. They can be stopped and killed.
type engine struct {
	t       *testing.T
	dir     string
	program string
	ports   [6]int // three for clients, three between the servers
	servers []*exec.Cmd
}

// How a client signs in at the engine: by the protocol, and in the environment of keep-nats.py.
const signIn = `{"verbose":false,"headers":true,"user":"waybill","pass":"not for a command line"}`

var natsEnv = []string{"NATS_USER=waybill", "NATS_PASSWORD=not for a command line"}

// startEngine starts three servers. It returns nil where there is no program for them.
func startEngine(t *testing.T) *engine {
	t.Helper()
	program := *natsServer
	if program == "" && rig.Has(t, "nats-server") {
		program = "nats-server"
	}
	if program == "" || !rig.Has(t, "python3") {
		return nil
	}
	e := &engine{t: t, program: program, servers: make([]*exec.Cmd, 3)}
	e.dir = t.TempDir()
	t.Cleanup(e.end)
	for i := range e.ports {
		e.ports[i] = ports.Row(t, 1)
	}
	const form = `server_name: n%d
listen: "127.0.0.1:%d"
authorization { user: waybill, password: "not for a command line" }
jetstream { store_dir: %q, sync_interval: always, max_file_store: 4GB }
cluster {
  name: waybill, listen: "127.0.0.1:%d"
  routes: ["nats://127.0.0.1:%d", "nats://127.0.0.1:%d", "nats://127.0.0.1:%d"]
}
`
	for i := range e.servers {
		text := fmt.Sprintf(form, i, e.ports[i], filepath.Join(e.dir, fmt.Sprint(i)), e.ports[3+i],
			e.ports[3], e.ports[4], e.ports[5])
		if err := os.WriteFile(e.file(i, "conf"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// start starts those of the servers that are not running, and waits until all are there and have a leader.
func (e *engine) start() {
	e.t.Helper()
	for i := range e.servers {
		if e.servers[i] != nil {
			continue
		}
		cmd := exec.Command(e.program, "-c", e.file(i, "conf"), "-l", e.file(i, "log"))
		if err := cmd.Start(); err != nil {
			e.t.Fatal(err)
		}
		e.servers[i] = cmd
	}
	for i := range e.servers {
		rig.Eventually(e.t, fmt.Sprintf("server %d of the engine knows a leader", i), func() bool {
			answer := e.askOne(i, "$JS.API.INFO", "")
			return strings.Contains(answer, `account_info_response"`) && !strings.Contains(answer, `"error"`)
		})
	}
}

// kill kills a server.
func (e *engine) kill(i int) {
	e.servers[i].Process.Kill()
	e.servers[i].Wait()
	e.servers[i] = nil
}

// signal sends a signal to a server that runs.
func (e *engine) signal(i int, signal syscall.Signal) { e.servers[i].Process.Signal(signal) }

// end ends all servers.
func (e *engine) end() {
	if e.t.Failed() {
		for i := range e.servers {
			text, _ := os.ReadFile(e.file(i, "log"))
			e.t.Logf("server %d: %s", i, text[max(0, len(text)-3000):])
		}
	}
	for i := range e.servers {
		if e.servers[i] != nil {
			e.kill(i)
		}
	}
}

func (e *engine) file(i int, ending string) string {
	return filepath.Join(e.dir, fmt.Sprintf("n%d.%s", i, ending))
}

// addresses returns where the servers are, as keep-nats.py wants them.
func (e *engine) addresses() string {
	return fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d", e.ports[0], e.ports[1], e.ports[2])
}

// ask asks whatever server answers, and returns the answer, or nothing.
func (e *engine) ask(subject, body string) string {
	for i := range e.servers {
		if text := e.askOne(i, subject, body); text != "" {
			return text
		}
	}
	return ""
}

// askOne makes a request of one server, and returns nothing where it does not answer within two seconds.
func (e *engine) askOne(i int, subject, body string) string {
	c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", e.ports[i]))
	if err != nil {
		return ""
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Second))
	fmt.Fprintf(c, "CONNECT %s\r\nSUB answer 1\r\nPING\r\n", signIn)
	in := bufio.NewReader(c)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return ""
		}
		if line == "PONG\r\n" { // it knows by now who wants the answer
			fmt.Fprintf(c, "PUB %s answer %d\r\n%s\r\n", subject, len(body), body)
		}
		var size int
		if n, _ := fmt.Sscanf(line, "MSG answer 1 %d", &size); n == 1 {
			text := make([]byte, size)
			io.ReadFull(in, text)
			return string(text)
		}
	}
}

// leader returns the server that leads the stream.
func (e *engine) leader() int {
	for range 100 {
		var info struct {
			Cluster struct{ Leader string }
		}
		json.Unmarshal([]byte(e.ask("$JS.API.STREAM.INFO.WAYBILL", "")), &info)
		for i := range e.servers {
			if info.Cluster.Leader == fmt.Sprint("n", i) {
				return i
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	e.t.Fatal("the stream has no leader")
	return 0
}

// keeper returns the command that keeps lines in the stream.
func (e *engine) keeper() string {
	// As a file with settings of the unit would have it.
	environment := strings.Join(natsEnv, "' '")
	return fmt.Sprintf("export '%s'; exec python3 '%s' %s", environment, e.script(), e.addresses())
}

func (e *engine) script() string {
	path, err := filepath.Abs("../../testdata/deploy/keep-nats.py")
	if err != nil {
		e.t.Fatal(err)
	}
	return path
}

// does runs keep-nats.py with what follows the addresses. The lines are received by the program bin.
func (e *engine) does(bin string, arguments ...string) (code int, out string) {
	cmd := e.command(bin, arguments...)
	text, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(text)
}

func (e *engine) command(bin string, arguments ...string) *exec.Cmd {
	cmd := exec.Command("python3", append([]string{e.script(), e.addresses()}, arguments...)...)
	cmd.Env = append(append(os.Environ(), "WAYBILL="+bin), natsEnv...)
	return cmd
}

// proxy returns an address of the first server. Its first connection asks for something else than it wants,
// once, and the proxy says whether it did. Where both are the same it asks twice.
func (e *engine) proxy(wants, asks string) (address string, asked *atomic.Bool) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { l.Close() })
	asked = &atomic.Bool{}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", e.ports[0]))
			if err != nil {
				client.Close()
				continue
			}
			go func() {
				io.Copy(client, server)
				client.Close()
			}()
			go func() {
				defer server.Close()
				for text := make([]byte, 1<<16); ; {
					n, err := client.Read(text)
					said := text[:n]
					if bytes.Contains(said, []byte(wants)) && asked.CompareAndSwap(false, true) {
						said = bytes.Replace(said, []byte(wants), []byte(asks), 1)
						if wants == asks && wants != "" {
							said = append(said, said...)
						}
					}
					if _, failed := server.Write(said); err != nil || failed != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String(), asked
}

// publish appends a message to the stream, as nobody's keeper does, and returns the engine's answer.
func (e *engine) publish(headers, body string) (answer string) {
	c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", e.ports[0]))
	if err != nil {
		e.t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	head := "NATS/1.0\r\n" + headers + "\r\n"
	fmt.Fprintf(c, "CONNECT %s\r\nSUB answer 1\r\nPING\r\n", signIn)
	in := bufio.NewReader(c)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			e.t.Fatal(err)
		}
		if line == "PONG\r\n" {
			all := head + body
			fmt.Fprintf(c, "HPUB WAYBILL answer %d %d\r\n%s\r\n", len(head), len(all), all)
		}
		if strings.HasPrefix(line, "MSG") {
			answer, _ = in.ReadString('\n')
			return answer
		}
	}
}

// Decision keep.fence: an engine says "no message found" of whatever it fails to read. What it has is asked
// again then. The proxy has the first connection ask for what is not there. While a cluster finds a leader
// it may answer twice: no answer is taken for that to another question.
func TestAnEngineThatFailsToReadIsAskedAgain(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	if e == nil {
		return
	}
	e.start()
	bin, dir := build(t)
	want(t, 0, "is in force", "import", "-data", dir, "../../testdata/demo")
	lines := want(t, 0, "", "tail", "-data", dir, "-format", "copy")
	last := fmt.Sprintf("%d ", bytes.Count(allLines(t, dir), []byte("\n")))
	for _, c := range []struct{ wants, asks string }{
		{"", ""},
		{`"last_by_subj": "WAYBILL"`, `"last_by_subj": "NOBODYS"`},
		{`{"seq": 1}`, `{"seq": 9}`},
		{`STREAM.CREATE`, `STREAM.CREATE`},
	} {
		proxy, asked := e.proxy(c.wants, c.asks)
		keep := e.command(bin)
		keep.Args[2] = proxy
		keep.Stdin = strings.NewReader(lines)
		out, err := keep.Output()
		if !asked.Load() || err != nil || c.wants != "" && !strings.HasPrefix(string(out), last) {
			t.Errorf("%s: asked %t, %v, kept up to %q", c.asks, asked.Load(), err, out)
		}
	}
}

// What keep-nats.py is asked wrongly, or of nobody.
func TestKeepNatsIsAskedWrongly(t *testing.T) {
	t.Parallel()
	if !rig.Has(t, "python3") {
		return
	}
	script := rig.File("testdata/deploy/keep-nats.py")
	for _, arguments := range [][]string{{}, {"host"}, {"host:4222", "pul"}, {"host:4222", "pull"},
		{"host:4222", "-stream"}, {"host:4222", "-stream", "a b"},
		{"host:4222", "-past"}, {"host:4222", "-past", "x"}, {"host:4222", "-past", "1", "fence"},
		{"host:4222", "pull", "DIR", "-stream", "S"}} {
		cmd := exec.Command("python3", append([]string{script}, arguments...)...)
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exitUsage {
			t.Errorf("%q: exit %d\n%s", arguments, cmd.ProcessState.ExitCode(), out)
		}
	}
}
