// Waybill is a bus-ticket distribution server. See README.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // time zones on a machine that has none

	"waybill/server/command"
	"waybill/server/command/terminal"
	"waybill/server/ledger"
	"waybill/store/durable"
)

// What the linker writes into the binary of a release, which is built where there is no repository to ask.
var version, revision string

func main() {
	ledger.Stamp(version, revision)
	// Who reads our output may stop reading, as head does: that ends no change half-way.
	signal.Ignore(syscall.SIGPIPE)
	stops := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		stops = append(stops, syscall.SIGHUP) // the terminal is closed
	}
	ctx, cancel := signal.NotifyContext(context.Background(), stops...)
	context.AfterFunc(ctx, cancel) // a second signal ends the process at once
	code := command.Main(&command.Process{
		Args:   os.Args[1:],
		Stdin:  os.Stdin,
		Stdout: os.Stdout,
		Stderr: terminal.Stderr(),
		Env:    os.LookupEnv,
		Stop:   ctx.Done(),

		StepBack: durable.StepBack,
	})
	cancel()
	os.Exit(code)
}
