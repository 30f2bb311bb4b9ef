package check

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"mayfly/gate/check/script"
)

// valueType is a pattern for the whole value, or a list of words.
type valueType struct {
	Words      *string `json:"words"`
	Pattern    *string `json:"pattern"`
	IgnoreCase bool    `json:"ignoreCase"`

	words   []string
	pattern *regexp.Regexp
}

func (v *valueType) compile() error {
	if (v.Words == nil) == (v.Pattern == nil) {
		return fmt.Errorf("it has either words or a pattern")
	}
	if v.Words != nil {
		v.words = strings.Fields(*v.Words)
		return nil
	}
	flags := ""
	if v.IgnoreCase {
		flags = "(?i)"
	}
	pattern, err := regexp.Compile(flags + `\A(?:` + *v.Pattern + `)\z`)
	v.pattern = pattern
	return err
}

var builtInTypes = []string{"text", "path", "file", "awkProgram", "sedScript"}

func builtIn(name string) bool { return slices.Contains(builtInTypes, name) }

func (t *Table) knows(name string) bool {
	_, ok := t.Types[name]
	return ok || builtIn(name)
}

// ValueRefusal returns why a value is not of the type; "" when it is.
func (t *Table) ValueRefusal(typeName, value string) string {
	switch typeName {
	case "text":
		return ""
	case "path":
		if value == "" {
			return "an empty text is not a path"
		}
		return ""
	case "file":
		return FileRefusal(value)
	case "awkProgram":
		return script.AwkRefusal(value)
	case "sedScript":
		return script.SedRefusal(value)
	}
	kind := t.Types[typeName]
	if kind.pattern != nil && kind.pattern.MatchString(value) || slices.Contains(kind.words, value) {
		return ""
	}
	return fmt.Sprintf("%q is not a %s", value, typeName)
}

// mayLookLikeAnOption reports whether a value of the type may start with `-`: only types of the table may, since a
// program could read any other text as an option.
func (t *Table) mayLookLikeAnOption(typeName string) bool {
	_, ok := t.Types[typeName]
	return ok
}

// Files of a process (proc(5)) with its memory or environment, or links to elsewhere.
var processSecrets = []string{
	"mem", "environ", "auxv", "pagemap", "map_files", "fd", "root", "cwd", "exe", "stack", "syscall", "personality",
}

// rpm and openssl accept URLs as files.
var scheme = regexp.MustCompile(`\A[A-Za-z][A-Za-z0-9+.-]*:`)

// FileRefusal checks paths whose content is read: no devices (/dev/zero is endless, and a disk holds all files), no
// memory of processes, and no network names of gawk (/inet/tcp/...). It does not follow symbolic links: the
// account's permissions and the sandbox of the run protect their targets.
func FileRefusal(value string) string {
	if value == "" {
		return "an empty text is not a file"
	}
	clean := path.Clean("/" + value)
	parts := strings.Split(clean[1:], "/")
	switch {
	case parts[0] == "dev":
		if clean == "/dev/null" || clean == "/dev/stdin" || strings.HasPrefix(clean, "/dev/shm/") {
			return ""
		}
		return fmt.Sprintf("%s is a device", value)
	case oneOf(parts[0], "inet", "inet4", "inet6"), scheme.MatchString(value):
		return fmt.Sprintf("%s is not a file for every program", value)
	case parts[0] == "proc" && len(parts) > 1:
		if oneOf(parts[1], "kcore", "kmsg", "kmem", "sysrq-trigger", "kpagecount", "kpageflags", "kpagecgroup") {
			return fmt.Sprintf("%s is memory of the kernel", value)
		}
		for _, part := range parts[2:] {
			if slices.Contains(processSecrets, part) && parts[1] != "sys" {
				return fmt.Sprintf("%s is memory or environment of a process", value)
			}
		}
	case strings.HasPrefix(clean, "/sys/kernel/debug/"), strings.HasPrefix(clean, "/sys/kernel/tracing/"):
		return fmt.Sprintf("%s traces the kernel", value)
	}
	return ""
}
