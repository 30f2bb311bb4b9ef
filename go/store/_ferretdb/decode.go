package sjson

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/FerretDB/FerretDB/internal/types"
)

// decode reads a document in the form of [Marshal], in one pass: the generic decoder scans each value once per
// level above it, and parses the schema each time. False for any other form; then [Unmarshal] uses the generic
// decoder, which reports errors.
func decode(data []byte) (*types.Document, bool) {
	c := cursor{data: data}
	if !c.skip(`{"$s":`) {
		return nil, false
	}
	raw, ok := c.raw()
	if !ok {
		return nil, false
	}
	sch, ok := schemas.of(raw)
	if !ok {
		return nil, false
	}
	if len(sch.Keys) > 0 && !c.skip(`,`) {
		return nil, false
	}
	doc, ok := c.fields(sch)
	return doc, ok && c.at == len(data)
}

// cursor reads JSON without white space. Its methods return false for unexpected input.
type cursor struct {
	data []byte
	at   int
}

// fields reads the fields of the schema, in its order, and the closing brace.
func (c *cursor) fields(sch *schema) (*types.Document, bool) {
	doc := new(types.Document)
	for n, key := range sch.Keys {
		if n > 0 && !c.skip(`,`) {
			return nil, false
		}
		name, ok := c.text()
		if !ok || name != key || !c.skip(`:`) {
			return nil, false
		}
		value, ok := c.value(sch.Properties[key])
		if !ok {
			return nil, false
		}
		doc.Set(key, value)
	}
	return doc, doc.Len() == len(sch.Keys) && c.skip(`}`)
}

func (c *cursor) value(e *elem) (any, bool) {
	if e == nil {
		return nil, false
	}
	if c.skip(`null`) {
		return types.Null, true
	}
	switch e.Type {
	case elemTypeObject:
		return c.object(e.Schema)
	case elemTypeArray:
		return c.array(e.Items)
	case elemTypeString:
		return c.text()
	case elemTypeBool:
		if c.skip(`true`) {
			return true, true
		}
		return false, c.skip(`false`)
	default:
		raw, ok := c.raw()
		if !ok {
			return nil, false
		}
		value, err := unmarshalSingleValue(raw, e)
		return value, err == nil
	}
}

func (c *cursor) object(sch *schema) (any, bool) {
	if sch == nil || !c.skip(`{`) {
		return nil, false
	}
	return c.fields(sch)
}

func (c *cursor) array(items []*elem) (any, bool) {
	if items == nil || !c.skip(`[`) {
		return nil, false
	}
	array := types.MakeArray(len(items))
	for n, item := range items {
		if n > 0 && !c.skip(`,`) {
			return nil, false
		}
		value, ok := c.value(item)
		if !ok {
			return nil, false
		}
		array.Append(value)
	}
	return array, c.skip(`]`)
}

// text reads a string. It reads plain ASCII itself, and leaves the rest to encoding/json.
func (c *cursor) text() (string, bool) {
	start := c.at
	raw, isPlain, ok := c.quoted()
	if !ok {
		c.at = start
		return "", false
	}
	if isPlain {
		return string(raw[1 : len(raw)-1]), true
	}
	var s string
	return s, json.Unmarshal(raw, &s) == nil
}

// quoted skips a string, and returns it with its quotes.
func (c *cursor) quoted() (raw []byte, isPlain, ok bool) {
	start := c.at
	if !c.skip(`"`) {
		return nil, false, false
	}
	isPlain = true
	for ; c.at < len(c.data); c.at++ {
		switch b := c.data[c.at]; {
		case b == '"':
			c.at++
			return c.data[start:c.at], isPlain, true
		case b == '\\':
			isPlain = false
			c.at++ // what is escaped ends nothing
		case b < ' ' || b > '~':
			isPlain = false
		}
	}
	return nil, false, false
}

// raw skips one value of any type, without validating it.
func (c *cursor) raw() (json.RawMessage, bool) {
	start := c.at
	for depth := 0; c.at < len(c.data); {
		switch c.data[c.at] {
		case '"':
			if _, _, ok := c.quoted(); !ok {
				return nil, false
			}
			if depth == 0 && c.data[start] == '"' {
				return c.data[start:c.at], true
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return c.data[start:c.at], c.at > start
			}
			if depth--; depth == 0 {
				c.at++
				return c.data[start:c.at], true
			}
		case ',':
			if depth == 0 {
				return c.data[start:c.at], c.at > start
			}
		}
		c.at++
	}
	return nil, false
}

func (c *cursor) skip(token string) bool {
	if !bytes.HasPrefix(c.data[c.at:], []byte(token)) {
		return false
	}
	c.at += len(token)
	return true
}

// schemaCache caches schemas by their text: the documents of a collection have few.
type schemaCache struct {
	m     sync.RWMutex
	known map[string]*schema
}

// maxSchemas limits the cache, with at most maxSchemaBytes per schema; a full cache is cleared.
const (
	maxSchemas     = 1_000
	maxSchemaBytes = 16_384
)

var schemas = schemaCache{known: map[string]*schema{}}

func (s *schemaCache) of(raw []byte) (*schema, bool) {
	s.m.RLock()
	sch, ok := s.known[string(raw)]
	s.m.RUnlock()
	if ok {
		return sch, true
	}
	sch = new(schema)
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if dec.Decode(sch) != nil || dec.More() {
		return nil, false
	}
	if len(raw) > maxSchemaBytes {
		return sch, true
	}
	s.m.Lock()
	defer s.m.Unlock()
	if len(s.known) >= maxSchemas {
		s.known = map[string]*schema{}
	}
	s.known[string(raw)] = sch
	return sch, true
}
