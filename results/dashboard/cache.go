package dashboard

import (
	"container/list"
	"sync"
)

// cache keeps the values that were used last, up to a total size.
type cache[V any] struct {
	most int

	mu    sync.Mutex // guards the fields below
	size  int
	items map[string]*list.Element
	order *list.List // most recently used first
}

type item[V any] struct {
	key   string
	value V
	size  int
}

func newCache[V any](most int) *cache[V] {
	return &cache[V]{most: most, items: map[string]*list.Element{}, order: list.New()}
}

func (c *cache[V]) get(key string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.items[key]; ok {
		c.order.MoveToFront(e)
		return e.Value.(item[V]).value, true
	}
	var none V
	return none, false
}

// put adds a value of a given size, and removes the least recently used ones to make space.
func (c *cache[V]) put(key string, value V, size int) {
	if size > c.most {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.items[key]; ok {
		c.drop(e)
	}
	c.items[key] = c.order.PushFront(item[V]{key, value, size})
	for c.size += size; c.size > c.most; {
		c.drop(c.order.Back())
	}
}

func (c *cache[V]) drop(e *list.Element) {
	old := c.order.Remove(e).(item[V])
	delete(c.items, old.key)
	c.size -= old.size
}
