// Pack makes what .ci/release hands over and the go command does not: a source archive, image archives, the
// pages as files, and a list of contents. Its arguments alone decide what it writes: two runs give equal bytes.
//
//	go run ./.ci/pack source -time T -name waybill-1.2 -out FILE.tar.gz DIR
//	go run ./.ci/pack image  -time T -arch amd64 -name waybill:1.2 -out FILE.tar BINARY
//	go run ./.ci/pack pages  -version 1.2 -revision REV -out DIR URL
//	go run ./.ci/pack sbom   -time T -version 1.2 -out FILE DIR
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

// request is what one call is asked for.
type request struct {
	time    time.Time // of the commit: the one instant that everything has
	arch    string
	name    string
	version string
	commit  string
	out     string
	operand string
}

var commands = map[string]func(*request) error{
	"source": source,
	"image":  image,
	"pages":  pages,
	"sbom":   sbom,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 || commands[args[0]] == nil {
		return errors.New("source, image, pages or sbom is expected")
	}
	var x request
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	at := flags.String("time", "1970-01-01T00:00:00Z", "the `instant` of the commit")
	flags.StringVar(&x.arch, "arch", "", "the architecture of an image")
	flags.StringVar(&x.name, "name", "", "the first folder of a source archive, or the name of an image")
	flags.StringVar(&x.version, "version", "", "the version")
	flags.StringVar(&x.commit, "revision", "", "the commit of the version")
	flags.StringVar(&x.out, "out", "", "the file or directory to write")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if x.out == "" || flags.NArg() != 1 {
		return errors.New("-out and one operand are expected")
	}
	x.operand = flags.Arg(0)
	var err error
	if x.time, err = time.Parse(time.RFC3339, *at); err != nil {
		return err
	}
	x.time = x.time.UTC()
	return commands[args[0]](&x)
}
