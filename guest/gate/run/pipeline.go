package run

import (
	"os"
	"sync"
	"syscall"
)

// Environment of every program: nothing of the gate's own. Pagers would wait for a key and can run programs.
var environment = []string{
	"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/nonexistent", "PAGER=cat", "SYSTEMD_PAGER=",
	"SYSTEMD_COLORS=0", "LESSSECURE=1", "PYTHONNOUSERSITE=1", "PYTHONDONTWRITEBYTECODE=1", "PIP_CONFIG_FILE=/dev/null",
	"PIP_NO_CACHE_DIR=1", "PIP_DISABLE_PIP_VERSION_CHECK=1",
}

// running is a pipeline that was started: one process group, whose first process leads it.
type running struct {
	processes []*os.Process
	readers   sync.WaitGroup
}

// start starts every stage. It must be called on the main thread: the programs die with the thread that started them.
func start(launches []launch, answer *Answer, onFull func()) (*running, error) {
	r := &running{}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return r, err
	}
	defer null.Close()
	errors, err := r.collect(streamStderr, answer, onFull)
	if err != nil {
		return r, err
	}
	defer errors.Close()
	input := null
	for i, next := range launches {
		output, following, err := r.output(i == len(launches)-1, answer, onFull)
		if err != nil {
			return r, err
		}
		files := []*os.File{input, output, errors}
		if next.stage.Stdin == "null" {
			files[0] = null
		}
		switch next.stage.Stderr {
		case "null":
			files[2] = null
		case "stdout":
			files[2] = output
		}
		err = r.stage(next, files)
		output.Close()
		if input != null {
			input.Close()
		}
		if err != nil {
			if following != nil {
				following.Close()
			}
			return r, err
		}
		input = following
	}
	return r, nil
}

// output is where a stage writes, and where the next one reads it.
func (r *running) output(last bool, answer *Answer, onFull func()) (write, read *os.File, err error) {
	if last {
		write, err = r.collect(streamStdout, answer, onFull)
		return write, nil, err
	}
	read, write, err = os.Pipe()
	return write, read, err
}

// collect gives a pipe, and sends what comes out of it.
func (r *running) collect(stream int, answer *Answer, onFull func()) (*os.File, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	r.readers.Go(func() {
		defer read.Close()
		buffer := make([]byte, 32<<10)
		for {
			n, err := read.Read(buffer)
			// What is too much is read on until the program has ended: by us, and not by a closed pipe.
			if n > 0 && !answer.Add(stream, buffer[:n]) {
				onFull()
			}
			if err != nil {
				return
			}
		}
	})
	return write, nil
}

// stage starts one program by way of `mayfly-gate exec-stage`, which restricts itself before it becomes the program.
func (r *running) stage(next launch, files []*os.File) error {
	argv, err := stageArguments(next)
	if err != nil {
		return err
	}
	group := 0
	if len(r.processes) > 0 {
		group = r.processes[0].Pid
	}
	process, err := os.StartProcess("/proc/self/exe", argv, &os.ProcAttr{
		Dir: "/", Env: environment, Files: files,
		Sys: &syscall.SysProcAttr{Setpgid: true, Pgid: group, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return err
	}
	r.processes = append(r.processes, process)
	return nil
}

// signal reaches every process of the group; none is left to be reached when it has ended.
func (r *running) signal(signal syscall.Signal) {
	if len(r.processes) > 0 {
		_ = syscall.Kill(-r.processes[0].Pid, signal)
	}
}

// wait reaps all stages. The leader is reaped last, so that its number stays the group's for as long as it is used.
func (r *running) wait() *os.ProcessState {
	var last *os.ProcessState
	for i := len(r.processes) - 1; i >= 0; i-- {
		state, err := r.processes[i].Wait()
		if i == len(r.processes)-1 && err == nil {
			last = state
		}
	}
	return last
}
