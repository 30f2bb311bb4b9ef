package script

import "testing"

func TestAwk(t *testing.T) {
	for _, program := range []string{
		`{print $1}`, `$3 > 100 {print}`, `$3 > 100`, `/foo/`, `!/foo/ && NR > 1 { print $NF }`, `END{print NR}`,
		`{ s += $1 / 2 } END { printf "%s\n", s }`, `BEGIN{while((getline line) > 0) print line}`, `{print ($1 > 2)}`,
		`{print (1 > 2) ? "a" : "b"}`, `NR==FNR{a[$1]=1;next} $1 in a`, `{a[$1]++} END {for (k in a) print k, a[k]}`,
		`{gsub(/x/, "y"); print}`, `$1 ~ /^a|b$/`, `{print substr($0, 1, 3) "|" ">"}`, `{print "a\"b > c"}`, `# > "x"`,
		`{print length($0)}`, `{ print a || b }`, `BEGIN { printf("%d\n", 3) }`, `/[[:alpha:]]+/ {n++}`, `/a\/b/`,
	} {
		if reason := AwkRefusal(program); reason != "" {
			t.Errorf("%s is refused: %s", program, reason)
		}
	}
	for _, program := range []string{
		`BEGIN{system("id")}`, `BEGIN{system ("id")}`, `BEGIN{print "x" | "sh"}`, `BEGIN{"date" | getline d}`,
		`BEGIN{"date" |& getline d}`, `{print > "f"}`, `{print $1 >> "f"}`, `{print ($1)($2) > "f"}`, `{print (1) > "f"}`,
		`{printf("%s", $1) > "f"}`, `{print a[1] > "f"}`, `{print a[1 > 2]}`, `BEGIN{getline < "f"}`, `BEGIN{getline x < "f"}`,
		`BEGIN{getline a[1] < "f"}`, `BEGIN{while ((getline x < "f") > 0);}`, `@include "x"`, `BEGIN{f="system"; @f("id")}`,
		`BEGIN{ARGV[1]="/inet/tcp/0/evil/80"; ARGC=2}`, `function f(){} BEGIN{f()}`, `BEGIN{awk::system("id")}`,
		`/[/]/ {print > "f"} # /`, `BEGIN { x = 1 /=/ > "f" }`, `{ if (1) /x/ }`, `"a" / 2`, `x++ /a/`, `{print "a`, `/a`,
		`BEGIN { for (print "x" > "f"; 0; ) ; }`, `BEGIN { SYMTAB["x"] = 1 }`, `BEGIN{close("x")}`, "{print\\\n> \"f\"}",
		`{ print length / 1 > "f" # / }`, `{ print $1, $2 > $3 }`, `BEGIN{print > "/dev/stderr"}`, `BEGIN { printf "x" | "cat 1>&2" }`,
	} {
		if reason := AwkRefusal(program); reason == "" {
			t.Errorf("%s is allowed", program)
		}
	}
}
