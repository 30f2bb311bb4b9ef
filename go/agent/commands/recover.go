package commands

import (
	"fmt"
	"os"
	"time"

	"mayfly/agent/output"
	"mayfly/agent/processes"
)

const lostReason = "The agent in the guest ended, or the guest was restarted, while the command ran: what became of it is not known."

// recover settles commands that an earlier agent left without an exit. It runs before the agent listens.
func (s *Service) recover() error {
	entries, err := os.ReadDir(s.markers.folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		id := entry.Name()
		if !isCommandID(id) {
			continue
		}
		exit, err := s.markers.readExit(id)
		if err != nil {
			fmt.Fprintf(os.Stderr, "mayfly-agent: the exit of %s cannot be read: %v\n", id, err)
		}
		if exit != nil && err == nil {
			continue
		}
		if err := s.settle(id); err != nil {
			return err
		}
	}
	return nil
}

// settle kills the processes of a command whose output is lost, and records an unknown outcome.
func (s *Service) settle(id string) error {
	t := processes.NewTree(s.groups, id)
	for deadline := time.Now().Add(hopeless); !t.Empty() && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		t.Kill()
	}
	t.Forget()

	reason := lostReason
	exit := &commandExit{Outcome: "unknown", EndedAt: stamp(time.Now()), Reason: &reason}
	if r, err := s.markers.readRequest(id); err == nil {
		exit.StartedAt = &r.StartedAt
	}
	kept, err := output.CutLog(s.markers.path(id, logFile))
	if err != nil {
		return err
	}
	exit.Stdout = output.Summary{Bytes: kept[output.Stdout], Kept: kept[output.Stdout]}
	exit.Stderr = output.Summary{Bytes: kept[output.Stderr], Kept: kept[output.Stderr]}
	if err := s.markers.writeExit(id, exit); err != nil {
		return err
	}
	s.markers.secureExit(id)
	return nil
}
