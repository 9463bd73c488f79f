package wirelab_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"wirelab"
)

// parcel is the request of the toy depot.
type parcel struct{ ID string }

// slip is its reply, which says that the parcel was accepted.
type slip struct{}

func (slip) Equal(slip) bool { return true }

// depot records the parcels it received.
type depot struct {
	handed *[]string
	fail   error
}

func (d depot) Hand(_ context.Context, p parcel) (slip, error) {
	*d.handed = append(*d.handed, p.ID)
	return slip{}, d.fail
}

// depots returns a client of a depot that answers with fail.
func depots(t *testing.T, handed *[]string, fail error) wirelab.Client {
	t.Helper()
	draw := func(r *rand.Rand) parcel { return parcel{strconv.FormatUint(r.Uint64(), 36)} }
	work := wirelab.Workload[depot]{
		Name: "depot", New: func() depot { return depot{handed: new([]string)} },
		Operations: []wirelab.Operation[depot]{
			wirelab.Following("Hand", draw, depot.Hand, func(p parcel) string { return p.ID }),
			wirelab.Unary("Drop", draw, depot.Hand).Once(),
		},
		Bindings: []wirelab.Binding[depot]{{
			Servers: []wirelab.Server[depot]{{}},
			Clients: []wirelab.Dialer[depot]{{Dial: func(context.Context, wirelab.Dialing) (depot, io.Closer, error) {
				return depot{handed, fail}, io.NopCloser(nil), nil
			}}},
		}},
	}.Erase()
	if o := work.Operations; !o[0].Followed || o[1].Followed ||
		!slices.Equal(work.Cells[0].Fresh, []string{"Hand", "Drop"}) {
		t.Errorf("%+v, fresh %v; want the first followed, and both fresh", o, work.Cells[0].Fresh)
	}
	client, err := work.Cells[0].Dial(t.Context(), wirelab.Dialing{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestFollowNamesWhatWasHandedOver checks that Follow returns the id of a call whether it succeeded or not, and
// that a seed gives the same requests with and without Follow.
func TestFollowNamesWhatWasHandedOver(t *testing.T) {
	t.Parallel()
	for _, fail := range []error{nil, wirelab.Errorf(wirelab.Unavailable, "closed")} {
		var handed, plain, named []string
		call, last, err := depots(t, &handed, fail).Follow("Hand", "", 7)
		if err != nil {
			t.Fatal(err)
		}
		unfollowed, err := depots(t, &plain, fail).Caller("Hand", "", 7)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if err := call(t.Context()); !errors.Is(err, fail) {
				t.Errorf("%v, want %v", err, fail)
			}
			named = append(named, last())
			_ = unfollowed(t.Context()) // fails as the other does
		}
		slices.Sort(named)
		if len(slices.Compact(named)) != 5 {
			t.Errorf("%d names for 5", len(named))
		}
		slices.Sort(handed)
		slices.Sort(plain)
		if !slices.Equal(named, handed) || !slices.Equal(handed, plain) {
			t.Errorf("named %v, handed over %v, and %v unfollowed", named, handed, plain)
		}
	}
}

func TestFollowRefuses(t *testing.T) {
	t.Parallel()
	client := depots(t, new([]string), nil)
	for _, c := range []struct{ operation, requests, want string }{
		{"Drop", "", "has no id"},
		{"Hnad", "", `unknown operation "Hnad"`},
		{"Hand", "all", `no requests "all"`},
	} {
		if _, _, err := client.Follow(c.operation, c.requests, 1); wirelab.CodeOf(err) != wirelab.InvalidArgument {
			t.Errorf("%s %s: %v, want %s", c.operation, c.requests, err, c.want)
		}
	}
}
