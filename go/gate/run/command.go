package run

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"mayfly/gate/check"
)

const (
	failedToStart = 126 // as sh has it for what cannot be executed
)

// job is an allowed command.
type job struct {
	answer  *Answer
	planner planner
	// Closed when the command must end: at its time limit, its output limit, or the client's disconnect.
	stop     chan struct{}
	stopOnce sync.Once
	timedOut bool
	followed bool // what its time ended had been asked to go on until then
}

func (j *job) end() { j.stopOnce.Do(func() { close(j.stop) }) }

// Command checks and runs a command, and writes the result to the answer. Call it on the main thread.
func Command(table *check.Table, request *Request, out *os.File) error {
	answer := NewAnswer(out, request.MaxOutputBytes)
	checked, refusal := table.Check(&request.Command)
	if refusal != nil {
		return answer.Finish(&End{Outcome: "not-started", Refusal: refusal})
	}
	j := &job{answer: answer, planner: planner{table: table}, stop: make(chan struct{})}
	var plans [][]launch
	for _, pipeline := range checked {
		launches, err := j.planner.plan(pipeline, request.TimeoutSeconds)
		if err != nil {
			return answer.Finish(&End{Outcome: "not-started", Refusal: &check.Refusal{Reason: err.Error()}})
		}
		plans = append(plans, launches)
	}
	if err := adopt(); err != nil {
		return err
	}
	go whenNobodyListens(out, j.end)
	deadline := time.After(time.Duration(request.TimeoutSeconds) * time.Second)
	state, err := j.all(checked, plans, deadline)
	if err != nil {
		return answer.Finish((&End{Outcome: "unknown"}).because(err.Error())) // some of it may have run
	}
	return answer.Finish(j.endOf(state, request))
}

// all runs the pipelines whose condition holds, in sequence; the status is that of the last one that ran.
func (j *job) all(checked []check.CheckedPipeline, plans [][]launch, deadline <-chan time.Time) (*os.ProcessState, error) {
	var state *os.ProcessState
	for i, pipeline := range checked {
		succeeded := state != nil && state.Success()
		if pipeline.When == "success" && !succeeded || pipeline.When == "failure" && succeeded {
			continue
		}
		next, err := j.one(plans[i], deadline)
		if err != nil {
			return nil, err
		}
		state = next
		select {
		case <-j.stop:
			return state, nil
		default:
		}
	}
	return state, nil
}

// one runs a pipeline to its end, or kills it: TERM, then KILL, for the group, then for processes that have left
// it.
func (j *job) one(launches []launch, deadline <-chan time.Time) (*os.ProcessState, error) {
	pipeline, err := start(launches, j.answer, j.end)
	if err != nil {
		pipeline.signal(syscall.SIGKILL)
	}
	ended := make(chan *os.ProcessState, 1)
	go func() { ended <- pipeline.wait() }()
	var state *os.ProcessState
	select {
	case state = <-ended:
	case <-j.stop:
		pipeline.signal(syscall.SIGKILL)
		state = <-ended
	case <-deadline:
		j.timedOut, j.followed = true, len(pipeline.followers) > 0
		j.end()
		state = pipeline.finish(ended)
	}
	endOrphans()
	pipeline.readers.Wait()
	if state == nil && err == nil {
		err = errors.New("how its last program ended cannot be found out")
	}
	return state, err
}

func (j *job) endOf(state *os.ProcessState, request *Request) *End {
	end := &End{Outcome: "exited"}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		name := signalName(status.Signal())
		end.Outcome, end.Signal = "signaled", &name
	} else {
		code := state.ExitCode()
		end.ExitCode = &code
	}
	switch {
	case j.timedOut:
		end.Outcome = "timed-out"
		if j.followed {
			return end.because(fmt.Sprintf("It followed for %d s, its time; what came until then is here.", request.TimeoutSeconds))
		}
		return end.because(fmt.Sprintf("It was ended after %d s.", request.TimeoutSeconds))
	case j.answer.Full():
		return end.because(fmt.Sprintf("It wrote more than %d bytes to a stream; the rest was dropped, and what still ran was ended.", request.MaxOutputBytes))
	}
	return end
}

func signalName(signal syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGILL: "SIGILL",
		syscall.SIGTRAP: "SIGTRAP", syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
		syscall.SIGKILL: "SIGKILL", syscall.SIGUSR1: "SIGUSR1", syscall.SIGSEGV: "SIGSEGV", syscall.SIGUSR2: "SIGUSR2",
		syscall.SIGPIPE: "SIGPIPE", syscall.SIGALRM: "SIGALRM", syscall.SIGTERM: "SIGTERM", syscall.SIGXCPU: "SIGXCPU",
		syscall.SIGXFSZ: "SIGXFSZ", syscall.SIGSYS: "SIGSYS",
	}
	if name, ok := names[signal]; ok {
		return name
	}
	return fmt.Sprintf("SIG%d", int(signal))
}
