package frame_test

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"

	"wirelab/hermes/frame"
	pb "wirelab/hermes/gen"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// seeds are whole frames and damaged ones.
func seeds(f *testing.F) {
	for _, b := range [][]byte{
		nil,
		{0x12},
		{0x12, 0x00},
		{0x92, 0x00, 0x00},
		{0x0b, 0x0c},
		wire(&frame.Run{Topic: "t", Messages: messages(3), Mode: 1, Producer: 1, Sequence: 2, Tag: 3}),
		wire(&frame.Delivery{Offset: 1, Messages: messages(2), Time: 5, Attempt: 1, Live: true}),
		wire(frame.Verdicts{
			{Tag: 1, Offset: 2, Count: 3, Time: 4, Duplicate: true},
			{
				Tag: 2, Failed: true, Code: "internal",
				Message: "m", Leader: "l",
			},
		}),
		wire(frame.Runs{{Topic: "a", Messages: messages(1)}, {Topic: "b", Tag: 9}}),
	} {
		f.Add(b)
		if len(b) > 3 {
			f.Add(b[:len(b)-1])
			f.Add(append(b[2:len(b):len(b)], b...))
		}
	}
}

func coded(t *testing.T, err error) {
	t.Helper()
	if status.CodeOf(err) != status.InvalidArgument {
		t.Fatalf("a malformed frame is %v", err)
	}
}

// What ParseRun accepts, and record.Check after it, generated code accepts and reads alike.
func FuzzParseRun(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := frame.ParseRun(b)
		if err != nil {
			coded(t, err)
			return
		}
		count, err := record.Check(r.Messages)
		var p pb.Run
		if err != nil || proto.Unmarshal(b, &p) != nil {
			return // a topic may not be UTF-8: the API refuses it
		}
		if len(p.GetMessages()) != count || p.GetTopic() != r.Topic || p.GetTag() != r.Tag ||
			p.GetProducer() != r.Producer ||
			p.GetSequence() != r.Sequence {
			t.Fatalf("%+v of %d messages, but %v", r, count, &p)
		}
		back, err := frame.ParseRun(wire(&r))
		if err != nil || !bytes.Equal(back.Messages, r.Messages) || back.Topic != r.Topic || back.Mode != r.Mode ||
			back.Tag != r.Tag {
			t.Fatalf("%+v came back as %+v, %v", r, back, err)
		}
	})
}

func FuzzParseRuns(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		runs, err := frame.ParseRuns(b, 8, nil)
		if err != nil {
			coded(t, err)
			return
		}
		var p pb.PublishBatchRequest
		if proto.Unmarshal(b, &p) == nil && len(p.GetRuns()) != len(runs) {
			t.Fatalf("%d runs, but %v", len(runs), &p)
		}
	})
}

func FuzzParseDelivery(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := frame.ParseDelivery(b)
		if err != nil {
			coded(t, err)
			return
		}
		var p pb.Delivery
		if proto.Unmarshal(b, &p) == nil && (p.GetOffset() != d.Offset || p.GetTime() != d.Time ||
			p.GetAttempt() != d.Attempt || p.GetLive() != d.Live || p.GetSettled() != d.Settled) {
			t.Fatalf("%+v, but %v", d, &p)
		}
	})
}

func FuzzParseVerdicts(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := frame.ParseVerdicts(b, nil)
		if err != nil {
			coded(t, err)
			return
		}
		var p pb.Verdicts
		if proto.Unmarshal(b, &p) != nil {
			return
		}
		for i, v := range p.GetVerdicts() {
			if all[i].Tag != v.GetTag() || all[i].Count != v.GetCount() || all[i].Failed != (v.GetError() != nil) ||
				all[i].Code != v.GetError().GetCode() {
				t.Fatalf("%+v, but %v", all[i], v)
			}
		}
	})
}
