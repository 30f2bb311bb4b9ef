package files

import (
	"container/heap"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"syscall"

	"mayfly/agent/answer"
)

const (
	defaultEntries = 1_000
	maxEntries     = 10_000
	// namesPerRead limits the names of a directory in memory at once.
	namesPerRead = 1_024
)

// list writes a page of a directory, one entry per line, in byte order of names. X-Mayfly-Next is the start of the
// next page, if any. Its memory is bounded by the page, not the directory.
func (f *service) list(w http.ResponseWriter, r *http.Request) error {
	path, err := pathOf(r)
	if err != nil {
		return err
	}
	after, limit, err := pageOf(r)
	if err != nil {
		return err
	}
	root, err := openDirectory(path)
	if err != nil {
		return refusalOf(path, err)
	}
	defer root.Close()
	names, err := firstNames(r.Context(), root, after, limit+1)
	if err != nil {
		return refusalOf(path, err)
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	if len(names) > limit {
		names = names[:limit]
		w.Header().Set("X-Mayfly-Next", base64.RawURLEncoding.EncodeToString([]byte(names[limit-1])))
	}
	w.WriteHeader(http.StatusOK)
	known := newOwnerNames()
	lines := json.NewEncoder(w)
	for _, name := range names {
		described, err := describeEntry(root, name, known)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil || lines.Encode(described) != nil {
			breakOff()
		}
	}
	return nil
}

// openDirectory opens a directory. os.OpenRoot alone would block on a FIFO without a writer.
func openDirectory(path string) (*os.Root, error) {
	info, err := statResolved(path, 0)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, syscall.ENOTDIR
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(info, opened) {
		root.Close()
		return nil, answer.Refused("file_conflict", "%q was replaced while it was being opened.", path)
	}
	return root, nil
}

func pageOf(r *http.Request) (after string, limit int, err error) {
	query := r.URL.Query()
	raw, err := base64.RawURLEncoding.DecodeString(query.Get("after"))
	if err != nil {
		return "", 0, answer.Refused("invalid_request", "`after` must be the base64url of a name.")
	}
	limit = defaultEntries
	if text := query.Get("limit"); text != "" {
		limit, err = strconv.Atoi(text)
		if err != nil || limit < 1 || limit > maxEntries {
			return "", 0, answer.Refused("invalid_request", "`limit` must be from 1 to %d.", maxEntries)
		}
	}
	return string(raw), limit, nil
}

func describeEntry(root *os.Root, name string, known *ownerNames) (entry, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return entry{}, err
	}
	target := ""
	if info.Mode()&os.ModeSymlink != 0 {
		if target, err = root.Readlink(name); err != nil {
			return entry{}, err
		}
	}
	return entryOf(name, target, info, known), nil
}

// firstNames returns the first count names of a directory after another name, sorted.
func firstNames(ctx context.Context, root *os.Root, after string, count int) ([]string, error) {
	directory, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer directory.Close()
	first := &lastOnTop{}
	for ctx.Err() == nil {
		names, err := directory.Readdirnames(namesPerRead)
		for _, name := range names {
			if name <= after || len(*first) == count && name > (*first)[0] {
				continue
			}
			heap.Push(first, name)
			if len(*first) > count {
				heap.Pop(first)
			}
		}
		if err == io.EOF {
			slices.Sort(*first)
			return *first, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, ctx.Err()
}

// lastOnTop is a max-heap of names.
type lastOnTop []string

func (h lastOnTop) Len() int           { return len(h) }
func (h lastOnTop) Less(i, j int) bool { return h[i] > h[j] }
func (h lastOnTop) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *lastOnTop) Push(name any)     { *h = append(*h, name.(string)) }
func (h *lastOnTop) Pop() any {
	last := len(*h) - 1
	name := (*h)[last]
	*h = (*h)[:last]
	return name
}
