package routeguide

import (
	"fmt"
	"math/rand/v2"

	"wirelab"
)

// PublishedPoint is the way to draw GetFeature requests that the published
// experiment used: always the one point.
const PublishedPoint = "published-point"

// Operations are the four calls and how requests for them are drawn: about
// two in three from the data set, so that both the found and the unnamed
// answer are on every wire.
func Operations() []wirelab.Operation[Service] {
	features := Features()
	place := func(r *rand.Rand) Point {
		if r.IntN(3) > 0 {
			return features[r.IntN(len(features))].Location
		}
		return anywhere(r)
	}
	return []wirelab.Operation[Service]{
		wirelab.Unary("GetFeature", place, Service.GetFeature,
			wirelab.Drawing[Point]{Name: PublishedPoint, Draw: func(*rand.Rand) Point { return Published }}),
		wirelab.ServerStreaming("ListFeatures", func(r *rand.Rand) Rectangle {
			return Rectangle{Lo: place(r), Hi: place(r)}
		}, Service.ListFeatures),
		wirelab.ClientStreaming("RecordRoute", func(r *rand.Rand) []Point {
			route := make([]Point, r.IntN(20))
			for i := range route {
				route[i] = place(r)
			}
			return route
		}, Service.RecordRoute),
		wirelab.BidiStreaming("RouteChat", func(r *rand.Rand) []RouteNote {
			// Locations that no other call has, or the replies would depend on
			// other callers: among 6.5e18 of them a clash is not to be expected.
			at := [2]Point{anywhere(r), anywhere(r)}
			notes := make([]RouteNote, r.IntN(10))
			for i := range notes {
				notes[i] = RouteNote{Location: at[r.IntN(2)], Message: fmt.Sprintf("note %d · %x", i, r.Uint32())}
			}
			return notes
		}, Service.RouteChat).Once(),
	}
}

// anywhere draws a point of the whole contract.
func anywhere(r *rand.Rand) Point {
	return Point{
		Latitude:  int32(r.Int64N(2*LatitudeLimit+1) - LatitudeLimit),
		Longitude: int32(r.Int64N(2*LongitudeLimit+1) - LongitudeLimit),
	}
}
