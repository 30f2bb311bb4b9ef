package main

import (
	"encoding/json"
	"errors"
	"io"
	"time"

	"mayfly/diff/disk"
	"mayfly/diff/ext4"
	"mayfly/diff/fault"
	"mayfly/diff/meter"
	"mayfly/diff/report"
	"mayfly/diff/tree"
)

const (
	maxRequestBytes = 1 << 20
	cacheBytes      = 64 << 20
	// Limit of both trees together. With the size of a Node, it stays well within confine.MemoryBytes.
	maxNameBytes = 256 << 20
	maxNames     = 2 << 20
	maxReadBytes = 64 << 30
	maxHashBytes = 8 << 30
)

// image is a disk, and the number of a partition.
type image struct {
	Layers    []disk.Layer `json:"layers"`
	Partition *int         `json:"partition"`
}

type request struct {
	// Mode is "lines", "tar", "content" or "names"; the last two need only After.
	Mode   string `json:"mode"`
	Before image  `json:"before"`
	After  image  `json:"after"`
	// Within are absolute paths: the comparison is limited to these files and everything below them; none means
	// all.
	Within [][]byte `json:"within"`
	// Without are patterns of paths that answers omit; see report.Hide.
	Without []string `json:"without"`
	Path    []byte   `json:"path"`
	Bytes   int64    `json:"bytes"`
	Seconds int64    `json:"seconds"`
}

func readRequest(from io.Reader) (*request, error) {
	decoder := json.NewDecoder(io.LimitReader(from, maxRequestBytes))
	decoder.DisallowUnknownFields()
	var asked request
	if err := decoder.Decode(&asked); err != nil {
		return nil, fault.New(fault.BadRequest, "the request is not valid: %v", err)
	}
	if asked.Seconds <= 0 || asked.Bytes < 0 {
		return nil, fault.New(fault.BadRequest, "seconds must be positive, and bytes not negative")
	}
	return &asked, nil
}

func (r *request) answer(to io.Writer) error {
	meter := meter.New(maxReadBytes, time.Duration(r.Seconds)*time.Second)
	files := disk.NewFiles(meter, cacheBytes)
	if r.Mode == "content" || r.Mode == "names" {
		fs, err := r.After.open(files)
		if err != nil {
			return err
		}
		if r.Mode == "names" {
			return report.CopyNames(fs, r.Path, r.Bytes, to)
		}
		return report.CopyFile(fs, r.Path, r.Bytes, to, meter)
	}
	if r.Mode != "lines" && r.Mode != "tar" {
		return fault.New(fault.BadRequest, "there is no mode %s", fault.Quote([]byte(r.Mode)))
	}
	scope, err := tree.NewScope(r.Within)
	if err != nil {
		return err
	}
	names := tree.NewNames(maxNameBytes)
	before, err := r.Before.load(files, names, scope)
	if err != nil {
		return fault.Of("before", err)
	}
	after, err := r.After.load(files, names, scope)
	if err != nil {
		return fault.Of("after", err)
	}
	if err := tree.Match(before, after); err != nil {
		return err
	}
	comparison, err := report.Compare(before, after, meter, maxHashBytes)
	if err != nil {
		return err
	}
	comparison.Hide(r.Without)
	if r.Mode == "tar" {
		return comparison.Tar(to)
	}
	return comparison.Lines(to)
}

func (i *image) load(files *disk.Files, names *tree.Names, scope *tree.Scope) (*tree.Tree, error) {
	fs, err := i.open(files)
	if err != nil {
		return nil, err
	}
	return tree.Load(fs, names, maxNames, scope)
}

func (i *image) open(files *disk.Files) (*ext4.FS, error) {
	opened, err := files.Open(i.Layers)
	if err != nil {
		return nil, err
	}
	volume, err := i.volume(opened)
	if err != nil {
		return nil, err
	}
	return ext4.Open(volume)
}

// volume returns the requested partition; else the disk itself if it is a file system, else the only partition with
// one, or the only one that looks like the root of a system.
func (i *image) volume(of *disk.Disk) (*disk.Volume, error) {
	if i.Partition == nil {
		if here, err := ext4.IsHere(of.Whole()); here || err != nil {
			return of.Whole(), err
		}
	}
	partitions, err := of.Partitions()
	if err != nil {
		return nil, err
	}
	var found []*disk.Volume
	for _, partition := range partitions {
		here, err := ext4.IsHere(partition)
		if err != nil {
			return nil, err
		}
		if here && (i.Partition == nil || *i.Partition == partition.Number) {
			found = append(found, partition)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case i.Partition != nil:
		return nil, fault.New(fault.NoFileSystem, "partition %d is not there, or has no ext4 file system", *i.Partition)
	case len(found) == 0:
		return nil, fault.New(fault.NoFileSystem, "there is no ext4 file system on the disk, nor in its %d partitions", len(partitions))
	}
	roots, err := rootsAmong(found)
	if err != nil {
		return nil, err
	}
	if len(roots) != 1 {
		return nil, fault.New(fault.NoFileSystem, "%d partitions have an ext4 file system, and %d of them a directory /etc: "+
			"it is not clear which is the root", len(found), len(roots))
	}
	return roots[0], nil
}

// rootsAmong returns the partitions with a directory /etc, which only the root has.
func rootsAmong(partitions []*disk.Volume) ([]*disk.Volume, error) {
	var roots []*disk.Volume
	for _, partition := range partitions {
		fs, err := ext4.Open(partition)
		if err != nil {
			return nil, err
		}
		etc, err := fs.Lookup([]byte("/etc"))
		var found *fault.Fault
		switch {
		case err == nil && etc.Type == ext4.Directory:
			roots = append(roots, partition)
		case err != nil && !(errors.As(err, &found) && found.Code == fault.NotFound):
			return nil, err
		}
	}
	return roots, nil
}
