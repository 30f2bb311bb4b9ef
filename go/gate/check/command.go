// Package check decides whether a parsed command may run on a source. It is the second of two layers: it believes
// nothing of what the first (readonly) may have checked, and shares only the table with it.
package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Command is readonly/command.ts: pipelines of argv. Nothing in it expands or writes.
type Command struct {
	Pipelines []Pipeline `json:"pipelines"`
}

// Pipeline runs always, or by the status of the one that ran last.
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

// Argument is a text, or a pattern of file names.
type Argument struct {
	Text   string // what it is when it is not expanded
	Glob   string
	IsGlob bool
}

// UnmarshalJSON takes "text" or {"glob": "pattern"}, and nothing else.
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

// unquote leaves out the backslashes that make a character of a pattern an ordinary one.
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

// Refusal is why a command may not run. Where it stands in the caller's text is not known here.
type Refusal struct {
	Position *int   `json:"position"`
	Reason   string `json:"reason"`
}

func refuse(format string, values ...any) *Refusal {
	return &Refusal{Reason: fmt.Sprintf(format, values...)}
}
