package report

import (
	"bufio"
	"encoding/json"
	"io"

	"mayfly/diff/ext4"
)

type side struct {
	UUID    string            `json:"uuid"`
	Journal ext4.JournalState `json:"journal"`
	Files   int32             `json:"files"`
}

type start struct {
	Line   string `json:"line"`
	Before side   `json:"before"`
	After  side   `json:"after"`
}

type end struct {
	Line    string `json:"line"`
	Added   int    `json:"added"`
	Changed int    `json:"changed"`
	Removed int    `json:"removed"`
	Renamed int    `json:"renamed"`
}

// Lines writes one JSON object per line: the start, the changes, the end. Output without an end is truncated.
func (c *Comparison) Lines(to io.Writer) error {
	buffered := bufio.NewWriterSize(to, 1<<16)
	encoder := json.NewEncoder(buffered)
	encoder.SetEscapeHTML(false)
	sideOf := func(fs *ext4.FS, files int32) side { return side{UUID: fs.UUID, Journal: fs.Journal, Files: files} }
	err := encoder.Encode(start{
		Line: "start", Before: sideOf(c.Before.FS, c.Before.Len()), After: sideOf(c.After.FS, c.After.Len()),
	})
	if err != nil {
		return err
	}
	counts := map[string]int{}
	err = c.Walk(func(kind string, before, after int32) error {
		counts[kind]++
		change, err := c.line(kind, before, after)
		if err != nil {
			return err
		}
		// A long path costs more than its read.
		if err := c.meter.Charge(int64(len(change.Path))); err != nil {
			return err
		}
		return encoder.Encode(change)
	})
	if err != nil {
		return err
	}
	err = encoder.Encode(end{
		Line: "end", Added: counts[Added], Changed: counts[Changed], Removed: counts[Removed], Renamed: counts[Renamed],
	})
	if err != nil {
		return err
	}
	return buffered.Flush()
}
