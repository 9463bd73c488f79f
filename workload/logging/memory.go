package logging

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"wirelab"
)

// Memory is the reference service: the oracle of the conformance suite, and the service of servers without a
// database. It is safe for concurrent use.
type Memory struct {
	limit int // StoredLimit; lower in a test

	mu sync.RWMutex // guards all below
	// entries are in the order of their positions, which is also that of their times.
	entries []Stored
	removed int64              // how many came before the first: entries[i].Position == removed+i+1
	byID    map[string]int64   // positions; nil until one is stored
	byName  map[string][]int64 // positions, ascending; only names with entries
}

var _ Service = (*Memory)(nil)

// New returns an empty reference service. It is cheap: a load makes one for
// each call that writes.
func New() Service { return &Memory{limit: StoredLimit} }

// WriteLog implements [Service].
func (m *Memory) WriteLog(_ context.Context, entry Entry) (Written, error) {
	if err := entry.Validate(); err != nil {
		return Written{}, err
	}
	if entry.ID == "" {
		entry.ID = NewID()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if position, ok := m.byID[entry.ID]; ok {
		return entry.Again(m.at(position).Entry == entry)
	}
	if len(m.entries) >= m.limit {
		return Written{}, wirelab.Errorf(wirelab.ResourceExhausted,
			"%d entries are stored, which is all that a logger in memory keeps; remove some, or give it a database",
			m.limit)
	}
	var last time.Time
	if n := len(m.entries); n > 0 {
		last = m.entries[n-1].At
	}
	if m.byID == nil {
		m.byID, m.byName = map[string]int64{}, map[string][]int64{}
	}
	position := m.removed + int64(len(m.entries)) + 1
	m.entries = append(m.entries, Stored{Entry: entry, Position: position, At: Later(time.Now(), last)})
	m.byID[entry.ID] = position
	m.byName[entry.Name] = append(m.byName[entry.Name], position)
	return Written{ID: entry.ID}, nil
}

// at returns the entry at an existing position. m.mu is held.
func (m *Memory) at(position int64) *Stored { return &m.entries[position-m.removed-1] }

// before returns how many entries were stored before a time. m.mu is held.
func (m *Memory) before(t time.Time) int {
	return sort.Search(len(m.entries), func(i int) bool { return !m.entries[i].At.Before(t) })
}

// GetEntry implements [Service].
func (m *Memory) GetEntry(_ context.Context, id EntryID) (Stored, error) {
	if err := id.Validate(); err != nil {
		return Stored{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	position, ok := m.byID[id.ID]
	if !ok {
		return Stored{}, UnknownEntry(id.ID)
	}
	return *m.at(position), nil
}

// ListEntries implements [Service].
func (m *Memory) ListEntries(_ context.Context, query Query) (EntryList, error) {
	if err := query.Validate(); err != nil {
		return EntryList{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	first, end := 0, len(m.entries) // indexes in entries
	if !query.Since.IsZero() {
		first = m.before(query.Since)
	}
	if !query.Until.IsZero() {
		end = m.before(query.Until)
	}
	if query.Before > 0 {
		// The entry at index i has the position removed+i+1. Removed entries have no index, and a position after
		// the last entry leaves end unchanged.
		end = min(end, int(max(0, query.Before-1-m.removed)))
	}
	page := Page{Limit: query.Most()}
	if query.Name == "" {
		for i := end - 1; i >= first && page.Add(m.entries[i]); i-- {
		}
		return page.List(), nil
	}
	// Positions ascend: the search finds the first position past the end, and the page goes down from the one
	// before it.
	named := m.byName[query.Name]
	for i := sort.Search(len(named), func(i int) bool { return named[i] > m.removed+int64(end) }) - 1; i >= 0; i-- {
		if named[i] <= m.removed+int64(first) || !page.Add(*m.at(named[i])) {
			break
		}
	}
	return page.List(), nil
}

// DeleteEntries implements [Service].
func (m *Memory) DeleteEntries(_ context.Context, retention Retention) (Deleted, error) {
	if err := retention.Validate(); err != nil {
		return Deleted{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.before(retention.Before)
	if n == 0 {
		return Deleted{}, nil
	}
	gone := m.removed + int64(n) // the last position to remove
	for _, e := range m.entries[:n] {
		delete(m.byID, e.ID)
		named := m.byName[e.Name]
		if len(named) == 0 || named[0] > gone {
			continue // done for an earlier entry of that name
		}
		if keep := named[sort.Search(len(named), func(i int) bool { return named[i] > gone }):]; len(keep) > 0 {
			m.byName[e.Name] = slices.Clone(keep)
		} else {
			delete(m.byName, e.Name)
		}
	}
	m.removed = gone
	m.entries = slices.Clone(m.entries[n:]) // else the array would keep removed entries alive
	return Deleted{Count: int64(n)}, nil
}
