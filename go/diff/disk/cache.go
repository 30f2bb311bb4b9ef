package disk

import "container/list"

// cacheKey identifies a unit of a file, or a compressed cluster by its descriptor.
type cacheKey struct {
	file       int32
	compressed bool
	at         int64
}

// entryBytes is the approximate size of an entry without its content.
const entryBytes = 256

type cacheEntry struct {
	key     cacheKey
	content []byte
}

// cache is an LRU cache.
type cache struct {
	room    int
	entries map[cacheKey]*list.Element
	order   *list.List
}

func newCache(room int) *cache {
	return &cache{room: room, entries: map[cacheKey]*list.Element{}, order: list.New()}
}

func (c *cache) get(key cacheKey) []byte {
	element := c.entries[key]
	if element == nil {
		return nil
	}
	c.order.MoveToFront(element)
	return element.Value.(*cacheEntry).content
}

func (c *cache) put(key cacheKey, content []byte) {
	c.entries[key] = c.order.PushFront(&cacheEntry{key: key, content: content})
	c.room -= cap(content) + entryBytes
	for c.room < 0 && c.order.Len() > 1 {
		oldest := c.order.Remove(c.order.Back()).(*cacheEntry)
		delete(c.entries, oldest.key)
		c.room += cap(oldest.content) + entryBytes
	}
}
