package run

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"

	"mayfly/gate/sandbox"
)

// StageCommand is the subcommand by which the gate starts itself to execute a program. SSH cannot reach it:
// callers' text follows -c.
const StageCommand = "exec-stage"

func stageArguments(next launch) ([]string, error) {
	needs, err := json.Marshal(next.needs)
	if err != nil {
		return nil, err
	}
	return append([]string{"mayfly-gate", StageCommand, string(needs), next.path}, next.argv...), nil
}

// BecomeStage restricts this process and executes the program: arguments are the needs, the path, and its argv. It
// returns only on failure.
func BecomeStage(arguments []string) error {
	if len(arguments) < 3 {
		return fmt.Errorf("%s is started by the gate itself", StageCommand)
	}
	var needs sandbox.Needs
	if err := json.Unmarshal([]byte(arguments[0]), &needs); err != nil {
		return err
	}
	syscall.Umask(0o077)
	if err := sandbox.Confine(needs); err != nil {
		return fmt.Errorf("the sandbox cannot be made: %w", err)
	}
	if err := syscall.Exec(arguments[1], arguments[2:], os.Environ()); err != nil {
		return fmt.Errorf("%s cannot be executed: %w", arguments[1], err)
	}
	return nil
}
