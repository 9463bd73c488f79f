package routeguide

import (
	"container/list"
	"context"
	"iter"
	"math"
	"sync"
	"time"

	"wirelab"
)

// Memory is the reference service: the oracle of the conformance suite and
// what every server serves. It is safe for concurrent use.
type Memory struct {
	features []Feature
	byPoint  map[Point]int // index into features; a scan would cost more than a wire (duh-M05)
	now      func() time.Time

	mu    sync.Mutex              // guards all below
	notes map[Point]*list.Element // of *board
	order *list.List              // of *board, the latest at the front; len <= LocationsKept
}

// board holds the notes at one location.
type board struct {
	at    Point
	notes []RouteNote // oldest first; len <= NotesKept
}

var _ Service = (*Memory)(nil)

// New returns a reference service with the data set of [Features].
func New() Service { return NewMemory(Features(), time.Now) }

// NewMemory returns a service over features. Where two share a point the first wins.
func NewMemory(features []Feature, now func() time.Time) *Memory {
	m := &Memory{
		features: features,
		byPoint:  make(map[Point]int, len(features)),
		now:      now,
		notes:    map[Point]*list.Element{},
		order:    list.New(),
	}
	for i := len(features) - 1; i >= 0; i-- {
		m.byPoint[features[i].Location] = i
	}
	return m
}

// GetFeature implements [Service].
func (m *Memory) GetFeature(_ context.Context, at Point) (Feature, error) {
	if err := at.Validate(); err != nil {
		return Feature{}, err
	}
	if i, ok := m.byPoint[at]; ok {
		return m.features[i], nil
	}
	return Feature{Location: at}, nil
}

// ListFeatures implements [Service].
func (m *Memory) ListFeatures(ctx context.Context, in Rectangle) iter.Seq2[Feature, error] {
	return func(yield func(Feature, error) bool) {
		if err := in.Validate(); err != nil {
			yield(Feature{}, err)
			return
		}
		for _, f := range m.features {
			if !in.Contains(f.Location) {
				continue
			}
			if err := ctx.Err(); err != nil {
				yield(Feature{}, err)
				return
			}
			if !yield(f, nil) {
				return
			}
		}
	}
}

// RecordRoute implements [Service].
func (m *Memory) RecordRoute(ctx context.Context, points iter.Seq2[Point, error]) (RouteSummary, error) {
	began := m.now()
	var sum RouteSummary
	var last Point
	var distance int64
	for p, err := range points {
		if err != nil {
			return RouteSummary{}, err
		}
		if err := ctx.Err(); err != nil {
			return RouteSummary{}, err
		}
		if sum.PointCount == RouteLimit {
			return RouteSummary{}, wirelab.Errorf(wirelab.ResourceExhausted, "route of more than %d points", RouteLimit)
		}
		if err := p.Validate(); err != nil {
			return RouteSummary{}, err
		}
		if sum.PointCount > 0 {
			distance += metres(last, p)
		}
		last = p
		sum.PointCount++
		if i, ok := m.byPoint[p]; ok && m.features[i].Name != "" {
			sum.FeatureCount++
		}
	}
	if distance > math.MaxInt32 {
		return RouteSummary{}, wirelab.Errorf(wirelab.ResourceExhausted, "route of more than %d m", math.MaxInt32)
	}
	sum.Distance = int32(distance)
	sum.ElapsedTime = int32(m.now().Sub(began) / time.Second)
	return sum, nil
}

// RouteChat implements [Service].
func (m *Memory) RouteChat(ctx context.Context, notes iter.Seq2[RouteNote, error]) iter.Seq2[RouteNote, error] {
	return func(yield func(RouteNote, error) bool) {
		count := 0
		for note, err := range notes {
			if err == nil {
				err = ctx.Err()
			}
			if err == nil && count == RouteLimit {
				err = wirelab.Errorf(wirelab.ResourceExhausted, "chat of more than %d notes", RouteLimit)
			}
			if err == nil {
				err = note.Validate()
			}
			if err != nil {
				yield(RouteNote{}, err)
				return
			}
			count++
			for _, kept := range m.keep(note) {
				if !yield(kept, nil) {
					return
				}
			}
		}
	}
}

// keep adds a note to its location and returns a copy of the notes there.
func (m *Memory) keep(note RouteNote) []RouteNote {
	m.mu.Lock()
	defer m.mu.Unlock()
	element, ok := m.notes[note.Location]
	if ok {
		m.order.MoveToFront(element)
	} else {
		if m.order.Len() == LocationsKept {
			oldest := m.order.Back()
			delete(m.notes, m.order.Remove(oldest).(*board).at)
		}
		element = m.order.PushFront(&board{at: note.Location})
		m.notes[note.Location] = element
	}
	b := element.Value.(*board)
	if len(b.notes) == NotesKept {
		b.notes = append(b.notes[:0], b.notes[1:]...)
	}
	b.notes = append(b.notes, note)
	return append([]RouteNote(nil), b.notes...)
}

// earthRadius is the mean radius of the sphere that distances are taken on, in metres.
const earthRadius = 6_371_000

// metres is the great circle distance by the haversine formula, truncated. It
// is int64 because a route's sum may not fit the 32 bits of its message (duh-D03).
func metres(a, b Point) int64 {
	const radians = math.Pi / 180 / 1e7
	lat1, lat2 := float64(a.Latitude)*radians, float64(b.Latitude)*radians
	dLat := lat2 - lat1
	dLon := (float64(b.Longitude) - float64(a.Longitude)) * radians
	h := math.Sin(dLat/2)*math.Sin(dLat/2) + math.Cos(lat1)*math.Cos(lat2)*math.Sin(dLon/2)*math.Sin(dLon/2)
	return int64(2 * earthRadius * math.Atan2(math.Sqrt(h), math.Sqrt(max(0, 1-h))))
}
