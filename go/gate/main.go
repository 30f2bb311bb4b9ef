// mayfly-gate is the only program that Mayfly's account on a source can run: sshd forces it, and it is the
// account's login shell. It reads one JSON request from standard input, checks it itself, and answers in frames. No
// shell ever parses the caller's text.
package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"mayfly/gate/check"
	"mayfly/gate/run"
	"mayfly/readonly"
)

// version is set by the build.
var version = "unknown"

// Programs die with the thread that started them, so only the main thread, which never ends, may start them.
func init() { runtime.LockOSThread() }

func main() {
	if err := start(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "mayfly-gate: %v\n", err)
		os.Exit(125)
	}
}

// start runs a subcommand. `-c` with the rest from sshd, or nothing, means `run`.
func start(args []string) error {
	switch {
	case len(args) > 0 && args[0] == run.StageCommand:
		return run.BecomeStage(args[1:])
	case slices.Equal(args, []string{"--version"}):
		fmt.Println("mayfly-gate " + version)
		return nil
	}
	table, err := check.Load(readonly.Programs)
	if err != nil {
		return fmt.Errorf("its table cannot be read: %w", err)
	}
	switch {
	case slices.Equal(args, []string{"check"}):
		return checkOne(table, os.Stdin, os.Stdout)
	case slices.Equal(args, []string{"check", "--lines"}):
		return checkLines(table, os.Stdin, os.Stdout)
	case len(args) == 3 && args[0] == "run" && args[1] == "--uid":
		if err := becomeUser(args[2]); err != nil {
			return err
		}
	}
	return answer(table)
}

// becomeUser drops root, for tests and experiments.
func becomeUser(text string) error {
	uid, err := strconv.Atoi(text)
	if err != nil || uid <= 0 {
		return fmt.Errorf("--uid needs the number of a user that is not root")
	}
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setgid(uid); err != nil {
		return err
	}
	return syscall.Setuid(uid)
}

// answer is `run`. It refuses root: the account's missing permissions protect the source.
func answer(table *check.Table) error {
	if os.Getuid() == 0 || os.Geteuid() == 0 {
		return fmt.Errorf("it does not run as root; its account is mayfly-readonly")
	}
	if original := os.Getenv("SSH_ORIGINAL_COMMAND"); original != "" && original != "gate" {
		return fmt.Errorf("nothing but the gate can be run here, and it takes its request on standard input")
	}
	request, err := run.ReadRequest(os.Stdin)
	os.Stdin.Close()
	if err != nil {
		return run.Refuse(os.Stdout, err)
	}
	switch {
	case request.Hello != nil:
		return run.Hello(os.Stdout, version)
	case request.File != nil:
		return run.File(request.File, os.Stdout)
	}
	return run.Command(table, request, os.Stdout)
}
