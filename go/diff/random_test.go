package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

const operations = 100

// file is the log's state of a file.
type file struct {
	id               int
	kind             string
	content          string
	mode, uid, mtime int
	note             string
}

// log is the expected state of a file system, by path, after a list of operations.
type log struct {
	random *rand.Rand
	files  map[string]file
	last   int
	folder string
}

func (l *log) pick(kinds ...string) string {
	var paths []string
	for path, file := range l.files {
		if slices.Contains(kinds, file.kind) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	if len(paths) == 0 {
		return ""
	}
	return paths[l.random.IntN(len(paths))]
}

var oddNames = []string{"plain", "ümlaut", "spa ce", "q'uo\\te", "esc\x1b[31m", "\u202eright", "--flag", "*"}

func (l *log) newPath() string {
	l.last++
	parent := l.pick("directory")
	return path.Join(parent, fmt.Sprintf("%s-%d", oddNames[l.random.IntN(len(oddNames))], l.last))
}

// do makes one random change to the log, and returns the debugfs commands for it.
func (l *log) do(t *testing.T) []string {
	changed := func(path string, change func(*file) string) []string {
		if path == "" {
			return nil
		}
		file := l.files[path]
		command := change(&file)
		l.files[path] = file
		return []string{fmt.Sprintf(command, quoted(path))}
	}
	switch l.random.IntN(10) {
	case 0, 1:
		return l.create(t, l.newPath())
	case 2:
		path := l.newPath()
		l.files[path] = file{id: l.last, kind: "directory", mode: 0o755}
		return []string{"mkdir " + quoted(path), fmt.Sprintf("sif %s mode 040755", quoted(path))}
	case 3:
		path := l.newPath()
		l.files[path] = file{id: l.last, kind: "symlink", content: strings.Repeat("t", 1+l.random.IntN(90)), mode: 0o777}
		return []string{fmt.Sprintf("symlink %s %s", quoted(path), l.files[path].content), generation(path, l.last)}
	case 4: // the same path, and another file
		if path := l.pick("file"); path != "" {
			return append([]string{"rm " + quoted(path)}, l.create(t, path)...)
		}
	case 5:
		if path := l.pick("file", "symlink"); path != "" {
			delete(l.files, path)
			return []string{"rm " + quoted(path)}
		}
	case 6:
		if from := l.pick("file", "symlink"); from != "" {
			to := l.newPath()
			l.files[to] = l.files[from]
			delete(l.files, from)
			// debugfs does not extend a directory for a link.
			return []string{"expand_dir " + quoted(path.Dir(to)), fmt.Sprintf("ln %s %s", quoted(from), quoted(to)), "unlink " + quoted(from)}
		}
	case 7:
		return changed(l.pick("file"), func(f *file) string {
			f.mode = l.random.IntN(0o10000)
			return "sif %s mode " + fmt.Sprintf("010%04o", f.mode)
		})
	case 8:
		return changed(l.pick("file", "directory", "symlink"), func(f *file) string {
			f.uid = l.random.IntN(60_000)
			return "sif %s uid " + fmt.Sprint(f.uid)
		})
	case 9:
		return changed(l.pick("file"), func(f *file) string {
			f.note = fmt.Sprint("note", l.random.IntN(1_000_000))
			return "ea_set %s user.note " + f.note
		})
	}
	return nil
}

func (l *log) create(t *testing.T, at string) []string {
	l.last++
	content := strings.Repeat(fmt.Sprintf("%d,", l.random.IntN(1000)), l.random.IntN(20_000))
	source := write(t, fmt.Sprintf("%s/%d", l.folder, l.last), content)
	l.files[at] = file{id: l.last, kind: "file", content: content, mode: 0o644, mtime: l.last}
	return []string{
		fmt.Sprintf("write %s %s", source, quoted(at)), generation(at, l.last),
		fmt.Sprintf("sif %s mtime @%d", quoted(at), 1_600_000_000+l.last), fmt.Sprintf("sif %s mode 0100644", quoted(at)),
	}
}

// quoted returns a path quoted for debugfs.
func quoted(path string) string { return `"` + strings.ReplaceAll(path, `"`, `""`) + `"` }

func generation(path string, id int) string {
	return fmt.Sprintf("sif %s generation %d", quoted(path), id)
}

// changesOf returns the changes that the log expects.
func changesOf(before, after map[string]file) []string {
	found := []string{}
	gone, come := map[int]string{}, map[int]string{}
	for path, old := range before {
		new, has := after[path]
		switch {
		case !has || new.kind != old.kind:
			gone[old.id] = path
		case len(aspects(old, new)) > 0:
			found = append(found, "changed "+path+" "+aspects(old, new))
		}
	}
	for path, new := range after {
		if old, has := before[path]; !has || new.kind != old.kind {
			come[new.id] = path
		}
	}
	for id, path := range come {
		if from, has := gone[id]; has {
			found = append(found, strings.TrimSuffix("renamed "+path+" from "+from+" "+aspects(before[from], after[path]), " "))
			delete(gone, id)
		} else {
			found = append(found, "added "+path)
		}
	}
	for _, path := range gone {
		found = append(found, "removed "+path)
	}
	return found
}

func aspects(old, new file) string {
	var names []string
	for _, one := range []struct {
		name    string
		differs bool
	}{
		{"content", old.kind == "file" && old.content != new.content},
		{"target", old.kind == "symlink" && old.content != new.content},
		{"mode", old.mode != new.mode}, {"owner", old.uid != new.uid}, {"xattrs", old.note != new.note},
		{"mtime", old.kind == "file" && old.mtime != new.mtime},
	} {
		if one.differs {
			names = append(names, one.name)
		}
	}
	return strings.Join(names, ",")
}

// A hundred random operations between two states: the comparison finds the changes in their log.
func TestRandomOperations(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 3 // one of each of the options below
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			log := &log{
				random: rand.New(rand.NewPCG(seed, 0)), folder: t.TempDir(),
				files: map[string]file{"/": {kind: "directory", mode: 0o755}},
			}
			options := [][]string{{}, {"-O", "inline_data"}, {"-b", "1024"}}[seed%3]
			before := newImage(t, 64*mebibyte, "", append([]string{"-t", "ext4"}, options...)...)
			log.run(t, before)
			then := maps.Clone(log.files)
			after := copyOf(t, before)
			log.run(t, after)
			expectChanges(t, layersOf(t, before), layersOf(t, after), changesOf(then, log.files)...)
			expectChanges(t, layersOf(t, after), layersOf(t, before), changesOf(log.files, then)...)
			if err := os.Remove(after); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func (l *log) run(t *testing.T, path string) {
	var commands []string
	for done := 0; done < operations; {
		if next := l.do(t); next != nil {
			commands = append(commands, next...)
			done++
		}
	}
	debugfs(t, path, commands...)
}
