package check

import (
	"encoding/json"
	"strings"
	"testing"

	"mayfly/readonly"
)

func table(t *testing.T) *Table {
	t.Helper()
	table, err := Load(readonly.Programs)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// words returns one stage, with arguments separated by `|`.
func words(text string) *Command {
	var argv []Argument
	for _, word := range strings.Split(text, "|") {
		argv = append(argv, Argument{Text: word})
	}
	return &Command{[]Pipeline{{When: "always", Stages: []Stage{{Argv: argv, Stdin: "null", Stderr: "inherit"}}}}}
}

func TestArguments(t *testing.T) {
	known := table(t)
	for _, text := range []string{
		"ls|-la|/etc", "/bin/ls", "/usr/sbin/ip|a", "xargs|/usr/bin/cat|--", "tail|-f|x", "tail|-Fn5|x", "tail|--follow=name|--retry|x", "ls|--color=auto", "head|-20|/etc/hosts", "head|-n|-5", "head|-n5", "cat|--|-x", "cat|-", "grep|-e|-x|/etc/hosts",
		"grep|-rn|x|/etc", "[|-f|/etc/hosts|]", "find|/|-name|*.conf", "find|/|-mtime|-1", "find|-H|/|(|-type|f|)", "ip|-br|a", "ip|a|s|eth0",
		"xargs", "xargs|-n|1|ls|--", "xargs|-I|{}|grep|x|--|{}", "xargs|echo|-n", "xargs|-0n1|cat|--", "systemctl|--no-pager|status|x",
		"systemctl|status|-l|x", "systemctl", "rpm|-qa", "rpm|-q|-i|x", "dpkg|-l", "sort|-k2,2n|-t,", "date|+%s|-u", "uniq|-c", "printf|%s|-n",
	} {
		if _, refusal := known.Check(words(text)); refusal != nil {
			t.Errorf("%s is refused: %s", text, refusal.Reason)
		}
	}
	for _, text := range []string{
		"", "rm", "/bin/rm", "./ls", "bin/ls", "/usr/local/bin/ls", "/usr/bin/../bin/ls", "/usr/bin//ls", "//bin/ls", "/bin/", "/", "ls|--colo=auto", "ls|--color|x|--ful", "ls|-laX|-!", "head|-n", "head|-n|x", "sort|-o|F", "sort|-uoF",
		"sort|--outpu=F", "sort|x|-o|F", "uniq|a|b", "uniq|a|-c", "xxd|F|-e", "xxd|F|G", "xxd|F|-", "[|-f|x", "find|/|-delete", "find|x|-exec|id|;", "find|/|-name", "find|-delete", "find|/|x|-name|y|z",
		"find|-f|x", "xargs|rm", "xargs|/bin/rm", "xargs|/tmp/cat|--", "xargs|-I|bin|/bin/ls|--", "tail|--pid=1|-f|x", "tail|--follow=x|x", "tail|--follow|name|x|-c|y", "xargs|ls", "xargs|grep|x", "xargs|sed|--", "xargs|env", "xargs|xargs|ls|--", "xargs|-I|ls|ls|--", "xargs|-I|{}|ls|{}|--",
		"xargs|-I|-l|ls|-l|--|x", "xargs|-il|ls|-l|--", "xargs|--|rm", "xargs|grep|-e|x|-f|--", "xargs|--replace=ls|ls|--", "systemctl|stop|x", "systemctl|-q|stop|x", "systemctl|stat|x",
		"ip|netns|exec|x|sh", "ip|--|a", "ip|a|add|1.1.1.1/8", "rpm|-i|x|-q", "rpm|x|-q", "env|rm", "env|A=1", "date|-s|x", "date|x", "curl|-XDELETE|localhost",
		"ls|\x00", "ls|a\nb", "ls|\x1b", "ls|\u0085", "dpkg|x", "grep|-e", "cat|-e|-x|/dev/zero", "ls|--|" + strings.Repeat("x", 5000),
	} {
		if _, refusal := known.Check(words(text)); refusal == nil {
			t.Errorf("%q is allowed", text)
		}
	}
}

func TestShape(t *testing.T) {
	known := table(t)
	for _, text := range []string{
		`{"pipelines":[]}`,
		`{"pipelines":[{"when":"always","stages":[]}]}`,
		`{"pipelines":[{"when":"success","stages":[{"argv":["ls"],"stdin":"null","stderr":"null"}]}]}`,
		`{"pipelines":[{"when":"always","stages":[{"argv":["ls"],"stdin":"pipe","stderr":"null"}]}]}`,
		`{"pipelines":[{"when":"always","stages":[{"argv":["ls"],"stdin":"null","stderr":"/tmp/x"}]}]}`,
		`{"pipelines":[{"when":"always","stages":[{"argv":["ls"],"stdin":"null","stderr":"null","stdout":"/tmp/x"}]}]}`,
		`{"pipelines":[{"when":"always","stages":[{"argv":["ls"],"stdin":"null","stderr":"null","stdout":"stderr"}]}]}`,
		`{"pipelines":[{"when":"always","stages":[{"environment":["PATH=/tmp"],"argv":["ls"],"stdin":"null","stderr":"null"}]}]}`,
		`{"pipelines":[{"when":"always","stages":[{"environment":["LC_ALL=C","LD_PRELOAD=/x"],"argv":["ls"],"stdin":"null","stderr":"null"}]}]}`,
		`{"pipelines":[{"when":"always","stages":[{"environment":["LC_ALL=../../tmp"],"argv":["ls"],"stdin":"null","stderr":"null"}]}]}`,
		`{"pipelines":[{"when":"always","stages":[{"environment":["LC_ALL=C\n"],"argv":["ls"],"stdin":"null","stderr":"null"}]}]}`,
		`{"pipelines":[{"when":"always","stages":[{"environment":["LC_ALL"],"argv":["ls"],"stdin":"null","stderr":"null"}]}]}`,
		`{"pipelines":[{"when":"always","stages":[{"environment":["lc_all=C"],"argv":["ls"],"stdin":"null","stderr":"null"}]}]}`,
		`{"pipelines":[{"when":"always","stages":[{"environment":[""],"argv":["ls"],"stdin":"null","stderr":"null"}]}]}`,
		`{"pipelines":[{"when":"always","stages":[{"environment":["LC_ALL=zh_TW.BIG5"],"argv":["sed","s/x/y/"],"stdin":"null","stderr":"null"}]}]}`,
		`{"pipelines":[{"when":"always","stages":[{"argv":[{"glob":"ls"}],"stdin":"null","stderr":"null"}]}]}`,
		`{"pipelines":[{"when":"always","stages":[{"argv":[],"stdin":"null","stderr":"null"}]}]}`,
		`{"pipelines":[{"when":"always","stages":[{"argv":["cat",{"glob":"/proc/[1]/environ"}],"stdin":"null","stderr":"null"}]},{}]}`,
		`{"pipelines":[{"when":"always","stages":[{"argv":["ls",{"glob":"-*"}],"stdin":"null","stderr":"null"}]}]}`,
		`{"pipelines":[{"when":"always","stages":[{"argv":["curl",{"glob":"-o/tmp/[x]"}],"stdin":"null","stderr":"null"}]}]}`,
	} {
		var command Command
		if err := json.Unmarshal([]byte(text), &command); err != nil {
			t.Fatal(err)
		}
		if _, refusal := known.Check(&command); refusal == nil {
			t.Errorf("%s is allowed", text)
		}
	}
}

func TestLoadRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, text := range []string{
		`{"version":2}`,
		`{"version":1,"programs":{"x":{"paths":["/bin/x"],"never":"-o"}}}`,
		`{"version":1,"programs":{"x":{"paths":["/bin/x"],"operands":["gone"]}}}`,
		`{"version":1,"programs":{"x":{"paths":["bin/x"]}}}`,
		`{"version":1,"programs":{"x":{"paths":["/bin/x"],"style":"other"}}}`,
		`{"version":1,"types":{"x":{"pattern":"("}}}`,
		`{"version":1,"environment":{"X":"text"}}`,
		`{"version":1,"environment":{"X":"gone"}}`,
	} {
		if _, err := Load([]byte(text)); err == nil {
			t.Errorf("%s is loaded", text)
		}
	}
}
