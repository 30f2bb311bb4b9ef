package check

import "strings"

// readXargs reads arguments of xargs(1): its options up to the first operand, then a program of the table. xargs
// adds unchecked items, which must not become options: a `--` must precede them, unless the program has no options.
// Without a program xargs runs echo.
func (r *reader) readXargs(program *Program) (*Checked, *Refusal) {
	start, refusal := r.xargsOptions()
	if refusal != nil {
		return nil, refusal
	}
	own := make([]CheckedArg, start)
	for i, arg := range r.args[:start] {
		own[i].Argument = arg
	}
	argv := r.args[start:]
	if len(argv) == 0 {
		argv = []Argument{{Text: "echo"}}
	}
	runs, refusal := r.checkRun(argv)
	if refusal != nil {
		return nil, refusal
	}
	return &Checked{Name: r.program, Program: program, Args: own, Runs: runs, Follows: runs.Follows}, nil
}

func (r *reader) xargsOptions() (int, *Refusal) {
	for i := 0; i < len(r.args); {
		text := r.args[i].Text
		if len(text) < 2 || text[0] != '-' {
			return i, nil
		}
		if text == "--" {
			return i + 1, nil
		}
		read := r.shortOptions
		if strings.HasPrefix(text, "--") {
			read = r.longOption
		}
		next, refusal := read(i, text, len(r.args))
		if refusal != nil {
			return 0, refusal
		}
		i = next
	}
	return len(r.args), nil
}

func (r *reader) checkRun(argv []Argument) (*Checked, *Refusal) {
	name, at, program := r.table.program(argv[0].Text)
	if program == nil || argv[0].IsGlob || program.Xargs == "" || program.Language != "" {
		return nil, refuse("xargs may not run %q", name)
	}
	inner := newReader(r.table, name, &program.Arguments, argv[1:])
	inner.items = true
	if refusal := inner.read(); refusal != nil {
		return nil, refusal
	}
	if program.Xargs == "--" && inner.ended < 0 {
		return nil, refuse("%s needs a -- before what xargs adds", name)
	}
	if refusal := r.checkReplacements(argv[0].Text, inner, program.Xargs == "plain"); refusal != nil {
		return nil, refusal
	}
	return &Checked{
		Name: name, Program: program, Path: at, Args: inner.asTheyAre(), WritesNull: inner.namesNull(),
		Follows: inner.sawOneOf(program.Follows),
	}, nil
}

// checkReplacements checks where the text of -I (and -i, --replace) becomes an item: only in operands behind the
// `--`, never in the program's name or options.
func (r *reader) checkReplacements(name string, inner *reader, plain bool) *Refusal {
	for _, text := range r.replacements {
		if text == "" || strings.Contains(name, text) {
			return refuse("the items of xargs may not become the program that it runs")
		}
		for i, arg := range inner.args {
			if strings.Contains(arg.Text, text) && !plain && i <= inner.ended {
				return refuse("the items of xargs may not become options of %s", name)
			}
			if typeName, isOperand := inner.types[i]; isOperand && strings.Contains(arg.Text, text) && !unseen(typeName) {
				return refuse("the items of xargs may not become a %s", typeName)
			}
		}
	}
	return nil
}

// unseen reports whether any text is a value of the type, so that unchecked items are safe.
func unseen(typeName string) bool { return oneOf(typeName, "text", "path", "file") }
