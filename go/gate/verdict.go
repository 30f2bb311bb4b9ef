package main

import (
	"bufio"
	"encoding/json"
	"io"

	"mayfly/gate/check"
	"mayfly/gate/run"
)

const maxLineBytes = 1 << 20

// verdict is the result of `check`: whether `run` would accept a request. The check runs nothing, and reads no
// file.
type verdict struct {
	Allowed bool           `json:"allowed"`
	Refusal *check.Refusal `json:"refusal"`
}

func verdictOf(table *check.Table, data []byte) verdict {
	request, err := run.ParseRequest(data)
	if err != nil {
		return verdict{Refusal: &check.Refusal{Reason: err.Error()}}
	}
	if request.Pipelines == nil {
		return verdict{Allowed: true}
	}
	_, refusal := table.Check(&request.Command)
	return verdict{Allowed: refusal == nil, Refusal: refusal}
}

func checkOne(table *check.Table, in io.Reader, out io.Writer) error {
	data, err := io.ReadAll(io.LimitReader(in, maxLineBytes))
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(verdictOf(table, data))
}

// checkLines writes one verdict per line of input.
func checkLines(table *check.Table, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLineBytes)
	buffered := bufio.NewWriter(out)
	defer buffered.Flush()
	encoder := json.NewEncoder(buffered)
	for lines.Scan() {
		if err := encoder.Encode(verdictOf(table, lines.Bytes())); err != nil {
			return err
		}
	}
	return lines.Err()
}
