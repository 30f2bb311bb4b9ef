package commands

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"mayfly/agent/output"
	"mayfly/agent/processes"
)

const (
	// defaultGrace is the time between SIGTERM and SIGKILL, unless the request sets it: graceSeconds of
	// model/limits.ts.
	defaultGrace = 5 * time.Second
	// maxGraceSeconds is the largest value that a request may set.
	maxGraceSeconds = 600
	// pipeGrace is the time between SIGPIPE, which some programs ignore, and SIGTERM.
	pipeGrace = time.Second
	// hopeless is the longest wait for processes that survive SIGKILL: they hang in the kernel.
	hopeless = 10 * time.Second
)

// command is a command that this agent has started.
type command struct {
	id        string
	startedAt time.Time
	grace     time.Duration
	process   *os.Process
	tree      *processes.Tree
	log       *output.Log
	stdin     *standardInput
	streams   [2]*output.Stream
	timeout   *time.Timer
	// secrets are the contents of files that exist until the command ends.
	secrets map[string]string

	mu sync.Mutex
	// ending is "timed-out" or "cancelled" once the agent ends the command. gone is closed when its process tree is
	// empty.
	ending string
	gone   chan struct{}
	exited bool
	exit   *commandExit
}

// commandView is the JSON of a command.
type commandView struct {
	State     string       `json:"state"`
	StartedAt *string      `json:"startedAt"`
	Pid       *int         `json:"pid"`
	Exit      *commandExit `json:"exit"`
}

func (c *command) view() commandView {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := commandView{State: "running", StartedAt: stamp(c.startedAt), Pid: &c.process.Pid, Exit: c.exit}
	if c.exit != nil {
		v.State = "ended"
	}
	return v
}

// supervise waits for the end of a started command, and has keep record its exit before clients see it.
func (c *command) supervise(keep func(*commandExit)) {
	c.tree.Unprotect()
	var settled sync.WaitGroup
	for _, stream := range c.streams {
		settled.Add(1)
		go stream.Take(settled.Done)
	}
	state, waitErr := c.process.Wait()

	c.mu.Lock()
	c.exited = true
	ending := c.ending
	c.mu.Unlock()
	c.timeout.Stop()
	var reason string
	if ending != "" {
		<-c.gone
		if !c.tree.Empty() {
			reason = "Processes of it survive SIGKILL."
		}
	}
	c.forgetSecrets()
	for _, stream := range c.streams {
		stream.Finish()
	}
	settled.Wait()
	if c.stdin != nil {
		c.stdin.abandon()
	}

	exit := &commandExit{StartedAt: stamp(c.startedAt), EndedAt: stamp(time.Now())}
	status, ok := syscall.WaitStatus(0), false
	if waitErr == nil {
		status, ok = state.Sys().(syscall.WaitStatus)
	}
	if ok {
		exit.status(status)
	} else {
		exit.Outcome, reason = "unknown", fmt.Sprintf("Its main process could not be waited for: %v.", waitErr)
	}
	if ending != "" {
		exit.Outcome = ending
	}
	if lost := c.log.Lost(); lost != nil {
		reason = fmt.Sprintf("Output was lost, because the guest could not write it: %s.", reasonOf(lost))
	}
	if reason != "" {
		exit.Reason = &reason
	}
	exit.Stdout, exit.Stderr = c.log.Summary(output.Stdout), c.log.Summary(output.Stderr)
	keep(exit)
	c.mu.Lock()
	c.exit = exit
	c.mu.Unlock()
	c.log.Finish()
	c.tree.Forget()
}

// end terminates the process tree, first with the signal, then by force; false when the command has exited on its own.
func (c *command) end(why string, first syscall.Signal) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exited {
		return c.ending != ""
	}
	if c.ending == "" {
		c.ending = why
		go c.endTree(first)
	}
	return true
}

func (c *command) forgetSecrets() {
	if len(c.secrets) == 0 {
		return
	}
	if err := removeSecrets(c.secrets); err != nil {
		fmt.Fprintf(os.Stderr, "mayfly-agent: the files of secrets of %s stay: %v\n", c.id, err)
	}
	c.secrets = nil
}

func (c *command) endTree(first syscall.Signal) {
	defer close(c.gone)
	if first != syscall.SIGTERM {
		c.tree.Signal(first, syscall.SIGCONT)
		if c.emptyWithin(pipeGrace, func() {}) {
			return
		}
	}
	// Stopped processes get SIGTERM only after SIGCONT.
	c.tree.Signal(syscall.SIGTERM, syscall.SIGCONT)
	if c.emptyWithin(c.grace, func() {}) {
		return
	}
	c.emptyWithin(hopeless, c.tree.Kill)
}

// emptyWithin polls, because nothing signals the end of the last process of a tree.
func (c *command) emptyWithin(limit time.Duration, before func()) bool {
	deadline := time.Now().Add(limit)
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		before()
		if c.tree.Empty() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause)
	}
}

// over reports whether the main process has exited.
func (c *command) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exited
}
