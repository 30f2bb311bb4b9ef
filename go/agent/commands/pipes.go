package commands

import (
	"errors"
	"os"
	"syscall"
)

// pipes are the standard streams of a command: the agent's ends, which never block a thread, and the command's.
type pipes struct {
	stdin, stdout, stderr *os.File
	theirs                [3]*os.File
}

// pipeBytes is the pipe's capacity: the command writes ahead, and the agent reads more at once.
const pipeBytes = 256 << 10

// openPipes uses /dev/null as standard input when withInput is false.
func openPipes(withInput bool) (*pipes, error) {
	p := new(pipes)
	var err error
	if withInput {
		p.theirs[0], p.stdin, err = pipe(false)
	} else {
		p.theirs[0], err = os.Open(os.DevNull)
	}
	if err != nil {
		return p, err
	}
	var outErr, errErr error
	p.stdout, p.theirs[1], outErr = pipe(true)
	p.stderr, p.theirs[2], errErr = pipe(true)
	return p, errors.Join(outErr, errErr)
}

// pipe returns a pipe whose reading or writing end the agent uses without blocking.
func pipe(reading bool) (reader, writer *os.File, err error) {
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	ours := ends[1]
	if reading {
		ours = ends[0]
		// Fails where pipe memory is scarce; the default of 64 KiB works too.
		_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, uintptr(ours), syscall.F_SETPIPE_SZ, pipeBytes)
	}
	if err := syscall.SetNonblock(ours, true); err != nil {
		_, _ = syscall.Close(ends[0]), syscall.Close(ends[1])
		return nil, nil, err
	}
	return os.NewFile(uintptr(ends[0]), "pipe"), os.NewFile(uintptr(ends[1]), "pipe"), nil
}

func (p *pipes) closeTheirs() {
	for _, file := range p.theirs {
		closeFile(file)
	}
}

func (p *pipes) closeOurs() {
	for _, file := range []*os.File{p.stdin, p.stdout, p.stderr} {
		closeFile(file)
	}
	p.closeTheirs()
}

func closeFile(file *os.File) {
	if file != nil {
		_ = file.Close()
	}
}
