package machine

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

const infoFolder = "/var/lib/dpkg/info/"

// merged are folders of packages that are links in a system with merged /usr.
var merged = map[string]bool{"/bin": true, "/sbin": true, "/lib": true, "/lib32": true, "/lib64": true, "/libx32": true}

// repack rebuilds a package from its installed files: folder/name.deb. It lacks files that the image excludes, such
// as manuals.
func repack(p debian, folder string) error {
	stage, err := os.MkdirTemp(folder, "stage")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	if err := os.Chmod(stage, 0o755); err != nil {
		return err
	}
	info := infoOf(p)
	list, err := os.ReadFile(info + ".list")
	if err != nil {
		return err
	}
	for _, path := range strings.Split(string(list), "\n") {
		if err := bring(path, stage); err != nil {
			return err
		}
	}
	if err := control(p, info, stage); err != nil {
		return err
	}
	build := exec.Command("dpkg-deb", "-Znone", "--build", stage, filepath.Join(folder, p.name()+".deb"))
	build.Stderr = os.Stderr
	return build.Run()
}

func infoOf(p debian) string {
	of := infoFolder + p.name()
	if exists(of + ":" + p.fields["Architecture"] + ".list") {
		return of + ":" + p.fields["Architecture"]
	}
	return of
}

// bring hard-links a file of the same file system, to avoid a copy before packing.
func bring(path, stage string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || path == "" || path == "/." {
		return nil
	}
	if err != nil {
		return err
	}
	at := stage + path
	switch {
	case info.IsDir():
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		return like(at, info)
	case merged[path]:
		return os.MkdirAll(at, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return os.Link(path, at)
}

// like sets a folder's owner and mode from info.
func like(at string, info fs.FileInfo) error {
	stat := info.Sys().(*syscall.Stat_t)
	if err := os.Lchown(at, int(stat.Uid), int(stat.Gid)); err != nil {
		return err
	}
	return syscall.Chmod(at, stat.Mode&0o7777)
}

var scripts = strings.Fields("preinst postinst prerm postrm triggers shlibs symbols config templates")

func control(p debian, info, stage string) error {
	folder := stage + "/DEBIAN"
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	for _, name := range scripts {
		bytes, err := os.ReadFile(info + "." + name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name), bytes, 0o755); err != nil {
			return err
		}
	}
	var conffiles bytes.Buffer
	text, err := os.ReadFile(info + ".conffiles")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, path := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(path, "/") && exists(stage+path) {
			conffiles.WriteString(path + "\n")
		}
	}
	if err := os.WriteFile(folder+"/conffiles", conffiles.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(folder+"/control", []byte(stanzaOf(p)), 0o644)
}

// stanzaOf returns the package's own control fields, without those that dpkg has added.
func stanzaOf(p debian) string {
	var kept []string
	isAdded := false
	for _, line := range strings.Split(p.stanza, "\n") {
		if !strings.HasPrefix(line, " ") {
			key, _, _ := strings.Cut(line, ":")
			isAdded = key == "Status" || key == "Conffiles" || key == "Config-Version" || key == "Triggers-Pending"
		}
		if !isAdded && line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n") + "\n"
}
