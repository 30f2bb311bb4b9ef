package script

import "testing"

func TestSed(t *testing.T) {
	for _, script := range []string{
		`p`, `5q`, `1,5p`, `$p`, `/start/,/end/p`, `s/a/b/`, `s/a/b/gp`, `s/^(a)/\1/p`, `s|a|b|2I`, `/x/d`, `/x/!d`, `1~2p`,
		`y/abc/def/`, `$!N;P;D`, `:a;N;$!ba;s/x/y/g`, `/a/{s/b/c/;p}`, `\,x,p`, `1{p;q}`, `=`, `l 5`, `1,+3p`, `s/[a-z]*/x/`,
		`a w text`, `#n w x`, `s/a\/w/b/`, `/x/I,/y/Ip`, `s/a/e/;s/b/w/`, ``, ` ; ; p`, `0~3d`, `$=`, `s,/w,x,`,
	} {
		if reason := SedRefusal(script); reason != "" {
			t.Errorf("%s is refused: %s", script, reason)
		}
	}
	for _, script := range []string{
		`w F`, `1w F`, `W F`, `r F`, `R F`, `e`, `1e rm F`, `e rm F`, `s/a/b/w F`, `s/a/b/e`, `s/a/b/gew F`, `s/a/b/;w F`,
		`/x/w F`, `/x/{w F`, `/x/{p;w F}`, `$!w F`, `1!e`, `1 ! w F`, `s/[/]w F/x/`, `s/[\]/x/w F`, `y/a/b/w F`, `p w F`,
		`}w F`, `ba w F`, `: x w F`, `1,w F`, `1,2,w F`, `s/a/b`, `sxaxbxw F`, `s a b w F`, `\xaxw F`, `L`, `v`, `M`, `p;w F`,
		`:a;w F`, `{p};w F`, `1,~4w F`, `/a/,/b/w F`, `0,/x/w F`, `s//b/w F`, `s/a/b/p;e`, `s/a/b/ w F`, "s/a/b/\nw F",
		`l 5 w F`, `q5w F`, `s/a/\/w F`, `/[[:alpha:]/]/w F`, `z;e`, `F;r x`, "\\\nx", `!!w F`, `5,$!e`, `b;w F`,
	} {
		if reason := SedRefusal(script); reason == "" {
			t.Errorf("%s is allowed", script)
		}
	}
}
