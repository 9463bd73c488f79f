package frame_test

import (
	"bytes"
	"math"
	"testing"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes"
	"wirelab/hermes/frame"
	pb "wirelab/hermes/gen"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// marshal is a message of the generated code on the wire.
func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func wire(f frame.Frame) []byte { return f.Buffers().Materialize() }

// messages is that many messages in the form of a run.
func messages(n int) []byte {
	var b []byte
	for i := range n {
		b = record.AppendMessage(b, &hermes.Message{
			Payload: bytes.Repeat([]byte{byte(i)}, i), Key: []byte("k"),
			Headers: []hermes.Header{{Name: "n", Value: []byte{0}}},
		})
	}
	return b
}

// Bytes written here, generated code reads, and the other way round.
func TestFramesAreTheProtocol(t *testing.T) {
	t.Parallel()
	run := frame.Run{
		Topic: "a.b", Messages: messages(3), Mode: hermes.Eventual, Producer: math.MaxUint64,
		Sequence: 1 << 53, Tag: 7,
	}
	var r pb.Run
	if err := proto.Unmarshal(wire(&run), &r); err != nil {
		t.Fatal(err)
	}
	if r.GetTopic() != run.Topic || len(r.GetMessages()) != 3 || r.GetMode() != pb.Mode_MODE_EVENTUAL ||
		r.GetProducer() != run.Producer || r.GetSequence() != run.Sequence || r.GetTag() != 7 {
		t.Errorf("run read as %v", &r)
	}
	back, err := frame.ParseRun(marshal(t, &r))
	if err != nil || back.Topic != run.Topic || !bytes.Equal(back.Messages, run.Messages) || back.Mode != run.Mode ||
		back.Producer != run.Producer || back.Sequence != run.Sequence || back.Tag != run.Tag {
		t.Errorf("run came back as %+v, %v", back, err)
	}

	d := frame.Delivery{
		Offset: 1 << 60, Messages: messages(2), Time: -1, Attempt: 5, Live: true, Settled: 9,
		Late: []frame.Range{{First: 0, Last: 3}, {First: 7, Last: 7}},
	}
	var p pb.Delivery
	if err := proto.Unmarshal(wire(&d), &p); err != nil {
		t.Fatal(err)
	}
	got, err := frame.ParseDelivery(marshal(t, &p))
	if err != nil || got.Offset != d.Offset || !bytes.Equal(got.Messages, d.Messages) || got.Time != -1 ||
		got.Attempt != 5 || !got.Live || got.Settled != 9 {
		t.Errorf("delivery came back as %+v, %v", got, err)
	}

	for _, r := range []frame.Receipt{
		{},
		{
			Offset: math.MaxUint64, Time: -1, Duplicate: true, Provisional: true, Term: 2,
			Index: 3,
		},
	} {
		var p pb.PublishReply
		if err := proto.Unmarshal(wire(&r), &p); err != nil {
			t.Fatal(err)
		}
		if p.GetOffset() != r.Offset || p.GetTime() != r.Time || p.GetDuplicate() != r.Duplicate ||
			p.GetProvisional() != r.Provisional ||
			p.GetTerm() != r.Term || p.GetIndex() != r.Index {
			t.Errorf("%+v read as %v", r, &p)
		}
	}

	all := frame.Verdicts{
		{
			Tag: 1, Offset: math.MaxUint64, Count: math.MaxUint32, Time: math.MinInt64, Duplicate: true,
			Provisional: true,
			Term:        2, Index: 3,
		},
		{Tag: 2, Failed: true, Code: "not_found", Message: "é\x00", Leader: "h:1"},
		{Tag: 3, Failed: true},
		{Tag: 4, Leader: "h:2"},
		{},
	}
	var vs pb.Verdicts
	if err := proto.Unmarshal(wire(all), &vs); err != nil {
		t.Fatal(err)
	}
	verdicts, err := frame.ParseVerdicts(marshal(t, &vs), nil)
	if err != nil || len(verdicts) != len(all) {
		t.Fatalf("%d verdicts, %v", len(verdicts), err)
	}
	for i := range all {
		if verdicts[i] != all[i] {
			t.Errorf("verdict %d came back as %+v, not %+v", i, verdicts[i], all[i])
		}
	}
}

func TestRuns(t *testing.T) {
	t.Parallel()
	b := wire(frame.Runs{{Topic: "a", Messages: messages(1), Tag: 1}, {}, {Topic: "b", Messages: messages(9), Tag: 2}})
	var r pb.Runs
	if err := proto.Unmarshal(b, &r); err != nil || len(r.GetRuns()) != 3 || len(r.GetRuns()[2].GetMessages()) != 9 {
		t.Fatalf("runs read as %v, %v", &r, err)
	}
	var batch pb.PublishBatchRequest
	if err := proto.Unmarshal(b, &batch); err != nil || !proto.Equal(batch.GetRuns()[2], r.GetRuns()[2]) {
		t.Fatalf("a batch read as %v, %v", &batch, err)
	}
	runs, err := frame.ParseRuns(marshal(t, &r), 3, nil)
	if err != nil || len(runs) != 3 || runs[2].Topic != "b" || !bytes.Equal(runs[2].Messages, messages(9)) {
		t.Errorf("runs came back as %+v, %v", runs, err)
	}
	if _, err := frame.ParseRuns(b, 2, nil); status.CodeOf(err) != status.InvalidArgument {
		t.Errorf("three runs where two are allowed: %v", err)
	}
}

// Messages that lie apart in a frame are put together, in their order.
func TestMessagesApart(t *testing.T) {
	t.Parallel()
	three := messages(3)
	first := three[:len(three)-len(record.Skip(three, 1))]
	b := append([]byte{}, first...)
	b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), "t")
	b = append(b, three[len(first):]...)
	b = protowire.AppendVarint(protowire.AppendTag(b, 99, protowire.VarintType), 1) // unknown
	r, err := frame.ParseRun(b)
	if err != nil || r.Topic != "t" || !bytes.Equal(r.Messages, three) {
		t.Errorf("%+v, %v", r, err)
	}
	if n, err := record.Check(r.Messages); n != 3 || err != nil {
		t.Errorf("%d messages, %v", n, err)
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		b    []byte
	}{
		{"a tag without an end", []byte{0x80}},
		{"field 0", []byte{0x00, 0x01}},
		{"a length beyond the frame", []byte{0x12, 0x05, 1}},
		{"a length that is negative", []byte{0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}},
		{"messages that are a number", []byte{0x10, 0x01}},
		{"a message with a long tag", []byte{0x92, 0x00, 0x00}},
		{"a topic that is a number", []byte{0x08, 0x01}},
		{"a mode that is bytes", []byte{0x1a, 0x00}},
		{"an end of a group that has no beginning", []byte{0x0c}},
		{"wire type 7", []byte{0x0f}},
	} {
		if _, err := frame.ParseRun(c.b); err == nil || status.CodeOf(err) != status.InvalidArgument {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if r, err := frame.ParseRun([]byte{0x18, 0x80, 0x02}); err != nil || r.Mode <= hermes.Performance {
		t.Errorf("mode 256 was read as %d, %v (hb-D27)", r.Mode, err)
	}
}

func TestCodec(t *testing.T) {
	t.Parallel()
	var c encoding.CodecV2 = frame.Codec{}
	in := &pb.GetTopicRequest{Name: "x", Linearizable: true}
	b, err := c.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	out := &pb.GetTopicRequest{}
	if err := c.Unmarshal(b, out); err != nil || !proto.Equal(in, out) {
		t.Errorf("%v, %v", out, err)
	}
	halves := mem.BufferSlice{mem.SliceBuffer("ab"), mem.SliceBuffer("cd")}
	var raw frame.Raw
	if err := c.Unmarshal(halves, &raw); err != nil || string(raw) != "abcd" {
		t.Errorf("%q, %v", raw, err)
	}
	if halves[0].ReadOnlyData()[0] = 'x'; raw[0] != 'a' {
		t.Error("what was received is part of a buffer that is used again")
	}
	if _, err := c.Marshal(1); err == nil {
		t.Error("a number is no message")
	}
}

// A run's messages are sent from where they are.
func TestNothingIsCopied(t *testing.T) {
	t.Parallel()
	m := messages(100)
	for _, f := range []frame.Frame{
		&frame.Run{Topic: "t", Messages: m},
		frame.Runs{{}, {Topic: "t", Messages: m}},
		&frame.Delivery{Offset: 1, Messages: m},
	} {
		buffers := f.Buffers()
		if last := buffers[len(buffers)-1].ReadOnlyData(); &last[0] != &m[0] || len(last) != len(m) {
			t.Errorf("%T copies its messages", f)
		}
	}
	whole := wire(&frame.Run{Topic: "t", Messages: m})
	r, err := frame.ParseRun(whole)
	if err != nil || &r.Messages[0] != &whole[len(whole)-len(m)] {
		t.Errorf("ParseRun copies the messages, %v", err)
	}
}
