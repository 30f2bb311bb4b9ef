package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Table is programs.json; readonly/table.ts documents it.
type Table struct {
	Version int                   `json:"version"`
	Limits  Limits                `json:"limits"`
	Types   map[string]*valueType `json:"types"`
	// Environment maps lists of allowed variables to the types of their values.
	Environment map[string]string   `json:"environment"`
	Programs    map[string]*Program `json:"programs"`
}

// Limits restrict a command before any other check.
type Limits struct {
	Text          int `json:"text"`          // characters
	Stages        int `json:"stages"`        // in all pipelines together
	Arguments     int `json:"arguments"`     // of a stage, also after expansion
	ArgumentBytes int `json:"argumentBytes"` // of one argument
}

// Arguments are the allowed arguments of a program or subcommand. Lists of names are separated by blanks.
type Arguments struct {
	Style        string                `json:"style"`
	Flags        string                `json:"flags"`
	Values       map[string]string     `json:"values"`
	Optional     map[string]string     `json:"optional"`
	Digits       bool                  `json:"digits"`
	Operands     []string              `json:"operands"`
	OperandsWith map[string][]string   `json:"operandsWith"`
	OptionsFirst bool                  `json:"optionsFirst"`
	First        string                `json:"first"`
	Require      []string              `json:"require"`
	FedBy        []string              `json:"fedBy"`
	Last         string                `json:"last"`
	Verbs        map[string]*Arguments `json:"verbs"`
	VerbOptional bool                  `json:"verbOptional"`
}

// Program is an entry of the table.
type Program struct {
	Arguments
	About    string   `json:"about"`
	Paths    []string `json:"paths"`
	LeftOut  string   `json:"leftOut"`
	Language string   `json:"language"`
	Xargs    string   `json:"xargs"`
	Follows  string   `json:"follows"` // options with which it goes on until its time is over
}

// Load reads a table. It refuses a table with an unknown field or word, which could be a restriction.
func Load(data []byte) (*Table, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var table Table
	if err := decoder.Decode(&table); err != nil {
		return nil, err
	}
	if table.Version != 1 {
		return nil, fmt.Errorf("version %d of the table is not known", table.Version)
	}
	for name, kind := range table.Types {
		if err := kind.compile(); err != nil {
			return nil, fmt.Errorf("type %s: %w", name, err)
		}
	}
	for names, typeName := range table.Environment {
		if !table.knows(typeName) || builtIn(typeName) {
			return nil, fmt.Errorf("variables %s: the type %q will not do", names, typeName)
		}
	}
	for name, program := range table.Programs {
		if err := table.verify(program); err != nil {
			return nil, fmt.Errorf("program %s: %w", name, err)
		}
	}
	return &table, nil
}

func (t *Table) verify(program *Program) error {
	for _, path := range program.Paths {
		if !strings.HasPrefix(path, "/") {
			return fmt.Errorf("the path %q is not absolute", path)
		}
	}
	if len(program.Paths) == 0 {
		return fmt.Errorf("it has no paths")
	}
	if !oneOf(program.Language, "", "find", "xargs") || !oneOf(program.Xargs, "", "--", "plain") {
		return fmt.Errorf("language %q or xargs %q is not known", program.Language, program.Xargs)
	}
	return t.verifyArguments(&program.Arguments)
}

func (t *Table) verifyArguments(arguments *Arguments) error {
	if !oneOf(arguments.Style, "", "getopt", "long", "words") {
		return fmt.Errorf("style %q is not known", arguments.Style)
	}
	var types []string
	for _, values := range []map[string]string{arguments.Values, arguments.Optional} {
		for _, name := range values {
			types = append(types, name)
		}
	}
	types = append(types, arguments.Operands...)
	for _, operands := range arguments.OperandsWith {
		types = append(types, operands...)
	}
	for _, name := range types {
		if base, _ := countOf(name); !t.knows(base) {
			return fmt.Errorf("the type %q is not known", base)
		}
	}
	for _, verb := range arguments.Verbs {
		if err := t.verifyArguments(verb); err != nil {
			return err
		}
	}
	return nil
}

func oneOf(text string, words ...string) bool {
	for _, word := range words {
		if text == word {
			return true
		}
	}
	return false
}
