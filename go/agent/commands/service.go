// Package commands starts commands for the host, once each, and stores their output and exit.
package commands

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"mayfly/agent/answer"
	"mayfly/agent/output"
	"mayfly/agent/processes"
)

// maxRunning is limits.command.running of model/limits.ts.
const maxRunning = 64

// Service manages the commands of this guest.
type Service struct {
	markers   markers
	loginUser string
	groups    string
	bootID    string
	version   string

	mu      sync.Mutex
	running map[string]*start
}

// start is the single start of a command, on which all callers wait.
type start struct {
	ready   chan struct{}
	command *command
	err     error
}

// Options configure where commands are stored, and their defaults.
type Options struct {
	// State is the agent's folder; its subfolder commands records the started commands.
	State string
	// LoginUser runs commands without a user.
	LoginUser string
	// Groups is the folder for control groups, empty for none.
	Groups string
	// Version is the agent's own.
	Version string
}

// Open reads the guest's state, and settles commands of an earlier agent.
func Open(o Options) (*Service, error) {
	folder := filepath.Join(o.State, "commands")
	if err := errors.Join(os.MkdirAll(o.State, 0o755), os.MkdirAll(folder, 0o700)); err != nil {
		return nil, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, err
	}
	if err := output.OpenSink(); err != nil {
		return nil, err
	}
	s := &Service{
		markers:   markers{folder},
		loginUser: o.LoginUser,
		groups:    processes.GroupsRoot(o.Groups),
		bootID:    strings.TrimSpace(string(boot)),
		version:   o.Version,
		running:   map[string]*start{},
	}
	return s, s.recover()
}

// put starts a command, or returns the state of one that was started before.
func (s *Service) put(id string, request *launchRequest) (view commandView, isNew bool, err error) {
	s.mu.Lock()
	if present := s.running[id]; present != nil {
		s.mu.Unlock()
		<-present.ready
		if present.err != nil {
			return view, false, present.err
		}
		return present.command.view(), false, nil
	}
	if s.markers.there(id) {
		s.mu.Unlock()
		view, err = s.ended(id)
		return view, false, err
	}
	if len(s.running) >= maxRunning {
		s.mu.Unlock()
		return view, false, answer.Refused("too_many_requests", "%d commands are running in this guest.", maxRunning)
	}
	one := &start{ready: make(chan struct{})}
	s.running[id] = one
	s.mu.Unlock()

	one.command, one.err = s.launch(id, request)
	if one.err != nil {
		s.forget(id)
		close(one.ready)
		return view, false, one.err
	}
	close(one.ready)
	return one.command.view(), true, nil
}

// find returns a running command, or nil.
func (s *Service) find(id string) *command {
	s.mu.Lock()
	one := s.running[id]
	s.mu.Unlock()
	if one == nil {
		return nil
	}
	<-one.ready
	return one.command
}

func (s *Service) get(id string) (commandView, error) {
	if c := s.find(id); c != nil {
		return c.view(), nil
	}
	return s.ended(id)
}

// ended returns the recorded state of a command that does not run. A marker without a readable exit yields an
// unknown outcome: an error could mean that the command was never started.
func (s *Service) ended(id string) (commandView, error) {
	if !s.markers.there(id) {
		return commandView{}, answer.Refused("command_not_found", "No command %s was started in this guest.", id)
	}
	exit, err := s.markers.readExit(id)
	if err != nil || exit == nil {
		reason := "What the guest has recorded of its end cannot be read."
		exit = &commandExit{Outcome: "unknown", Reason: &reason}
	}
	return commandView{State: "ended", StartedAt: exit.StartedAt, Exit: exit}, nil
}

func (s *Service) forget(id string) {
	s.mu.Lock()
	delete(s.running, id)
	s.mu.Unlock()
}

// Count returns the number of running commands.
func (s *Service) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running)
}

// watchTime terminates a command after its time limit, independently of its clients.
func watchTime(c *command, seconds int64) {
	c.timeout = time.AfterFunc(time.Duration(seconds)*time.Second, func() { c.end("timed-out", syscall.SIGTERM) })
}
