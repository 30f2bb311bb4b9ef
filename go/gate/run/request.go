// Package run executes the gate's requests, after package check has allowed them, and answers in frames.
package run

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"

	"mayfly/gate/check"
)

const (
	// A command has at most 4096 characters; as escaped JSON, some ten times as many.
	maxRequestBytes = 256 << 10

	defaultTimeoutSeconds = 30
	maxTimeoutSeconds     = 300
	defaultOutputBytes    = 1 << 20
	maxOutputBytes        = 16 << 20
	maxFileBytes          = 1 << 30
)

// Request has one of `pipelines`, `file` and `hello`.
type Request struct {
	check.Command
	File  *FileRequest `json:"file"`
	Hello *struct{}    `json:"hello"`

	TimeoutSeconds int   `json:"timeoutSeconds"`
	MaxOutputBytes int64 `json:"maxOutputBytes"` // per stream
}

// FileRequest is a request for the content of a file from an offset on, or for the entries of a directory.
type FileRequest struct {
	Path   string `json:"path"` // base64url of the raw bytes
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
}

// ReadRequest reads one JSON object, and refuses anything behind it.
func ReadRequest(input io.Reader) (*Request, error) {
	data, err := io.ReadAll(io.LimitReader(input, maxRequestBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxRequestBytes {
		return nil, fmt.Errorf("the request has more than %d bytes", maxRequestBytes)
	}
	return ParseRequest(data)
}

// ParseRequest refuses unknown fields, which it would otherwise ignore.
func ParseRequest(data []byte) (*Request, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	request := Request{TimeoutSeconds: defaultTimeoutSeconds, MaxOutputBytes: defaultOutputBytes}
	if err := decoder.Decode(&request); err != nil {
		return nil, fmt.Errorf("the request cannot be read: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("something comes behind the request")
	}
	kinds := 0
	for _, there := range []bool{request.Pipelines != nil, request.File != nil, request.Hello != nil} {
		if there {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return nil, fmt.Errorf("a request has one of pipelines, file and hello")
	case request.TimeoutSeconds < 1 || request.TimeoutSeconds > maxTimeoutSeconds:
		return nil, fmt.Errorf("timeoutSeconds is from 1 to %d", maxTimeoutSeconds)
	case request.MaxOutputBytes < 0 || request.MaxOutputBytes > maxOutputBytes:
		return nil, fmt.Errorf("maxOutputBytes is from 0 to %d", maxOutputBytes)
	}
	return &request, nil
}

// path returns the path of the file, which must be absolute.
func (f *FileRequest) path() (string, error) {
	raw, err := base64.RawURLEncoding.DecodeString(f.Path)
	if err != nil || len(raw) == 0 || raw[0] != '/' || bytes.IndexByte(raw, 0) >= 0 {
		return "", fmt.Errorf("the path must be the base64url of an absolute path")
	}
	if f.Offset < 0 || f.Length < 0 || f.Length > maxFileBytes {
		return "", fmt.Errorf("offset and length must be positive, and length at most %d", maxFileBytes)
	}
	return string(raw), nil
}
