package experiment

import (
	"reflect"
	"testing"

	"wirelab/lab/result"
)

// Server and driver never share a core if there are two.
func TestPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cores [][]int
		given int // to the driver
		want  result.Placement
	}{
		"two cores": {
			[][]int{{0}, {1}},
			0,
			result.Placement{DriverCPUs: []int{0}, ServerCPUs: []int{1}},
		},
		"four cores of two threads": {
			[][]int{{0, 4}, {1, 5}, {2, 6}, {3, 7}},
			0,
			result.Placement{DriverCPUs: []int{0, 1, 4, 5}, ServerCPUs: []int{2, 3, 6, 7}},
		},
		"three cores": {
			[][]int{{0}, {1}, {2}},
			0,
			result.Placement{DriverCPUs: []int{0}, ServerCPUs: []int{1, 2}},
		},
		"one core of two threads": {[][]int{{0, 1}}, 0, result.Placement{DriverCPUs: []int{0}, ServerCPUs: []int{1}}},
		"one core":                {[][]int{{3}}, 0, result.Placement{}},
		"one of four given": {
			[][]int{{0}, {1}, {2}, {3}},
			1,
			result.Placement{DriverCPUs: []int{0}, ServerCPUs: []int{1, 2, 3}},
		},
		"more given than can be": {
			[][]int{{0}, {1}},
			3,
			result.Placement{DriverCPUs: []int{0}, ServerCPUs: []int{1}},
		},
		"none known": {nil, 0, result.Placement{}},
	} {
		if got := place(c.cores, c.given); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A private database gets half of the server's cores, or shares its only core, and never uses the driver's.
func TestPlaceDatabase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cores [][]int
		want  result.Placement
	}{
		"two cores": {
			[][]int{{0}, {1}},
			result.Placement{DriverCPUs: []int{0}, ServerCPUs: []int{1}, DatabaseCPUs: []int{1}},
		},
		"three cores": {
			[][]int{{0}, {1}, {2}},
			result.Placement{DriverCPUs: []int{0}, ServerCPUs: []int{1}, DatabaseCPUs: []int{2}},
		},
		"four cores of two threads": {
			[][]int{{0, 4}, {1, 5}, {2, 6}, {3, 7}},
			result.Placement{DriverCPUs: []int{0, 1, 4, 5}, ServerCPUs: []int{2, 6}, DatabaseCPUs: []int{3, 7}},
		},
		"one core of two threads": {
			[][]int{{0, 1}},
			result.Placement{DriverCPUs: []int{0}, ServerCPUs: []int{1}, DatabaseCPUs: []int{1}},
		},
	} {
		if got := placeDatabase(place(c.cores, 0), c.cores); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
