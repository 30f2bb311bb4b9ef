// Package check decides whether a parsed command may run on a source. It is the second of two layers: it trusts no
// result of the first (readonly), and shares only the table with it.
package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Command is a list of pipelines of argv, as in readonly/command.ts. It has no expansion but patterns, and no
// writes.
type Command struct {
	Pipelines []Pipeline `json:"pipelines"`
}

// Pipeline runs always, or depending on the status of the previous one.
type Pipeline struct {
	When   string  `json:"when"` // always, success, failure
	Stages []Stage `json:"stages"`
}

// Stage is one program. Its standard output goes to the next stage.
type Stage struct {
	Environment []string   `json:"environment"` // NAME=value; of the same name the last holds
	Argv        []Argument `json:"argv"`
	Stdin       string     `json:"stdin"`  // pipe, null
	Stdout      string     `json:"stdout"` // "" is inherit; null
	Stderr      string     `json:"stderr"` // inherit, null, stdout
}

// Argument is a literal, or a pattern of file names.
type Argument struct {
	Text   string // what it is when it is not expanded
	Glob   string
	IsGlob bool
}

// UnmarshalJSON accepts only "text" or {"glob": "pattern"}.
func (a *Argument) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &a.Text)
	}
	var pattern struct {
		Glob *string `json:"glob"`
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&pattern); err != nil {
		return err
	}
	if pattern.Glob == nil {
		return fmt.Errorf("an argument is a string or {\"glob\": string}")
	}
	a.Glob, a.IsGlob, a.Text = *pattern.Glob, true, unquote(*pattern.Glob)
	return nil
}

// unquote removes the backslashes that quote characters of a pattern.
func unquote(pattern string) string {
	var text strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' && i+1 < len(pattern) {
			i++
		}
		text.WriteByte(pattern[i])
	}
	return text.String()
}

// Refusal is the reason why a command may not run. The position in the caller's text is unknown here.
type Refusal struct {
	Position *int   `json:"position"`
	Reason   string `json:"reason"`
}

func refuse(format string, values ...any) *Refusal {
	return &Refusal{Reason: fmt.Sprintf(format, values...)}
}
