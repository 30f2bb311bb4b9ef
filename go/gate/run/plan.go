package run

import (
	"fmt"
	"slices"
	"strings"

	"mayfly/gate/check"
	"mayfly/gate/sandbox"
)

const (
	// Limit of all stages of a pipeline together, and minimum of each. Bytes.
	memoryBytes      = 512 << 20
	leastMemoryBytes = 64 << 20
)

// launch is a program with all that its start needs.
type launch struct {
	path  string
	argv  []string
	needs sandbox.Needs
	stage check.Stage
	// True when it runs until the command's time limit.
	follows bool
}

// Programs that others start: some are wrapper scripts, dpkg delegates queries, apt queries architectures.
var helpers = map[string][]string{
	"dpkg": {"/usr/bin/dpkg-query"}, "apt": {"/usr/bin/dpkg"}, "apt-cache": {"/usr/bin/dpkg"},
	"egrep": {"/usr/bin/grep", "/bin/grep"}, "fgrep": {"/usr/bin/grep", "/bin/grep"},
	"zcat": {"/usr/bin/gzip", "/bin/gzip"},
	"npm":  {"/usr/bin/env"}, "gem": {"/usr/bin/env"},
	"lsb_release": {"/usr/bin/getopt"},
}

// Programs that connect to local services; others may not connect by TCP.
var networked = []string{"curl", "openssl", "dig", "host", "nslookup"}

// planner converts a checked command to launches.
type planner struct {
	table    *check.Table
	expander expander
}

func (p *planner) plan(pipeline check.CheckedPipeline, cpuSeconds int) ([]launch, error) {
	var launches []launch
	for i, program := range pipeline.Programs {
		next, err := p.launch(program)
		if err != nil {
			return nil, err
		}
		next.stage, next.follows = pipeline.Stages[i], program.Follows
		next.needs.CPUSeconds = uint64(cpuSeconds)
		next.needs.MemoryBytes = uint64(max(memoryBytes/len(pipeline.Programs), leastMemoryBytes))
		launches = append(launches, next)
	}
	return launches, nil
}

func (p *planner) launch(program *check.Checked) (launch, error) {
	written, paths := program.Name, program.Program.Paths
	if program.Path != "" {
		written, paths = program.Path, []string{program.Path}
	}
	path, err := resolve(written, paths)
	if err != nil {
		return launch{}, err
	}
	executables, err := sandbox.ExecutablesOf(path)
	if err != nil {
		return launch{}, err
	}
	result := launch{path: path, argv: []string{program.Name}}
	for _, arg := range program.Args {
		values, err := p.values(program.Name, arg)
		if err != nil {
			return launch{}, err
		}
		result.argv = append(result.argv, values...)
	}
	result.needs.WritesNull = program.WritesNull
	result.needs.Network = slices.Contains(networked, program.Name)
	for _, helper := range helpers[program.Name] {
		if more, err := sandbox.ExecutablesOf(helper); err == nil {
			executables = append(executables, more...)
		}
	}
	if program.Runs != nil {
		inner, err := p.launch(program.Runs)
		if err != nil {
			return launch{}, err
		}
		result.argv = append(append(result.argv, inner.path), inner.argv[1:]...)
		executables = append(executables, inner.needs.Executables...)
		result.needs.Network = result.needs.Network || inner.needs.Network
	}
	result.needs.Executables = executables
	if most := p.table.Limits.Arguments; len(result.argv) > most {
		return launch{}, fmt.Errorf("%s would get more than %d arguments; a pattern matches too much", program.Name, most)
	}
	return result, nil
}

// values returns the argument itself, or the names that its pattern matches, each checked against its type, none an
// option.
func (p *planner) values(program string, arg check.CheckedArg) ([]string, error) {
	if arg.Expands == "" {
		return []string{arg.Text}, nil
	}
	p.expander.limit = p.table.Limits.Arguments
	names, err := p.expander.expand(arg.Glob)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return []string{arg.Text}, nil
	}
	for i, name := range names {
		if reason := p.table.ValueRefusal(arg.Expands, name); reason != "" {
			return nil, fmt.Errorf("%s: %s", program, reason)
		}
		names[i] = asOperand(name)
	}
	return names, nil
}

// asOperand prefixes a relative name with ./ if a program could read it as something other than a file.
func asOperand(name string) string {
	first := name[0]
	if first == '/' || first == '.' || first == '_' || first >= '0' && first <= '9' ||
		strings.IndexByte("abcdefghijklmnopqrstuvwxyz", first|0x20) >= 0 {
		return name
	}
	return "./" + name
}
