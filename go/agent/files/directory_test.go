package files

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// pages lists all pages of a directory.
func (x *fixture) pages(limit int) [][]entry {
	x.t.Helper()
	var pages [][]entry
	after := ""
	for {
		response := x.ask("GET", "/v1/directory", x.folder, fmt.Sprintf("&limit=%d&after=%s", limit, after), nil)
		var page []entry
		for line := range strings.Lines(x.expect(response, 200)) {
			var e entry
			must(x.t, json.Unmarshal([]byte(line), &e))
			page = append(page, e)
		}
		pages = append(pages, page)
		after = response.Header.Get("X-Mayfly-Next")
		if after == "" {
			return pages
		}
	}
}

func nameOf(t *testing.T, e entry) string {
	t.Helper()
	name, err := base64.StdEncoding.DecodeString(e.NameBase64)
	must(t, err)
	return string(name)
}

func TestADirectoryIsListedPageByPage(t *testing.T) {
	x := newFixture(t)
	want := slices.Clone(hostileNames)
	for _, name := range want {
		x.write(name, name, 0o600)
	}
	slices.Sort(want)
	for _, limit := range []int{1, 7, len(want), 10_000} {
		var got []string
		for _, page := range x.pages(limit) {
			if len(page) > limit {
				t.Errorf("a page of %d has %d", limit, len(page))
			}
			for _, e := range page {
				got = append(got, nameOf(t, e))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("with %d a page: %q", limit, got)
		}
	}
}

func TestAnEntrySaysWhatItIs(t *testing.T) {
	x := newFixture(t)
	must(t, os.Mkdir(x.path("a"), 0o711))
	x.write("b\xff", "12345", 0o640)
	must(t, os.Symlink("any\xffwhere", x.path("c")))
	got := x.pages(10)[0]
	if got[0].Type != "directory" || got[0].Mode != "0711" || *got[0].User != "root" {
		t.Errorf("%+v", got[0])
	}
	if got[1].Type != "file" || got[1].Size != 5 || got[1].Name != nil {
		t.Errorf("%+v", got[1])
	}
	target, err := base64.StdEncoding.DecodeString(*got[2].Target)
	if got[2].Type != "symlink" || err != nil || string(target) != "any\xffwhere" {
		t.Errorf("%+v", got[2])
	}
}

func TestWhatIsNoDirectoryIsNotListed(t *testing.T) {
	x := newFixture(t)
	path := x.write("file", "", 0o644)
	x.expect(x.ask("GET", "/v1/directory", path, "", nil), 409)
	x.expect(x.ask("GET", "/v1/directory", x.path("none"), "", nil), 404)
	x.expect(x.ask("GET", "/v1/directory", x.folder, "&limit=0", nil), 422)
	x.expect(x.ask("GET", "/v1/tar", path, "", nil), 409)
	must(t, syscall.Mkfifo(x.path("fifo"), 0o644))
	x.expect(x.ask("GET", "/v1/directory", x.path("fifo"), "", nil), 409)
	x.expect(x.ask("PUT", "/v1/files", x.path("fifo/file"), "", strings.NewReader("")), 409)
	x.expect(x.ask("PUT", "/v1/tar", x.path("fifo"), "&parents=true", strings.NewReader("")), 409)
}
