package run

import (
	"encoding/json"
	"io"

	"mayfly/gate/check"
	"mayfly/gate/sandbox"
)

// Hello writes the gate's version and the kernel's sandbox features, as one line of JSON.
func Hello(out io.Writer, version string) error {
	data, err := json.Marshal(struct {
		Version string        `json:"version"`
		Sandbox sandbox.Offer `json:"sandbox"`
	}{version, sandbox.Look()})
	if err != nil {
		return err
	}
	answer := NewAnswer(out, defaultOutputBytes)
	answer.Add(streamStdout, append(data, '\n'))
	return answer.Finish(exited())
}

// Refuse answers an unreadable request.
func Refuse(out io.Writer, reason error) error {
	refusal := &check.Refusal{Reason: reason.Error()}
	return NewAnswer(out, 0).Finish(&End{Outcome: "not-started", Refusal: refusal})
}

func exited() *End {
	code := 0
	return &End{Outcome: "exited", ExitCode: &code}
}
