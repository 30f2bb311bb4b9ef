// mayfly-diff compares two ext4 file systems, from the host's files of their disks. It starts with those files
// open, drops all privileges but reading them, and only then parses guest data.
//
// The request is a JSON object on standard input, the answer is on standard output. For an incomplete answer the
// exit code is not 0, and standard error has the reason as a JSON object.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	"mayfly/diff/confine"
	"mayfly/diff/fault"
)

// version is set by the build.
var version = "unknown"

func main() {
	uid := flag.Int("uid", 0, "user to become, when started as root")
	showVersion := flag.Bool("version", false, "say which version this is")
	flag.Parse()
	if *showVersion {
		fmt.Println("mayfly-diff " + version)
		return
	}
	if err := run(*uid); err != nil {
		complain(err)
		os.Exit(1)
	}
}

func run(uid int) (err error) {
	if err := confine.Process(uid); err != nil {
		return fault.New(fault.Internal, "it could not be confined: %v", err)
	}
	defer func() {
		// A bug that an image triggers becomes a fault, without a stack trace.
		if found := recover(); found != nil {
			err = fault.New(fault.Internal, "%v", found)
		}
	}()
	debug.SetMemoryLimit(confine.MemoryBytes / 4 * 3)
	request, err := readRequest(os.Stdin)
	if err != nil {
		return err
	}
	return request.answer(os.Stdout)
}

func complain(err error) {
	var found *fault.Fault
	if !errors.As(err, &found) {
		found = &fault.Fault{Code: fault.Internal, Message: err.Error()}
	}
	if encoded, err := json.Marshal(found); err == nil {
		os.Stderr.Write(append(encoded, '\n'))
	}
}
