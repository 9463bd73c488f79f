package routeguide

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/wire/edgevalues"
)

// stream is the stream of a list.
func stream[T any](all ...T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// collect reads a stream to its end.
func collect[T any](items iter.Seq2[T, error]) (all []T, err error) {
	for item, err := range items {
		if err != nil {
			return all, err
		}
		all = append(all, item)
	}
	return all, nil
}

// wantCode fails unless err has the code, and says whether it did.
func wantCode(t *testing.T, what string, err error, want wirelab.Code) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("%s succeeds, want %s", what, want)
	case wirelab.CodeOf(err) != want:
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

func TestPointsOnEarthEndAtTheLimits(t *testing.T) {
	t.Parallel()
	cases := []struct {
		why string
		p   Point
		ok  bool
	}{
		{"the origin", Point{}, true},
		{"the first corner", Point{-LatitudeLimit, -LongitudeLimit}, true},
		{"the last corner", Point{LatitudeLimit, LongitudeLimit}, true},
		{"beyond the north pole", Point{LatitudeLimit + 1, 0}, false},
		{"beyond the south pole", Point{-LatitudeLimit - 1, 0}, false},
		{"beyond the date line, east", Point{0, LongitudeLimit + 1}, false},
		{"beyond the date line, west", Point{0, -LongitudeLimit - 1}, false},
		{"a longitude as a latitude", Point{LongitudeLimit, 0}, false},
		{"the least integer, whose negative is itself", Point{math.MinInt32, math.MinInt32}, false},
	}
	for _, c := range cases {
		if err := c.p.Validate(); (err == nil) != c.ok {
			t.Errorf("%s %+v: %v", c.why, c.p, err)
		}
		for _, r := range []Rectangle{{Lo: c.p}, {Hi: c.p}} {
			if err := r.Validate(); (err == nil) != c.ok {
				t.Errorf("%s as a corner of %+v: %v", c.why, r, err)
			}
		}
		if err := (RouteNote{Location: c.p}).Validate(); (err == nil) != c.ok {
			t.Errorf("%s as the place of a note: %v", c.why, err)
		}
		_, err := New().GetFeature(t.Context(), c.p)
		if (err == nil) != c.ok {
			t.Errorf("GetFeature %s: %v", c.why, err)
		}
		if !c.ok {
			wantCode(t, "GetFeature "+c.why, err, wirelab.InvalidArgument)
		}
	}
}

func TestNotesHoldAnyTextUpToTheLimit(t *testing.T) {
	t.Parallel()
	for _, v := range edgevalues.TextsUpTo(MessageLimit) {
		if err := (RouteNote{Message: v.Value}).Validate(); err != nil {
			t.Errorf("%s, which %s: %v", v.Name, v.Why, err)
		}
	}
	for _, v := range edgevalues.BrokenTexts() {
		wantCode(t, v.Name+", which "+v.Why, RouteNote{Message: v.Value}.Validate(), wirelab.InvalidArgument)
	}
	wantCode(t, "one byte too many", RouteNote{Message: strings.Repeat("x", MessageLimit+1)}.Validate(),
		wirelab.InvalidArgument)
}

func TestDataSetIsTheSizeOfThePublishedOne(t *testing.T) {
	t.Parallel()
	features := Features()
	unnamed, points := 0, map[Point]bool{}
	for _, f := range features {
		if f.Name == "" {
			unnamed++
		}
		if err := f.Location.Validate(); err != nil {
			t.Errorf("%+v: %v", f, err)
		}
		points[f.Location] = true
	}
	if len(features) != 100 || unnamed != 36 || len(points) != 100 {
		t.Errorf("%d features, %d unnamed, at %d points; want 100, 36, 100", len(features), unnamed, len(points))
	}
	if features[0].Location != Published || features[0].Name == "" {
		t.Errorf("the first feature is %+v, want the published point with a name", features[0])
	}
	if !slices.Equal(features, Features()) {
		t.Error("two calls give two data sets")
	}
}

func TestGetFeatureKnowsEveryFeatureAndInventsNone(t *testing.T) {
	t.Parallel()
	service := New()
	for _, want := range Features() {
		if got, err := service.GetFeature(t.Context(), want.Location); err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	beside := Point{Published.Latitude + 1, Published.Longitude}
	if got, err := service.GetFeature(t.Context(), beside); err != nil || got != (Feature{Location: beside}) {
		t.Errorf("next to the published point: %+v, %v", got, err)
	}
}

func TestListFeaturesIsABruteForceFilter(t *testing.T) {
	t.Parallel()
	service, r := New(), rand.New(rand.NewPCG(1, 1))
	features := Features()
	for range 300 {
		in := Rectangle{Lo: features[r.IntN(len(features))].Location, Hi: features[r.IntN(len(features))].Location}
		var want []Feature
		for _, f := range features {
			latitudes := []int32{in.Lo.Latitude, f.Location.Latitude, in.Hi.Latitude}
			longitudes := []int32{in.Lo.Longitude, f.Location.Longitude, in.Hi.Longitude}
			slices.Sort(latitudes)
			slices.Sort(longitudes)
			if latitudes[1] == f.Location.Latitude && longitudes[1] == f.Location.Longitude {
				want = append(want, f)
			}
		}
		for _, corners := range []Rectangle{
			in,
			{Lo: in.Hi, Hi: in.Lo},
			{Lo: Point{in.Lo.Latitude, in.Hi.Longitude}, Hi: Point{in.Hi.Latitude, in.Lo.Longitude}},
		} {
			if got, err := collect(service.ListFeatures(t.Context(), corners)); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%+v: %d features, %v; want %d", corners, len(got), err, len(want))
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := collect(service.ListFeatures(ctx, Rectangle{
		Lo: Point{-LatitudeLimit, -LongitudeLimit}, Hi: Point{LatitudeLimit, LongitudeLimit},
	}))
	wantCode(t, "a list whose caller left", err, wirelab.Canceled)
}

// degrees makes a point of decimal degrees.
func degrees(latitude, longitude float64) Point {
	return Point{int32(math.Round(latitude * 1e7)), int32(math.Round(longitude * 1e7))}
}

func TestDistancesAgreeWithKnownOnes(t *testing.T) {
	t.Parallel()
	cases := []struct {
		why  string
		a, b Point
		want float64 // metres
		off  float64 // metres it may be off
	}{
		{"a point and itself", Published, Published, 0, 0},
		{"a quarter of the equator, πR/2", Point{}, degrees(0, 90), math.Pi / 2 * earthRadius, 1},
		{"pole to pole, πR", degrees(90, 0), degrees(-90, 0), math.Pi * earthRadius, 1},
		{
			"antipodes, where rounding may leave the domain of a root", degrees(12.3456789, 45),
			degrees(-12.3456789, -135),
			math.Pi * earthRadius, 1,
		},
		{"one degree of the equator", Point{}, degrees(0, 1), math.Pi / 180 * earthRadius, 1},
		{"across the date line", degrees(0, 179.5), degrees(0, -179.5), math.Pi / 180 * earthRadius, 1},
		{
			"along the parallel at 60°, shorter than half the equator's arc", degrees(60, 0), degrees(60, 90),
			earthRadius * math.Acos(math.Pow(math.Sin(math.Pi/3), 2)), 1,
		},
		// Great circle distances between cities as published, which round and
		// take places within them: half a percent covers both and the ellipsoid.
		{"London to Paris", degrees(51.5074, -0.1278), degrees(48.8566, 2.3522), 343_500, 1_700},
		{"New York to Los Angeles", degrees(40.7128, -74.0060), degrees(34.0522, -118.2437), 3_936_000, 20_000},
		{"Tokyo to Sydney", degrees(35.6762, 139.6503), degrees(-33.8688, 151.2093), 7_820_000, 39_000},
	}
	for _, c := range cases {
		there, back := float64(metres(c.a, c.b)), float64(metres(c.b, c.a))
		if math.Abs(there-c.want) > c.off || there != back {
			t.Errorf("%s: %.0f m there, %.0f m back, want %.0f ± %.0f", c.why, there, back, c.want, c.off)
		}
	}
}

func TestRecordRouteIsBounded(t *testing.T) {
	t.Parallel()
	service := New()
	poles := func(legs int) []Point {
		route := make([]Point, legs+1)
		for i := range route {
			route[i] = degrees(90-180*float64(i%2), 0)
		}
		return route
	}
	leg := metres(degrees(90, 0), degrees(-90, 0))
	most := int(math.MaxInt32 / leg) // legs that 32 bits of metres hold
	got, err := service.RecordRoute(t.Context(), stream(poles(most)...))
	if want := int32(int64(most) * leg); err != nil || got.Distance != want {
		t.Errorf("%d legs: %d m, %v; want %d", most, got.Distance, err, want)
	}
	_, err = service.RecordRoute(t.Context(), stream(poles(most+1)...))
	wantCode(t, "a distance beyond 32 bits (duh-D03)", err, wirelab.ResourceExhausted)

	longest := slices.Repeat([]Point{Published}, RouteLimit)
	got, err = service.RecordRoute(t.Context(), stream(longest...))
	if want := (RouteSummary{PointCount: RouteLimit, FeatureCount: RouteLimit}); err != nil || !got.Equal(want) {
		t.Errorf("the longest route: %v, %v; want %v", got, err, want)
	}
	_, err = service.RecordRoute(t.Context(), stream(append(longest, Published)...))
	wantCode(t, "a point too many", err, wirelab.ResourceExhausted)
	_, err = service.RecordRoute(t.Context(), stream(Published, Point{Latitude: LatitudeLimit + 1}))
	wantCode(t, "a point off Earth", err, wirelab.InvalidArgument)
}

func TestRecordRouteCountsNamedFeaturesAndSeconds(t *testing.T) {
	t.Parallel()
	features := []Feature{{"named", Point{1, 1}}, {"", Point{2, 2}}, {"shadowed", Point{1, 1}}}
	times := []time.Time{time.Unix(100, 0), time.Unix(102, 999_999_999)}
	service := NewMemory(features, func() time.Time {
		now := times[0]
		times = times[1:]
		return now
	})
	got, err := service.RecordRoute(t.Context(), stream(Point{1, 1}, Point{2, 2}, Point{3, 3}, Point{1, 1}))
	if err != nil || got.PointCount != 4 || got.FeatureCount != 2 || got.ElapsedTime != 2 {
		t.Errorf("%+v (elapsed %d), %v; want 4 points, 2 named, 2 whole seconds", got, got.ElapsedTime, err)
	}
	if f, err := service.GetFeature(t.Context(), Point{1, 1}); err != nil || f.Name != "named" {
		t.Errorf("of two features at one point the first must win: %+v, %v", f, err)
	}
}

func TestRecordRouteEndsWithItsCallersError(t *testing.T) {
	t.Parallel()
	broken := errors.New("the caller's stream broke")
	_, err := New().RecordRoute(t.Context(), func(yield func(Point, error) bool) {
		if yield(Point{}, nil) {
			yield(Point{}, broken)
		}
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want the caller's", err)
	}
}

// say sends one note and returns the replies' messages.
func say(t *testing.T, service Service, at Point, message string) []string {
	t.Helper()
	notes, err := collect(service.RouteChat(t.Context(), stream(RouteNote{at, message})))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, n := range notes {
		all = append(all, n.Message)
	}
	return all
}

func TestChatMemoryIsBounded(t *testing.T) {
	t.Parallel()
	service := NewMemory(nil, time.Now)
	var want []string
	for i := range 3 * NotesKept {
		message := fmt.Sprint("note ", i)
		want = append(want, message)
		want = want[max(0, len(want)-NotesKept):]
		if got := say(t, service, Point{7, 7}, message); !slices.Equal(got, want) {
			t.Fatalf("after %d notes: %q, want the newest %d, oldest first: %q", i+1, got, NotesKept, want)
		}
	}
	// Fill every other place but refresh 7, 7 last: it must outlive the first.
	for i := range int32(LocationsKept - 1) {
		say(t, service, Point{i, 1}, "first")
	}
	say(t, service, Point{7, 7}, "again")
	say(t, service, Point{LatitudeLimit, 1}, "one place too many")
	if got := say(t, service, Point{0, 1}, "second"); !slices.Equal(got, []string{"second"}) {
		t.Errorf("the place noted longest ago was kept (duh-D02): %q", got)
	}
	if got := say(t, service, Point{7, 7}, "last"); len(got) != NotesKept || got[NotesKept-2] != "again" {
		t.Errorf("the place noted lately was forgotten: %q", got)
	}
	if len(service.notes) != LocationsKept || service.order.Len() != LocationsKept {
		t.Errorf("%d places in the map, %d in order, want %d", len(service.notes), service.order.Len(), LocationsKept)
	}
}

func TestChatAnswersBeforeItReadsOn(t *testing.T) {
	t.Parallel()
	read := 0
	notes := func(yield func(RouteNote, error) bool) {
		for range 5 {
			read++
			if !yield(RouteNote{}, nil) {
				return
			}
		}
	}
	replies := 0
	for _, err := range New().RouteChat(t.Context(), notes) {
		if err != nil {
			t.Fatal(err)
		}
		if replies++; replies == 1+2 { // those to the first note and to the second
			break
		}
		if read > 2 {
			t.Fatalf("note %d was read before reply %d", read, replies)
		}
	}
	if read != 2 {
		t.Errorf("%d notes read, want 2", read)
	}
}

func TestChatTakesABoundedNumberOfNotes(t *testing.T) {
	t.Parallel()
	count := func(n int) (int, error) {
		replies, err := collect(New().RouteChat(t.Context(), func(yield func(RouteNote, error) bool) {
			for i := range n {
				if !yield(RouteNote{Location: Point{int32(i), 0}}, nil) {
					return
				}
			}
		}))
		return len(replies), err
	}
	if n, err := count(RouteLimit); n != RouteLimit || err != nil {
		t.Errorf("%d replies, %v", n, err)
	}
	_, err := count(RouteLimit + 1)
	wantCode(t, "a note too many", err, wirelab.ResourceExhausted)
}

func TestMemoryIsSafeForManyCallers(t *testing.T) {
	t.Parallel()
	service := New()
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			at := Point{Latitude: int32(worker)}
			for i := range 200 {
				notes, err := collect(service.RouteChat(t.Context(),
					stream(RouteNote{at, "x"}, RouteNote{Point{Longitude: 9}, "y"})))
				if err != nil || len(notes) < min(i+1, NotesKept)+1 {
					t.Errorf("caller %d, call %d: %d replies, %v", worker, i, len(notes), err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestGetFeatureAllocatesNothing(t *testing.T) {
	service, unknown := New(), Point{1, 1}
	allocs := testing.AllocsPerRun(1000, func() {
		for _, p := range []Point{Published, unknown} {
			if _, err := service.GetFeature(context.Background(), p); err != nil {
				t.Error(err)
			}
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a call; the service must not weigh on what the wires cost (duh-M05)", allocs)
	}
}

// BenchmarkGetFeature is what every cell's figures contain: it must stay below
// 200 ns, less than a hundredth of the fastest wire's call.
func BenchmarkGetFeature(b *testing.B) {
	service, features := New(), Features()
	ctx := context.Background()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := service.GetFeature(ctx, features[i%len(features)].Location); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzContract holds the domain against its own limits.
func FuzzContract(f *testing.F) {
	for _, v := range edgevalues.Int32s() {
		f.Add(v.Value, v.Value, "")
	}
	for _, v := range slices.Concat(edgevalues.Texts(), edgevalues.BrokenTexts()) {
		f.Add(int32(0), int32(0), v.Value)
	}
	f.Fuzz(func(t *testing.T, latitude, longitude int32, message string) {
		note := RouteNote{Point{latitude, longitude}, message}
		service := New()
		feature, err := service.GetFeature(t.Context(), note.Location)
		if (err == nil) != (note.Location.Validate() == nil) || err == nil && feature.Location != note.Location {
			t.Errorf("GetFeature %+v: %+v, %v", note.Location, feature, err)
		}
		replies, err := collect(service.RouteChat(t.Context(), stream(note)))
		if (err == nil) != (note.Validate() == nil) || err == nil && !slices.Equal(replies, []RouteNote{note}) {
			t.Errorf("RouteChat %+v: %+v, %v", note, replies, err)
		}
		if note.Location.Validate() != nil {
			return
		}
		if m := metres(note.Location, Published); m < 0 || float64(m) > math.Pi*earthRadius+1 {
			t.Errorf("%d m from %+v", m, note.Location)
		}
	})
}

// FuzzParse parses arbitrary requests for every operation: the result is an error or an exchange that can be asked,
// never a panic.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{"Latitude":409146138,"Longitude":-746188906}`, `{"latitude":1.5}`, `{"Latitude":2147483648}`,
		`{"Lo":{"Latitude":1},"Hi":null}`, `[{"Latitude":1},null]`, `[{"Location":{},"Message":"\ud800"}]`,
		`null`, `[]`, `{}`, `"`, `{"Unknown":1}`, `{} {}`,
	} {
		f.Add([]byte(text))
	}
	operations := Operations()
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, o := range operations {
			e, err := o.Parse(data)
			if err != nil {
				wantCode(t, o.Name, err, wirelab.InvalidArgument)
				continue
			}
			if _, err := e.Ask(t.Context(), New()); err != nil && wirelab.CodeOf(err) == wirelab.Internal {
				t.Errorf("%s %s: %v", o.Name, e.Request(), err)
			}
		}
	})
}
