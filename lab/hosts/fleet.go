package hosts

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"wirelab"
	"wirelab/lab/probe"
)

// Fleet is a runner's side: the hosts that joined, as it sees them.
type Fleet struct {
	Build Build // of the runner

	nc *nats.Conn
}

// NewFleet returns the fleet behind a connection, which [Fleet.Close] closes.
func NewFleet(nc *nats.Conn, b Build) *Fleet { return &Fleet{Build: b, nc: nc} }

// Close closes the connection. A nil fleet has none.
func (f *Fleet) Close() {
	if f != nil {
		f.nc.Close()
	}
}

// gatherTime is how long hosts are waited for that answer a question to all.
const gatherTime = 500 * time.Millisecond

// flush waits until NATS has all that was sent to it.
func flush(ctx context.Context, nc *nats.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, Lease)
	defer cancel()
	if err := nc.FlushWithContext(ctx); err != nil {
		return wirelab.Errorf(wirelab.Unavailable, "NATS does not answer: %v", err)
	}
	return nil
}

// gather asks all hosts and waits for their answers: there is no list of who is there, so that time must tell.
func gather(ctx context.Context, nc *nats.Conn, subject string, wait time.Duration) (all []Info, err error) {
	inbox := nats.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	if err := nc.PublishRequest(subject, inbox, nil); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		m, err := sub.NextMsgWithContext(ctx)
		switch {
		case errors.Is(err, nats.ErrNoResponders):
			return nil, nil
		case errors.Is(err, context.DeadlineExceeded):
			slices.SortFunc(all, func(a, b Info) int { return cmp.Compare(a.Name, b.Name) })
			return all, nil
		case err != nil:
			return nil, err
		}
		var a answer
		var info Info
		if err = json.Unmarshal(m.Data, &a); err == nil {
			err = json.Unmarshal(a.Said, &info)
		}
		if err != nil {
			return nil, fmt.Errorf("what a host told about itself: %w", err)
		}
		all = append(all, info)
	}
}

// List returns the hosts that are there, by name.
func (f *Fleet) List(ctx context.Context) ([]Info, error) {
	if err := flush(ctx, f.nc); err != nil {
		return nil, err
	}
	return gather(ctx, f.nc, everyHost, gatherTime)
}

// request asks one host, and returns an error that names it where it does not answer.
func (f *Fleet) request(ctx context.Context, host, subject string, value any) (answer, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return answer{}, err
	}
	return f.exchange(ctx, host, subject, data)
}

func (f *Fleet) exchange(ctx context.Context, host, subject string, data []byte) (a answer, err error) {
	if most := f.nc.MaxPayload(); most > 0 && int64(len(data)) > most {
		return a, wirelab.Errorf(wirelab.ResourceExhausted,
			"an order of %d bytes for host %s is too long for this NATS server: raise its max_payload from %d",
			len(data), host, most)
	}
	m, err := f.nc.RequestWithContext(ctx, subject, data)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return a, wirelab.Errorf(wirelab.Unavailable, "host %s is gone", host)
	case errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrDisconnected):
		return a, wirelab.Errorf(wirelab.Unavailable, "host %s cannot be reached: NATS is gone", host)
	case err != nil:
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return a, fmt.Errorf("host %s: %w", host, err)
	}
	if err := json.Unmarshal(m.Data, &a); err != nil {
		return a, fmt.Errorf("host %s sent a reply that cannot be read: %w", host, err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// Clock reads the clock of a host by so many round trips.
func (f *Fleet) Clock(ctx context.Context, host string, trips int) (Clock, error) {
	pings := make([]ping, 0, trips)
	for range trips {
		ctx, cancel := context.WithTimeout(ctx, Lease)
		sent := time.Now()
		m, err := f.nc.RequestWithContext(ctx, hostSubject(host, "clock"), nil)
		took := time.Since(sent)
		cancel()
		if err != nil {
			return Clock{}, wirelab.Errorf(wirelab.Unavailable, "host %s does not tell its time: %v", host, err)
		}
		read, err := strconv.ParseInt(string(m.Data), 10, 64)
		if err != nil {
			return Clock{}, fmt.Errorf("the time of host %s: %w", host, err)
		}
		pings = append(pings, ping{sent, took, read})
	}
	return clockOf(pings), nil
}

// clocks reads those of several hosts at once.
func (f *Fleet) clocks(ctx context.Context, hosts []string, trips int) ([]Clock, error) {
	all, failures := make([]Clock, len(hosts)), make([]error, len(hosts))
	var reading sync.WaitGroup
	for i, host := range hosts {
		reading.Go(func() { all[i], failures[i] = f.Clock(ctx, host, trips) })
	}
	reading.Wait()
	return all, errors.Join(failures...)
}

// noise adds up what the processors of these hosts did so far, each machine once.
func (f *Fleet) noise(hosts []Info) (sum probe.CPUTimes, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), Lease)
	defer cancel()
	seen := map[string]bool{}
	for _, h := range hosts {
		if seen[h.Machine] {
			continue
		}
		seen[h.Machine] = true
		a, err := f.request(ctx, h.Name, hostSubject(h.Name, "noise"), nil)
		if err != nil {
			return sum, err
		}
		var one probe.CPUTimes
		if err := json.Unmarshal(a.Said, &one); err != nil {
			return sum, fmt.Errorf("what the processors of host %s did: %w", h.Name, err)
		}
		sum.Busy += one.Busy
		sum.Steal += one.Steal
		sum.CPUs += one.CPUs
		sum.CPUPressure = worse(sum.CPUPressure, one.CPUPressure)
		sum.IOPressure = worse(sum.IOPressure, one.IOPressure)
		sum.Throttled = worse(sum.Throttled, one.Throttled)
	}
	sum.At = time.Now() // the hosts' clocks differ from ours
	return sum, nil
}

// worse adds two times of which a negative one is not known.
func worse(a, b time.Duration) time.Duration { return max(a, 0) + max(b, 0) }

// Choose returns the hosts of these names, or all that have the role where none is named.
func Choose(all []Info, names []string, r Role) (chosen []Info, err error) {
	var there []string
	for _, h := range all {
		if h.plays(r) {
			there = append(there, h.Name)
			if len(names) == 0 {
				chosen = append(chosen, h)
			}
		}
	}
	for i, name := range names {
		at := slices.IndexFunc(all, func(h Info) bool { return h.Name == name && h.plays(r) })
		if at < 0 {
			return nil, wirelab.Errorf(wirelab.NotFound, "no host %s joined as a %s; there are: %s", name, r,
				cmp.Or(strings.Join(there, ", "), "none"))
		}
		if slices.Contains(names[:i], name) {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "host %s is named twice as a %s", name, r)
		}
		chosen = append(chosen, all[at])
	}
	if len(chosen) == 0 {
		return nil, wirelab.Errorf(wirelab.NotFound,
			"no host joined as a %s: run wirelab host --role %s on a machine", r, r)
	}
	return chosen, nil
}

// newID names a child.
func newID() string {
	var id [12]byte
	_, _ = rand.Read(id[:]) // it never fails
	return hex.EncodeToString(id[:])
}
