// mayfly-gate is the only thing that Mayfly's account on a source can run: sshd is forced to start it, and it is that
// account's login shell. It takes one request in JSON on its standard input, checks it by itself, and answers in frames.
// No shell ever sees what a caller wrote.
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

// What a program dies with when the thread that started it ends, so that thread must be the one that never does.
func init() { runtime.LockOSThread() }

func main() {
	if err := start(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "mayfly-gate: %v\n", err)
		os.Exit(125)
	}
}

// start: `-c` and whatever sshd puts behind it, or nothing, is `run`.
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

// becomeUser gives up root, for tests and for trying things out.
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

// answer is `run`. As root it does nothing: what protects a source is that the account may not change it.
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
