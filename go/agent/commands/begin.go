package commands

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"mayfly/agent/answer"
	"mayfly/agent/output"
	"mayfly/agent/processes"
)

// launch checks the request as far as possible, creates the marker, and starts the command.
func (s *Service) launch(id string, request *launchRequest) (*command, error) {
	l, err := request.resolve(id, s.loginUser)
	if err != nil {
		return nil, err
	}
	isNew, err := s.markers.make(id)
	if err != nil {
		return nil, diskError(err)
	}
	if !isNew {
		return nil, answer.Refused("internal", "The marker of %s has appeared from nowhere.", id)
	}
	c, err := s.begin(id, request, l)
	if err != nil {
		// Safe, since exec has not happened: the next attempt may start the command.
		s.markers.remove(id)
		return nil, err
	}
	go func() {
		c.supervise(func(exit *commandExit) { s.keep(c, exit) })
		s.markers.secureExit(id)
	}()
	return c, nil
}

// keep records an exit. After a failed write the command stays in memory, among the running ones.
func (s *Service) keep(c *command, exit *commandExit) {
	if err := s.markers.writeExit(c.id, exit); err != nil {
		fmt.Fprintf(os.Stderr, "mayfly-agent: the exit of %s cannot be written: %v\n", c.id, err)
		return
	}
	s.forget(c.id)
}

func (s *Service) begin(id string, request *launchRequest, l *launch) (*command, error) {
	c := &command{id: id, startedAt: time.Now(), grace: request.grace, gone: make(chan struct{})}
	r := requested{Command: request.Command, Argv: request.Argv, User: l.account.Name, Cwd: l.cwd, StartedAt: *stamp(c.startedAt)}
	if err := s.markers.writeRequest(id, r); err != nil {
		return nil, diskError(err)
	}
	file, err := s.markers.createLog(id)
	if err != nil {
		return nil, diskError(err)
	}
	if err := s.markers.secure(); err != nil {
		_ = file.Close()
		return nil, diskError(err)
	}
	c.log = output.NewLog(file, request.MaxOutputBytes)
	c.tree = processes.NewTree(s.groups, id)
	if len(request.SecretFiles) > 0 {
		if err := placeSecrets(request.SecretFiles, l.account); err != nil {
			_ = file.Close()
			c.tree.Forget()
			return nil, err
		}
		c.secrets = request.SecretFiles
	}
	p, err := openPipes(len(request.Stdin) > 0 || request.StdinOpen)
	if err == nil {
		c.process, err = startProcess(l, p, c.tree)
		p.closeTheirs()
	}
	if err != nil {
		p.closeOurs()
		_ = file.Close()
		c.tree.Forget()
		c.forgetSecrets()
		return nil, startError(l, err)
	}
	c.tree.Begun(c.process.Pid)
	c.streams = [2]*output.Stream{
		output.NewStream(output.Stdout, p.stdout, c.log),
		output.NewStream(output.Stderr, p.stderr, c.log),
	}
	if p.stdin != nil {
		c.stdin = newStandardInput(p.stdin, request.Stdin, request.StdinOpen)
	}
	watchTime(c, request.TimeoutSeconds)
	return c, nil
}

func startProcess(l *launch, p *pipes, t *processes.Tree) (*os.Process, error) {
	attributes := &syscall.SysProcAttr{Setsid: true}
	if os.Getuid() == 0 {
		attributes.Credential = &syscall.Credential{Uid: l.account.UID, Gid: l.account.GID, Groups: l.account.Groups}
	} else if int(l.account.UID) != os.Getuid() {
		return nil, syscall.EPERM
	}
	if path := t.ControlGroup(); path != "" {
		group, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer group.Close()
		attributes.UseCgroupFD, attributes.CgroupFD = true, int(group.Fd())
	}
	return os.StartProcess(l.program, l.argv, &os.ProcAttr{
		Dir: l.cwd, Env: l.env, Files: []*os.File{p.theirs[0], p.theirs[1], p.theirs[2]}, Sys: attributes,
	})
}

// startError distinguishes a bad request from exhausted resources of the guest.
func startError(l *launch, err error) error {
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EMFILE) {
		return answer.Refused("too_many_requests", "The guest cannot start another process now: %s.", reasonOf(err))
	}
	return answer.Refused("command_refused", "%s cannot be run in %s as %s: %s.", l.program, l.cwd, l.account.Name, reasonOf(err))
}

func diskError(err error) error {
	if isFull(err) {
		return answer.Refused("guest_disk_full", "The guest cannot record that a command starts: %s.", reasonOf(err))
	}
	return err
}
