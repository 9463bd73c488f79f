package node_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"wirelab/hermes/broker"
	"wirelab/hermes/node"
	"wirelab/hermes/vfs"
	"wirelab/hermes/wal"
)

// contents are a file's bytes.
func contents(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.OpenRead("/hermes/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, sizeOf(t, fs, name))
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

// put writes a file anew.
func put(t *testing.T, fs vfs.FS, name string, b []byte) {
	t.Helper()
	if err := fs.Remove("/hermes/" + name); err != nil {
		t.Fatal(err)
	}
	f, err := fs.Create("/hermes/"+name, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
}

// TestMembershipDamage: of the membership file of members no bit may be another one, but for those of the name
// of its checksum; a membership file of a version before is read, and gets one.
func TestMembershipDamage(t *testing.T) {
	fs := vfs.NewMemory()
	o := options(fs)
	n := start(t, o)
	create(t, n, broker.Topic{Name: "a"})
	publish(t, n, "a", "0")
	until(t, "the book is kept", func() bool {
		return strings.Contains(string(contents(t, fs, "members.json")),
			`"Stored": true`)
	})
	stop(t, n)
	const name = "members.json"
	whole := contents(t, fs, name)
	for at := range whole {
		for bit := range 8 {
			flipBit(t, fs, name, int64(at), bit)
			c, err := node.Check(t.Context(), fs, "/hermes", nil)
			if err != nil {
				t.Fatal(err)
			}
			bad := slices.ContainsFunc(c.Findings, func(f wal.Finding) bool { return f.Kind == node.WrongMembership })
			if ofName := at > 2 && at < 8; !bad && !ofName {
				t.Errorf("bit %d of byte %d of %q is not missed", bit, at, whole)
			}
			flipBit(t, fs, name, int64(at), bit)
		}
	}
	flipBit(t, fs, name, int64(bytes.Index(whole, []byte("Birth"))+9), 0)
	if _, err := node.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "another id") {
		t.Errorf("a damaged book is taken: %v", err)
	}

	var page map[string]any
	d := json.NewDecoder(bytes.NewReader(whole))
	d.UseNumber()
	if err := d.Decode(&page); err != nil {
		t.Fatal(err)
	}
	delete(page, "Sum")
	old, err := json.MarshalIndent(page, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	put(t, fs, name, old)
	n = start(t, o)
	stop(t, n)
	if got := contents(t, fs, name); !bytes.HasPrefix(got, []byte("{\n\t\"Sum\": \"")) {
		t.Errorf("the book is %s", got)
	}
}
