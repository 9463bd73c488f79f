package bind

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"wirelab"
	"wirelab/broker/memory"
	"wirelab/workload/messaging"
)

// TestStubAnswersAsTheReference draws the same requests to both.
func TestStubAnswersAsTheReference(t *testing.T) {
	t.Parallel()
	s := &stub{broker: memory.New(), known: map[string]bool{}}
	reference := messaging.New()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		topic := fmt.Sprintf("t%d", seed)
		var all [][]byte
		for range 1 + r.IntN(20) {
			body := []byte{byte(r.Uint32()), byte(seed)}
			all = append(all, body)
			same(t, func(x messaging.Service) (any, error) {
				return x.Publish(t.Context(), messaging.Message{Topic: topic, Body: body})
			}, s, reference)
		}
		same(t, func(x messaging.Service) (any, error) {
			return x.PublishBatch(t.Context(), messaging.Batch{Topic: topic, Bodies: all})
		}, s, reference)
		for _, count := range []int{1, len(all), len(all) - 1} {
			if count == 0 {
				continue
			}
			same(t, func(x messaging.Service) (any, error) {
				var got []messaging.Delivered
				for d, err := range x.Deliver(t.Context(),
					messaging.Reading{Topic: topic, Group: readers, Count: int32(count)}) {
					if err != nil {
						return nil, err
					}
					got = append(got, d)
				}
				return got, nil
			}, s, reference)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// same checks that both answer alike.
func same(t *testing.T, ask func(messaging.Service) (any, error), got, want messaging.Service) {
	t.Helper()
	have, err := ask(got)
	wanted, wantErr := ask(want)
	if fmt.Sprint(have) != fmt.Sprint(wanted) || (err == nil) != (wantErr == nil) ||
		err != nil && wirelab.CodeOf(err) != wirelab.CodeOf(wantErr) {
		t.Errorf("%v, %v; the reference says %v, %v", have, err, wanted, wantErr)
	}
}

func TestRequestsOutsideTheContract(t *testing.T) {
	t.Parallel()
	s, reference := &stub{broker: memory.New(), known: map[string]bool{}}, messaging.New()
	for _, m := range []messaging.Message{
		{}, {Topic: "a b", Body: []byte{1}}, {Topic: "t"}, {Topic: "t", Body: make([]byte, messaging.BodyLimit+1)},
	} {
		same(t, func(x messaging.Service) (any, error) { return x.Publish(t.Context(), m) }, s, reference)
	}
	many := make([][]byte, messaging.BatchLimit+1)
	for i := range many {
		many[i] = []byte{1}
	}
	for _, b := range []messaging.Batch{{Topic: "t"}, {Topic: "t", Bodies: many}} {
		same(t, func(x messaging.Service) (any, error) { return x.PublishBatch(t.Context(), b) }, s, reference)
	}
	for _, r := range []messaging.Reading{
		{},
		{Topic: "t", Group: "g"},
		{Topic: "t", Group: "g", Count: messaging.ReadingLimit + 1},
		{Topic: "t", Group: "?", Count: 1},
	} {
		same(t, func(x messaging.Service) (any, error) { return first(t.Context(), x, r) }, s, reference)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	same(t, func(x messaging.Service) (any, error) {
		return first(ctx, x, messaging.Reading{Topic: "empty", Group: "g", Count: 1})
	}, s, reference)
}

func first(ctx context.Context, x messaging.Service, r messaging.Reading) (any, error) {
	for d, err := range x.Deliver(ctx, r) {
		return d, err
	}
	return nil, nil
}
