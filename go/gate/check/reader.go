package check

import "strings"

type optionKind int

const (
	flag optionKind = iota
	withValue
	withOptional
)

type option struct {
	kind     optionKind
	typeName string
}

// reader reads the arguments of one program. `scope` lists the arguments that may follow; a subcommand extends it.
type reader struct {
	table   *Table
	program string
	args    []Argument

	options  map[string]option
	digits   bool
	scopes   []*Arguments // the program's, then of each subcommand
	seen     map[string]bool
	operands []int // positions in args
	ended    int   // position of `--`, or -1
	types    map[int]string
	repeated map[int]bool // operands of which there may be any number
	items    bool         // xargs adds operands that nobody has seen
	// Values of -I, -i and --replace of xargs.
	replacements []string
}

func newReader(table *Table, name string, arguments *Arguments, args []Argument) *reader {
	r := &reader{table: table, program: name, args: args, ended: -1}
	r.options, r.seen = map[string]option{}, map[string]bool{}
	r.types, r.repeated = map[int]string{}, map[int]bool{}
	r.enter(arguments)
	return r
}

func (r *reader) scope() *Arguments { return r.scopes[len(r.scopes)-1] }

func (r *reader) enter(arguments *Arguments) {
	r.scopes = append(r.scopes, arguments)
	r.digits = r.digits || arguments.Digits
	for _, name := range strings.Fields(arguments.Flags) {
		r.options[name] = option{kind: flag}
	}
	for names, typeName := range arguments.Values {
		for _, name := range strings.Fields(names) {
			r.options[name] = option{withValue, typeName}
		}
	}
	for names, typeName := range arguments.Optional {
		for _, name := range strings.Fields(names) {
			r.options[name] = option{withOptional, typeName}
		}
	}
}

// read reads all arguments in the program's style.
func (r *reader) read() *Refusal {
	args := r.args
	if last := r.scope().Last; last != "" {
		if len(args) == 0 || args[len(args)-1].Text != last {
			return refuse("%s needs %s as its last argument", r.program, last)
		}
		args = args[:len(args)-1]
	}
	if refusal := r.begins(args); refusal != nil {
		return refusal
	}
	style := r.scope().Style
	for i := 0; i < len(args); {
		text := args[i].Text
		isOption := style != "words" && r.ended < 0 && len(text) > 1 && text[0] == '-'
		if isOption && r.scope().OptionsFirst && len(r.operands) > 0 {
			return refuse("options of %s come before its operands", r.program)
		}
		next, refusal := i+1, (*Refusal)(nil)
		switch {
		case !isOption:
			refusal = r.operand(i)
		case text == "--" && style != "long":
			r.ended = i
		case style == "long":
			next, refusal = r.wholeOption(i, text, len(args))
		case strings.HasPrefix(text, "--"):
			next, refusal = r.longOption(i, text, len(args))
		default:
			next, refusal = r.shortOptions(i, text, len(args))
		}
		if refusal != nil {
			return refusal
		}
		i = next
	}
	return r.finish()
}

// begins checks the first argument against the table, or a bundle of its options, where it determines the meaning
// of the rest.
func (r *reader) begins(args []Argument) *Refusal {
	names := strings.Fields(r.scope().First)
	if len(names) == 0 {
		return nil
	}
	for _, name := range names {
		if len(args) == 0 {
			break
		}
		text := args[0].Text
		bundle := len(name) == 2 && !strings.HasPrefix(text, "--") && strings.HasPrefix(text, name)
		if text == name || bundle {
			return nil
		}
	}
	return refuse("the first argument of %s must be %s", r.program, strings.Join(names, " or "))
}

// wholeOption reads an option as in ip or openssl: no attached value, no bundle.
func (r *reader) wholeOption(i int, name string, end int) (int, *Refusal) {
	known, ok := r.options[name]
	if !ok {
		return 0, r.unknown(name)
	}
	r.seen[name] = true
	if known.kind == withValue {
		return r.nextValue(i, name, known.typeName, end)
	}
	return i + 1, nil
}

// longOption reads `--name`, `--name=value` or `--name value`; unlike getopt_long(3) without abbreviations.
func (r *reader) longOption(i int, text string, end int) (int, *Refusal) {
	name, value, attached := strings.Cut(text, "=")
	known, ok := r.options[name]
	if !ok {
		return 0, r.unknown(name)
	}
	r.seen[name] = true
	switch {
	case attached && known.kind == flag:
		return 0, refuse("%s of %s takes no value", name, r.program)
	case attached:
		return i + 1, r.value(name, known.typeName, value)
	case known.kind == withValue:
		return r.nextValue(i, name, known.typeName, end)
	case known.kind == withOptional:
		r.withoutValue(name)
	}
	return i + 1, nil
}

// shortOptions reads `-a`, `-abc`, `-n5`, `-an5` or `-n 5`.
func (r *reader) shortOptions(i int, text string, end int) (int, *Refusal) {
	if r.digits && strings.Trim(text[1:], "0123456789") == "" {
		return i + 1, nil
	}
	for rest := text[1:]; rest != ""; {
		letter := []rune(rest)[0]
		name := "-" + string(letter)
		rest = rest[len(string(letter)):]
		known, ok := r.options[name]
		if !ok {
			return 0, r.unknown(name)
		}
		r.seen[name] = true
		switch {
		case known.kind == flag:
			continue
		case rest != "":
			return i + 1, r.value(name, known.typeName, rest)
		case known.kind == withValue:
			return r.nextValue(i, name, known.typeName, end)
		default:
			r.withoutValue(name)
		}
	}
	return i + 1, nil
}

func (r *reader) nextValue(i int, name, typeName string, end int) (int, *Refusal) {
	if i+1 >= end {
		return 0, refuse("%s of %s needs a value", name, r.program)
	}
	value := r.args[i+1].Text
	if value != "-" && strings.HasPrefix(value, "-") && !r.table.mayLookLikeAnOption(typeName) {
		return 0, refuse("the value %q of %s looks like an option", value, name)
	}
	return i + 2, r.value(name, typeName, value)
}

func (r *reader) value(name, typeName, value string) *Refusal {
	if oneOf(name, "-I", "-i", "--replace") {
		r.replacements = append(r.replacements, value)
	}
	if reason := r.table.ValueRefusal(typeName, value); reason != "" {
		return refuse("%s of %s: %s", name, r.program, reason)
	}
	return nil
}

// withoutValue handles -i and --replace of xargs, which then mean {}.
func (r *reader) withoutValue(name string) {
	if oneOf(name, "-i", "--replace") {
		r.replacements = append(r.replacements, "{}")
	}
}

func (r *reader) unknown(name string) *Refusal {
	return refuse("%s may not be given to %s", name, r.program)
}
