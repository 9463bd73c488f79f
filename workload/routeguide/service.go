package routeguide

import (
	"context"
	"fmt"
	"iter"
	"unicode/utf8"

	"wirelab"
)

// Service is what a route guide does. See the package comment for the contract.
type Service interface {
	GetFeature(ctx context.Context, at Point) (Feature, error)
	ListFeatures(ctx context.Context, in Rectangle) iter.Seq2[Feature, error]
	// RecordRoute reads points until they end. An error among them ends the call with it.
	RecordRoute(ctx context.Context, points iter.Seq2[Point, error]) (RouteSummary, error)
	// RouteChat answers while it reads: the replies to a note come before the next note is read.
	RouteChat(ctx context.Context, notes iter.Seq2[RouteNote, error]) iter.Seq2[RouteNote, error]
}

// The bounds of the contract.
const (
	LatitudeLimit  = 900_000_000   // 1e-7 degree
	LongitudeLimit = 1_800_000_000 // 1e-7 degree
	RouteLimit     = 10_000        // points of one route, notes of one chat
	MessageLimit   = 4096          // bytes of a note's message
	NotesKept      = 16            // notes kept at a location
	LocationsKept  = 1024          // locations with notes
)

// Point is a place on Earth in units of 1e-7 degree.
type Point struct {
	Latitude  int32
	Longitude int32
}

// Validate returns InvalidArgument for a point that is not on Earth.
func (p Point) Validate() error {
	if p.Latitude < -LatitudeLimit || p.Latitude > LatitudeLimit ||
		p.Longitude < -LongitudeLimit || p.Longitude > LongitudeLimit {
		return wirelab.Errorf(wirelab.InvalidArgument,
			"point %d, %d is outside ±%d, ±%d", p.Latitude, p.Longitude, LatitudeLimit, LongitudeLimit)
	}
	return nil
}

// Rectangle is an area with Lo and Hi as opposite corners, in any order.
type Rectangle struct {
	Lo, Hi Point
}

// Validate returns InvalidArgument if a corner is not on Earth.
func (r Rectangle) Validate() error {
	if err := r.Lo.Validate(); err != nil {
		return err
	}
	return r.Hi.Validate()
}

// Contains reports whether p is in the rectangle or on its border.
func (r Rectangle) Contains(p Point) bool {
	return p.Latitude >= min(r.Lo.Latitude, r.Hi.Latitude) && p.Latitude <= max(r.Lo.Latitude, r.Hi.Latitude) &&
		p.Longitude >= min(r.Lo.Longitude, r.Hi.Longitude) && p.Longitude <= max(r.Lo.Longitude, r.Hi.Longitude)
}

// Feature is a place that may have a name.
type Feature struct {
	Name     string // "" where the place has none
	Location Point
}

// Equal reports whether the two are the same.
func (f Feature) Equal(other Feature) bool { return f == other }

// RouteSummary is what RecordRoute returns.
type RouteSummary struct {
	PointCount   int32
	FeatureCount int32 // points at which a named feature stands
	Distance     int32 // metres
	ElapsedTime  int32 // whole seconds
}

// Equal reports whether the two agree in all but the time a clock measured.
func (s RouteSummary) Equal(other RouteSummary) bool {
	s.ElapsedTime = other.ElapsedTime
	return s == other
}

// String leaves the elapsed time out, as Equal does, so that two transcripts
// of the same calls are the same text.
func (s RouteSummary) String() string {
	return fmt.Sprintf("{PointCount:%d FeatureCount:%d Distance:%d}", s.PointCount, s.FeatureCount, s.Distance)
}

// RouteNote is a message left at a place.
type RouteNote struct {
	Location Point
	Message  string
}

// Equal reports whether the two are the same.
func (n RouteNote) Equal(other RouteNote) bool { return n == other }

// Validate returns InvalidArgument for a note outside the contract. Client
// stubs call it too before they send: wires differ in what they do with text
// that is not UTF-8 (refuse, replace, pass on), so it must not reach one.
func (n RouteNote) Validate() error {
	if err := n.Location.Validate(); err != nil {
		return err
	}
	if len(n.Message) > MessageLimit {
		return wirelab.Errorf(wirelab.InvalidArgument, "message of %d bytes; at most %d", len(n.Message), MessageLimit)
	}
	if !utf8.ValidString(n.Message) {
		return wirelab.Errorf(wirelab.InvalidArgument, "message is not valid UTF-8")
	}
	return nil
}
