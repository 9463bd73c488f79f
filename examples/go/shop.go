package main

import (
	"slices"
	"strings"
	"sync"
)

// item is a product of the shop.
type item struct {
	SKU   string `json:"sku"`
	Name  string `json:"name"`
	Cents int32  `json:"cents"`
}

// shop holds the data that both protocols serve.
type shop struct {
	mu    sync.RWMutex
	items map[string]item
}

func newShop() *shop {
	s := &shop{items: map[string]item{}}
	for _, i := range []item{
		{"a1", "Notebook", 450},
		{"b2", "Pencil", 120},
		{"c3", "Ruler", 300},
		{"d4", "Eraser", 90},
	} {
		s.items[i.SKU] = i
	}
	return s
}

// list returns all items, ordered by id.
func (s *shop) list() []item {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]item, 0, len(s.items))
	for _, i := range s.items {
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b item) int { return strings.Compare(a.SKU, b.SKU) })
	return all
}

func (s *shop) get(sku string) (item, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	i, known := s.items[sku]
	return i, known
}

// add adds an item, or replaces the item with the same id.
func (s *shop) add(i item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items[i.SKU] = i
}
