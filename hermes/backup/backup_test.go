package backup_test

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"wirelab/hermes"
	"wirelab/hermes/backup"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

func messages(payloads ...string) (b []byte) {
	for _, p := range payloads {
		b = record.AppendMessage(b, &hermes.Message{Payload: []byte(p), Key: []byte("k")})
	}
	return b
}

var wanted = []backup.Item{
	{Topic: &broker.Topic{Name: "a", First: 5, Next: 12, Created: 3, RetentionAge: 4, RetentionBytes: 1 << 40}},
	{Group: &broker.Group{Topic: "a", Name: "g", AckTimeout: 9, MaxAttempts: 5, Floor: 6, Acked: []broker.Range{
		{First: 8, Last: 8}, {First: 10, Last: 11},
	}, Dead: 2}},
	{Run: &broker.Batch{Offset: 5, Count: 2, Time: 100, Messages: messages("one", "two")}},
	{Run: &broker.Batch{Offset: 9, Count: 3, Time: 101, Messages: messages("", "four", "five")}},
	{Topic: &broker.Topic{Name: "b"}},
}

// written is a file of the wanted parts.
func written(t testing.TB) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := backup.NewWriter(&file, backup.Cut{Index: 77, Time: 1234})
	for _, item := range wanted {
		switch {
		case err != nil:
		case item.Topic != nil:
			err = w.Topic(*item.Topic)
		case item.Group != nil:
			err = w.Group(*item.Group)
		default:
			err = w.Run(*item.Run)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func nothing(backup.Item) error { return nil }

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	var got []backup.Item
	totals, err := backup.Read(bytes.NewReader(written(t)), func(item backup.Item) error {
		if item.Run != nil {
			item.Run.Messages = slices.Clone(item.Run.Messages)
		}
		got = append(got, item)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, wanted) {
		t.Errorf("%+v", got)
	}
	want := backup.Totals{Cut: backup.Cut{Index: 77, Time: 1234}, Topics: 2, Groups: 1, Messages: 5}
	want.Bytes = uint64(len(wanted[2].Run.Messages) + len(wanted[3].Run.Messages))
	if totals != want {
		t.Errorf("%+v, want %+v", totals, want)
	}
}

// Cut off anywhere, with any bit flipped, or with something behind it, a file is refused.
func TestDamage(t *testing.T) {
	t.Parallel()
	whole := written(t)
	refused := func(what string, at int, file []byte) {
		code := status.CodeOf(func() error { _, err := backup.Read(bytes.NewReader(file), nothing); return err }())
		if code != status.InvalidArgument && code != status.Unimplemented {
			t.Errorf("%s at byte %d: code %v", what, at, code)
		}
	}
	for at := range whole {
		refused("cut off", at, whole[:at])
		for bit := range 8 {
			flipped := slices.Clone(whole)
			flipped[at] ^= 1 << bit
			refused("flipped", at, flipped)
		}
	}
	refused("longer", len(whole), append(slices.Clone(whole), 0))
	refused("twice", len(whole), append(slices.Clone(whole), whole...))
}

func FuzzRead(f *testing.F) {
	f.Add(written(f))
	f.Fuzz(func(t *testing.T, file []byte) {
		_, _ = backup.Read(bytes.NewReader(file), func(item backup.Item) error {
			if item == (backup.Item{}) {
				t.Error("an item of nothing")
			}
			return nil
		})
	})
}
