package machine

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

const (
	user = "sandbox"
	// firstID is the first id of human users.
	firstID = 1000
)

// addUser adds the sandbox's login user, unless the name exists. Its id is 1000 if free.
func addUser() error {
	passwd, err := fields("/etc/passwd")
	if err != nil {
		return err
	}
	groups, err := fields("/etc/group")
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	isThere := false
	for _, entry := range passwd {
		isThere = isThere || entry[0] == user
		if len(entry) > 3 {
			taken[entry[2]], taken[entry[3]] = true, true
		}
	}
	if isThere {
		return nil
	}
	for _, entry := range groups {
		if entry[0] == user {
			return fmt.Errorf("this root file system is refused: it has a group %s, and no such user", user)
		}
		if len(entry) > 2 {
			taken[entry[2]] = true
		}
	}
	id := firstID
	for taken[fmt.Sprint(id)] {
		id++
	}
	login := "/bin/bash"
	if !exists(login) {
		login = shell
	}
	home := "/home/" + user
	lines := []struct{ path, line string }{
		{"/etc/passwd", fmt.Sprintf("%s:x:%d:%d::%s:%s", user, id, id, home, login)},
		{"/etc/group", fmt.Sprintf("%s:x:%d:", user, id)},
		{"/etc/shadow", user + ":*:19000:0:99999:7:::"},
		{"/etc/gshadow", user + ":!::"},
	}
	for _, each := range lines {
		if err := appendLine(each.path, each.line); err != nil {
			return err
		}
	}
	if err := os.Mkdir(home, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return os.Lchown(home, id, id)
}

// fields returns the fields of each line of an account file; none without the file.
func fields(path string) ([][]string, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var found [][]string
	for _, line := range strings.Split(string(text), "\n") {
		if line != "" {
			found = append(found, strings.Split(line, ":"))
		}
	}
	return found, nil
}

// appendLine appends to a file. It does not create shadow files, which some roots lack.
func appendLine(path, line string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && strings.HasSuffix(path, "shadow") {
		return nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		line = "\n" + line
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, failure := file.WriteString(line + "\n")
	return errors.Join(failure, file.Close())
}
