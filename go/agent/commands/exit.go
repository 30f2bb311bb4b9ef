package commands

import (
	"strconv"
	"syscall"
	"time"

	"mayfly/agent/output"
)

// commandExit is CommandExit of model/sandbox/command.ts.
type commandExit struct {
	Outcome   string         `json:"outcome"`
	ExitCode  *int           `json:"exitCode"`
	Signal    *string        `json:"signal"`
	StartedAt *string        `json:"startedAt"`
	EndedAt   *string        `json:"endedAt"`
	Stdout    output.Summary `json:"stdout"`
	Stderr    output.Summary `json:"stderr"`
	Reason    *string        `json:"reason"`
}

// status records how the main process ended: with an exit code, or by a signal from elsewhere.
func (e *commandExit) status(status syscall.WaitStatus) {
	if status.Signaled() {
		name := signalName(status.Signal())
		e.Outcome, e.Signal = "signaled", &name
		return
	}
	code := status.ExitStatus()
	e.Outcome, e.ExitCode = "exited", &code
}

func stamp(at time.Time) *string {
	text := at.UTC().Format("2006-01-02T15:04:05.000Z")
	return &text
}

// signalNames are those of signal(7) on x86 and ARM, from 1.
var signalNames = [...]string{
	1: "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM",
	"STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
}

func signalName(signal syscall.Signal) string {
	if n := int(signal); n > 0 && n < len(signalNames) {
		return "SIG" + signalNames[n]
	}
	return "SIG" + strconv.Itoa(int(signal))
}
