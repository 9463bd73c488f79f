package bind

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"wirelab"
	"wirelab/wire/codec"
	"wirelab/workload/logging"
	"wirelab/workload/logging/gen"
)

// FuzzMessages: bytes of any kind are read, or refused, by every conversion, and
// what was read is written as it was read.
func FuzzMessages(f *testing.F) {
	at := time.Unix(1_700_000_000, 1000).UTC()
	stored := logging.Stored{Entry: logging.Entry{ID: "a", Name: "n", Data: "d"}, Position: 7, At: at}
	for _, m := range []proto.Message{
		entryToProto(stored.Entry), writtenToProto(logging.Written{ID: "a"}), storedToProto(stored),
		listToProto(logging.EntryList{Entries: []logging.Stored{stored, {}}, Next: 7}),
		queryToProto(logging.Query{Name: "n", Since: at, Until: at, Before: 5, Limit: 6}),
		retentionToProto(logging.Retention{Before: at}), deletedToProto(logging.Deleted{Count: 3}),
		&gen.LogRequest{}, &gen.LogRequest{LogEntry: &gen.Log{}}, &gen.StoredEntry{StoredAt: "yesterday"},
	} {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		reread(t, data, &gen.LogRequest{}, entryFromProto, entryToProto)
		reread(t, data, &gen.StoredEntry{}, storedFromProto, storedToProto)
		reread(t, data, &gen.ListEntriesResponse{}, listFromProto, listToProto)
		reread(t, data, &gen.ListEntriesRequest{}, queryFromProto, queryToProto)
		reread(t, data, &gen.DeleteEntriesRequest{}, retentionFromProto, retentionToProto)
	})
}

// reread decodes data to a message and the message to a value, encodes the value, and checks that decoding and
// encoding that again gives the same.
func reread[T any, M proto.Message](t *testing.T, data []byte, m M, from func(M) (T, error), to func(T) M) {
	t.Helper()
	if proto.Unmarshal(data, m) != nil {
		return
	}
	v, err := from(m)
	if err != nil {
		if wirelab.CodeOf(err) != wirelab.InvalidArgument {
			t.Fatal(err)
		}
		return
	}
	// A time past the years that are is written as none that is read: no
	// contract takes it.
	back, err := from(to(v))
	if err == nil && !proto.Equal(to(back), to(v)) {
		t.Fatalf("%v is written and read as %v", v, back)
	}
}

// An entry that is not there is not one of nothing (ms-D01), and a reply whose
// time cannot be read is the server's fault.
func TestMessagesThatSayNothing(t *testing.T) {
	t.Parallel()
	for _, m := range []*gen.LogRequest{nil, {}} {
		if e, err := entryFromProto(m); err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument {
			t.Errorf("%v is read as %+v, %v", m, e, err)
		}
	}
	if s, err := codec.Read(storedFromProto(&gen.StoredEntry{StoredAt: "?"})); err == nil ||
		wirelab.CodeOf(err) != wirelab.Internal {
		t.Errorf("read is %+v, %v", s, err)
	}
	if l, err := codec.Read(listFromProto(&gen.ListEntriesResponse{Entries: []*gen.StoredEntry{
		nil, {StoredAt: "?"},
	}})); err == nil {
		t.Errorf("read is %+v", l)
	}
	if w, err := writtenFromJSON(writtenJSON{Error: true, Message: "why"}); err == nil ||
		wirelab.CodeOf(err) != wirelab.Internal {
		t.Errorf("an envelope that contradicts its status is read as %+v, %v", w, err)
	}
}
