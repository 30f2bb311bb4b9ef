package run

import (
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const graceBeforeKill = 2 * time.Second

// Environment of every program, without the gate's own. Pagers would wait for a key, and can run programs.
var environment = []string{
	"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/nonexistent", "PAGER=cat", "SYSTEMD_PAGER=",
	"SYSTEMD_COLORS=0", "LESSSECURE=1", "PYTHONNOUSERSITE=1", "PYTHONDONTWRITEBYTECODE=1", "PIP_CONFIG_FILE=/dev/null",
	"PIP_NO_CACHE_DIR=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "npm_config_cache=/dev/null", "npm_config_logs_max=0",
	"npm_config_update_notifier=false",
}

// environmentOf returns the environment of one stage. Its variables replace the defaults, since getenv(3) finds the
// first of two.
func environmentOf(variables []string) []string {
	result := slices.Clone(environment)
	for _, variable := range variables {
		name, _, _ := strings.Cut(variable, "=")
		result = slices.DeleteFunc(result, func(known string) bool { return strings.HasPrefix(known, name+"=") })
		result = append(result, variable)
	}
	return result
}

// running is a started pipeline: one process group, led by its first process.
type running struct {
	processes []*os.Process
	followers []*os.Process // of these, what goes on until its time is over
	readers   sync.WaitGroup
}

// start starts every stage. Call it on the main thread: programs die with the thread that started them.
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
		if next.stage.Stdout == "null" {
			files[1] = null
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

// output returns the pipe to which a stage writes, and from which the next one reads.
func (r *running) output(last bool, answer *Answer, onFull func()) (write, read *os.File, err error) {
	if last {
		write, err = r.collect(streamStdout, answer, onFull)
		return write, nil, err
	}
	read, write, err = os.Pipe()
	return write, read, err
}

// collect returns the writing end of a pipe, and sends its output to the answer.
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
			// Output beyond the limit is read on until the program is killed, so that it sees no closed pipe.
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

// stage starts one program by `mayfly-gate exec-stage`, which restricts itself before it executes the program.
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
		Dir: "/", Env: environmentOf(next.stage.Environment), Files: files,
		Sys: &syscall.SysProcAttr{Setpgid: true, Pgid: group, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return err
	}
	r.processes = append(r.processes, process)
	if next.follows {
		r.followers = append(r.followers, process)
	}
	return nil
}

// signal signals every process of the group. An ended group has none.
func (r *running) signal(signal syscall.Signal) {
	if len(r.processes) > 0 {
		_ = syscall.Kill(-r.processes[0].Pid, signal)
	}
}

// endFollowers ends followers, so that their readers see the end of input, and can still write output.
func (r *running) endFollowers() {
	for _, process := range r.followers {
		_ = process.Signal(syscall.SIGTERM)
	}
}

// finish ends a pipeline at its time limit: first the followers, so that the others see the end of their input,
// then all.
func (r *running) finish(ended <-chan *os.ProcessState) *os.ProcessState {
	steps := []func(){func() { r.signal(syscall.SIGTERM) }}
	if len(r.followers) > 0 {
		steps = []func(){r.endFollowers, steps[0]}
	}
	for _, step := range steps {
		step()
		select {
		case state := <-ended:
			return state
		case <-time.After(graceBeforeKill):
		}
	}
	r.signal(syscall.SIGKILL)
	return <-ended
}

// wait reaps all stages. It reaps the leader last, so that its pid keeps identifying the group.
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
