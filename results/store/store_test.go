package store_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/result"
	"wirelab/results/store"
	"wirelab/results/store/storetest"
)

func TestNewID(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	at := time.Date(2026, 11, 21, 16, 5, 12, 0, time.FixedZone("", 2*3600))
	id := store.NewID(at, r)
	if !strings.HasPrefix(id, "r-20261121-140512-") || len(id) != len("r-20261121-140512-7f3a") {
		t.Errorf("id %q is not of the time in UTC", id)
	}
	sample := storetest.Sample(0)
	sample.ID = id
	if err := store.Check(sample); err != nil {
		t.Errorf("a new id is refused: %v", err)
	}
	if again := store.NewID(at, r); again == id {
		t.Error("two ids of one second are equal")
	}
}

func TestDefaultPath(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"set": {
			map[string]string{"WIRELAB_STORE": "x.db", "XDG_DATA_HOME": "/data", "HOME": "/home"},
			"x.db",
		},
		"XDG": {map[string]string{"XDG_DATA_HOME": "/data", "HOME": "/home"}, "/data/wirelab/results.db"},
		"XDG, not absolute": {
			map[string]string{"XDG_DATA_HOME": "data", "HOME": "/home"},
			"/home/.local/share/wirelab/results.db",
		},
		"home":    {map[string]string{"HOME": "/home"}, "/home/.local/share/wirelab/results.db"},
		"nothing": {nil, ""},
	} {
		got, err := store.DefaultPath(func(key string) string { return c.env[key] })
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestRescueNeverReplacesAFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "directory")
	r := storetest.Sample(3)
	var paths []string
	for range 3 {
		path, err := store.Rescue(dir, r)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, filepath.Base(path))
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		back, err := store.Decode(rescued(t, data))
		if err != nil {
			t.Fatal(err)
		}
		written, err := store.Encode(back)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := store.Encode(r); err != nil || !bytes.Equal(written, want) {
			t.Errorf("%s: not what was rescued: %v", path, err)
		}
	}
	if want := r.ID + ".json " + r.ID + "-2.json " + r.ID + "-3.json"; strings.Join(paths, " ") != want {
		t.Errorf("paths %q, want %q", paths, want)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 {
		t.Errorf("left in the directory: %v, %v", left, err)
	}
	// Even what no store takes is kept, and its id leads nowhere.
	r.ID = "../../../escape"
	path, err := store.Rescue(dir, r)
	if err != nil || filepath.Dir(path) != dir {
		t.Errorf("%q, %v", path, err)
	}
	if _, err := store.Rescue(filepath.Join(path, "sub"), r); err == nil {
		t.Error("a file is no directory")
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	data, err := store.Encode(storetest.Sample(0))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		code wirelab.Code
		say  string
	}{
		"nothing":          {nil, wirelab.InvalidArgument, "not a result"},
		"another document": {[]byte(`{"openapi": "3.1"}`), wirelab.InvalidArgument, "id"},
		"empty object":     {[]byte(`{}`), wirelab.InvalidArgument, "id"},
		"half a result":    {data[:len(data)/2], wirelab.InvalidArgument, "not a result"},
		"half of it":       {data[:len(data)-3], wirelab.InvalidArgument, "it ends in the middle"},
		"null for 0": {
			bytes.Replace(data, []byte(`"steal": 0.125`), []byte(`"steal": null`), 1),
			wirelab.InvalidArgument, "rounds[].noise.steal is null",
		},
		"null for a time": {
			bytes.Replace(data, []byte(`"began": "`), []byte(`"began": null, "x": "`), 1),
			wirelab.InvalidArgument, "began is null",
		},
		"no number": {
			bytes.Replace(data, []byte(`"steal": 0.125`), []byte(`"steal": NaN`), 1),
			wirelab.InvalidArgument, "not a result",
		},
		"twice": {
			bytes.Replace(data, []byte(`"steal": 0.125`), []byte(`"steal": 0.125, "steal": 0.1`), 1),
			wirelab.InvalidArgument, "rounds[].noise.steal is there twice",
		},
		"another spelling": {
			bytes.Replace(data, []byte(`"steal": 0.125`), []byte(`"Steal": 0.125`), 1),
			wirelab.InvalidArgument, "not spelled as steal",
		},
		"a later schema": {
			[]byte(`{"schema": 2, "id": "r-1", "new": 1}`), wirelab.Unimplemented,
			"schema 2, this wirelab reads up to 1",
		},
		"a null histogram": {withoutHistogram(t, data), wirelab.InvalidArgument, "not whole"},
		"a torn histogram": {
			bytes.Replace(data, []byte(`"response": "`), []byte(`"response": "AAAA`), 1),
			wirelab.InvalidArgument, "not a result",
		},
		"text after it": {append(bytes.Clone(data), "more"...), wirelab.InvalidArgument, "not a result"},
	} {
		_, err := store.Decode(c.data)
		if err == nil || wirelab.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v; want %v with %q", name, err, c.code, c.say)
		}
	}
	if result.Schema != 1 {
		t.Error("keep a file of each earlier schema as a test, and adapt this one")
	}
}

// withoutHistogram returns a result whose first trial has null for one.
func withoutHistogram(t *testing.T, data []byte) []byte {
	t.Helper()
	var r map[string]any
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	r["rounds"].([]any)[0].(map[string]any)["trials"].([]any)[0].(map[string]any)["lag"] = nil
	out, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func FuzzDecode(f *testing.F) {
	small := storetest.Sample(0)
	small.Rounds = small.Rounds[:1]
	small.Rounds[0].Trials = small.Rounds[0].Trials[:1]
	data, err := store.Encode(small)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := store.Decode(data)
		if err != nil {
			return
		}
		packed, err := store.Pack(r)
		if err != nil {
			t.Fatalf("decoded, but cannot be packed: %v", err)
		}
		if _, err := store.Unpack(packed.Body); err != nil {
			t.Fatalf("packed, but cannot be unpacked: %v", err)
		}
	})
}

// rescued is the result in a file that [store.Rescue] wrote.
func rescued(t *testing.T, data []byte) []byte {
	t.Helper()
	var file store.Rescued
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if digest, err := result.Digest(file.Result); err != nil || digest != file.Digest || !file.Rescued {
		t.Errorf("the digest does not fit: %v", err)
	}
	return file.Result
}

// What a later wirelab added is kept in the text and marked, and the rest is read. What could harm who looks at a
// list or a report is not passed on.
func TestDecodeOfLater(t *testing.T) {
	t.Parallel()
	data, err := store.Encode(storetest.Sample(0))
	if err != nil {
		t.Fatal(err)
	}
	later := bytes.ReplaceAll(data, []byte(`"steal": 0.125`), []byte(`"steal": 0.125, "gpu": [{"x": "a\"}"}, null, 3]`))
	later = bytes.Replace(later, []byte(`"schema": 1`), []byte(`"schema": 1, "minor": 99`), 1)
	r, err := store.Decode(later)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(r.Unread, " ") != "rounds[].noise.gpu" || !bytes.Equal(r.Text, later) || r.Minor != 99 ||
		r.Rounds[0].Noise.Steal != 0.125 {
		t.Errorf("unread %q, minor %d", r.Unread, r.Minor)
	}
	if r, err := store.Decode(data); err != nil || r.Unread != nil || r.Text != nil {
		t.Errorf("of this one: %q, %v", r.Unread, err)
	}
	bad := bytes.ReplaceAll(data, []byte(`"plan-0"`), []byte(`"plan\u001b[31m\u202e"`))
	if r, err = store.Decode(bad); err != nil || r.Plan.Name != "plan␛[31m\ufffd" {
		t.Errorf("name %q, %v", r.Plan.Name, err)
	}
}
