package check

import (
	"strings"
	"unicode/utf8"
)

// Checked is one program with its allowed arguments.
type Checked struct {
	Name    string
	Program *Program
	// Path is the requested path; "" for the first path of the table that exists.
	Path string
	Args []CheckedArg
	// Runs is the program that this one (xargs) starts; Args end before it.
	Runs *Checked
	// WritesNull is true when an argument is /dev/null, which the program may open for writing.
	WritesNull bool
	// FedBy lists the commands of which one must be piped into it; none means any.
	FedBy []string
	// Follows is true for a program that runs until the command's time limit.
	Follows bool
}

// CheckedArg is an argument. Expands is the type of the file names that its pattern expands to, "" for a literal.
type CheckedArg struct {
	Argument
	Expands string
}

// CheckedPipeline is a Pipeline with its checked programs, stage by stage.
type CheckedPipeline struct {
	Pipeline
	Programs []*Checked
}

// Check checks a whole command; on a refusal none of it may run.
func (t *Table) Check(command *Command) ([]CheckedPipeline, *Refusal) {
	if len(command.Pipelines) == 0 {
		return nil, refuse("there is nothing to run")
	}
	if refusal := t.checkSizes(command); refusal != nil {
		return nil, refusal
	}
	var pipelines []CheckedPipeline
	for index, pipeline := range command.Pipelines {
		if !oneOf(pipeline.When, "always", "success", "failure") || index == 0 && pipeline.When != "always" {
			return nil, refuse("a pipeline cannot run when %q", pipeline.When)
		}
		if len(pipeline.Stages) == 0 {
			return nil, refuse("a pipeline has no program")
		}
		checked := CheckedPipeline{Pipeline: pipeline}
		for n, stage := range pipeline.Stages {
			if !oneOf(stage.Stdin, "pipe", "null") || n == 0 && stage.Stdin != "null" {
				return nil, refuse("standard input cannot be %q here", stage.Stdin)
			}
			if !oneOf(stage.Stderr, "inherit", "null", "stdout") {
				return nil, refuse("standard error cannot be %q", stage.Stderr)
			}
			if !oneOf(stage.Stdout, "", "null") {
				return nil, refuse("standard output cannot be %q", stage.Stdout)
			}
			if refusal := t.checkEnvironment(stage.Environment); refusal != nil {
				return nil, refusal
			}
			program, refusal := t.checkStage(stage.Argv)
			if refusal != nil {
				return nil, refusal
			}
			if stage.Stdin == "pipe" {
				if refusal := program.checkInput(pipeline.Stages[n-1].Argv); refusal != nil {
					return nil, refusal
				}
			}
			checked.Programs = append(checked.Programs, program)
		}
		pipelines = append(pipelines, checked)
	}
	return pipelines, nil
}

func (t *Table) checkSizes(command *Command) *Refusal {
	stages, text := 0, 0
	for _, pipeline := range command.Pipelines {
		stages += len(pipeline.Stages)
		for _, stage := range pipeline.Stages {
			if len(stage.Argv) > t.Limits.Arguments {
				return refuse("a program has more than %d arguments", t.Limits.Arguments)
			}
			for _, variable := range stage.Environment {
				text += utf8.RuneCountInString(variable)
				if refusal := t.checkText(Argument{Text: variable}); refusal != nil {
					return refusal
				}
			}
			for _, arg := range stage.Argv {
				text += utf8.RuneCountInString(arg.Text)
				if refusal := t.checkText(arg); refusal != nil {
					return refusal
				}
			}
		}
	}
	if stages > t.Limits.Stages {
		return refuse("there are more than %d programs", t.Limits.Stages)
	}
	if text > t.Limits.Text {
		return refuse("the command has more than %d characters", t.Limits.Text)
	}
	return nil
}

// checkText allows one line of text, so that line-based readers never see two; tabs are allowed.
func (t *Table) checkText(arg Argument) *Refusal {
	if len(arg.Text) > t.Limits.ArgumentBytes || len(arg.Glob) > 2*t.Limits.ArgumentBytes {
		return refuse("an argument has more than %d bytes", t.Limits.ArgumentBytes)
	}
	for _, char := range arg.Text + arg.Glob {
		if char < ' ' && char != '\t' || char >= 0x7f && char < 0xa0 || char == utf8.RuneError ||
			char == '\u2028' || char == '\u2029' {
			return refuse("an argument has a control character, the end of a line, or a character that is none")
		}
	}
	return nil
}

func (t *Table) checkStage(argv []Argument) (*Checked, *Refusal) {
	if len(argv) == 0 || argv[0].IsGlob {
		return nil, refuse("a stage needs the name of a program")
	}
	name, at, program := t.program(argv[0].Text)
	if program == nil {
		return nil, refuse("%q is not among the programs that may run here", argv[0].Text)
	}
	r := newReader(t, name, &program.Arguments, argv[1:])
	switch program.Language {
	case "find":
		if refusal := r.readFind(); refusal != nil {
			return nil, refusal
		}
	case "xargs":
		checked, refusal := r.readXargs(program)
		if refusal == nil {
			checked.Path = at
		}
		return checked, refusal
	default:
		if refusal := r.read(); refusal != nil {
			return nil, refusal
		}
	}
	checked := &Checked{Name: name, Program: program, Path: at, Args: r.checkedArgs(), WritesNull: r.namesNull()}
	checked.Follows = r.sawOneOf(program.Follows)
	for _, scope := range r.scopes {
		checked.FedBy = append(checked.FedBy, scope.FedBy...)
	}
	return checked, nil
}

// checkInput refuses input from the caller for a program that sends it to a service.
func (c *Checked) checkInput(before []Argument) *Refusal {
	if len(c.FedBy) == 0 {
		return nil
	}
	words := make([]string, len(before))
	for i, arg := range before {
		words[i] = arg.Text
	}
	if oneOf(strings.TrimSpace(strings.Join(words, " ")), c.FedBy...) {
		return nil
	}
	return refuse("%s may not be given this on its standard input, which it sends", c.Name)
}

// checkedArgs expands a pattern only in an operand that takes any number of files.
func (r *reader) checkedArgs() []CheckedArg {
	args := r.asTheyAre()
	for i, arg := range r.args {
		if arg.IsGlob && r.repeated[i] && oneOf(r.types[i], "path", "file") {
			args[i].Expands = r.types[i]
		}
	}
	return args
}

// asTheyAre returns the arguments without expansion, for programs that xargs runs.
func (r *reader) asTheyAre() []CheckedArg {
	args := make([]CheckedArg, len(r.args))
	for i, arg := range r.args {
		args[i].Argument = arg
	}
	return args
}

func (r *reader) namesNull() bool {
	for _, arg := range r.args {
		if strings.Contains(arg.Text, "/dev/null") {
			return true
		}
	}
	return false
}
