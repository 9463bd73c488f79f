package store

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"

	"wirelab"
	"wirelab/lab/result"
)

// The limits of a result's encoded form. The second is SQLite's limit with a reserve. An experiment of a whole night
// stays far below both.
const (
	plainLimit  = 2 << 30   // bytes of JSON
	packedLimit = 900 << 20 // bytes compressed
)

// Check returns an error if a result cannot be stored. It checks its id and schema, and that its parts fit together,
// so that no reader uses an index out of range.
func Check(r *result.Result) error {
	switch {
	case !idForm.MatchString(r.ID):
		return wirelab.Errorf(wirelab.InvalidArgument, "id %.40q is not like r-20261121-140512-7f3a", r.ID)
	case r.Schema > result.Schema:
		return newer(r.ID, r.Schema)
	case r.Schema < 1:
		return wirelab.Errorf(wirelab.InvalidArgument, "result %s has schema %d; there is none below 1", r.ID, r.Schema)
	case len(r.Plan.Arms) == 0 || len(r.Plan.Loads) == 0:
		return wirelab.Errorf(wirelab.InvalidArgument, "result %s has a plan without arms or loads", r.ID)
	case len(r.Arms) != len(r.Plan.Arms):
		return wirelab.Errorf(wirelab.InvalidArgument, "result %s describes %d arms, its plan has %d", r.ID,
			len(r.Arms), len(r.Plan.Arms))
	}
	for i, round := range r.Rounds {
		for _, t := range round.Trials {
			if t.Arm < 0 || t.Arm >= len(r.Arms) || t.Load < 0 || t.Load >= len(r.Plan.Loads) {
				return wirelab.Errorf(wirelab.InvalidArgument,
					"result %s, round %d: no arm %d under load %d in its plan", r.ID, i, t.Arm, t.Load)
			}
			if t.Response == nil || t.Service == nil || t.Lag == nil || t.Driver == nil {
				return wirelab.Errorf(wirelab.InvalidArgument, "result %s, round %d: a trial of arm %d is not whole",
					r.ID, i, t.Arm)
			}
		}
		for _, f := range round.Failures {
			if f.Arm < 0 || f.Arm >= len(r.Arms) {
				return wirelab.Errorf(wirelab.InvalidArgument, "result %s, round %d: no arm %d in its plan", r.ID, i,
					f.Arm)
			}
		}
	}
	return checkCapacity(r)
}

// checkCapacity is [Check] for the rounds of a search.
func checkCapacity(r *result.Result) error {
	whole := func(t *result.Trial) bool {
		return t.Response != nil && t.Service != nil && t.Lag != nil && t.Driver != nil && t.Arm >= 0 &&
			t.Arm < len(r.Arms) && t.Load == 0
	}
	for i, round := range r.Capacity.Searched() {
		for _, s := range round.Searches {
			if s.Arm < 0 || s.Arm >= len(r.Arms) {
				return wirelab.Errorf(wirelab.InvalidArgument, "result %s, round %d: no arm %d in its plan", r.ID, i,
					s.Arm)
			}
			ok := whole(&s.Closed)
			for j := range s.Probes {
				ok = ok && whole(&s.Probes[j].Trial)
			}
			if !ok {
				return wirelab.Errorf(wirelab.InvalidArgument, "result %s, round %d: a search of arm %d is not whole",
					r.ID, i, s.Arm)
			}
		}
		for _, f := range round.Failures {
			if f.Arm < 0 || f.Arm >= len(r.Arms) {
				return wirelab.Errorf(wirelab.InvalidArgument, "result %s, round %d: no arm %d in its plan", r.ID, i,
					f.Arm)
			}
		}
	}
	return nil
}

// newer returns the error for a result from a later version.
func newer(id string, schema int) error {
	return wirelab.Errorf(wirelab.Unimplemented,
		"result %s has schema %d, this wirelab reads up to %d: use the one that made it, or a later one", id, schema,
		result.Schema)
}

// Encode returns a result as indented JSON, the format of result files, after [Check].
func Encode(r *result.Result) ([]byte, error) {
	if err := Check(r); err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return nil, fmt.Errorf("result %s: %w", r.ID, err)
	}
	return append(data, '\n'), nil
}

// Decode reads the format of result files. The errors are InvalidArgument for data that is no result, and
// Unimplemented for a result of a later schema.
func Decode(data []byte) (*result.Result, error) {
	// First only what every schema has, so that a later one is not reported as damaged.
	var head struct {
		Schema int    `json:"schema"`
		ID     string `json:"id"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "not a result: %s", result.NotJSON(data, err))
	}
	if head.Schema > result.Schema {
		return nil, newer(head.ID, head.Schema)
	}
	unknown, err := inspect(data, reflect.TypeFor[result.Result]())
	if err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "not a result: %v", err)
	}
	var r result.Result
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "not a result: %v", err)
	}
	if err := Check(&r); err != nil {
		return nil, err
	}
	if len(unknown) > 0 {
		r.Unread, r.Text = unknown, data
	}
	r.Harmless()
	return &r, nil
}

// Packed is a result in the form in which stores keep it.
type Packed struct {
	Result *result.Result
	Body   []byte // compressed, with a checksum
	Digest string // [result.Digest] of the text
	Origin string // where it came from, which is stored next to it: see [Origin]; "" if not known
}

// Pack returns a result compressed, for stores.
func Pack(r *result.Result) (Packed, error) {
	if err := Check(r); err != nil {
		return Packed{}, err
	}
	plain, err := json.Marshal(r)
	if err != nil {
		return Packed{}, fmt.Errorf("result %s: %w", r.ID, err)
	}
	return pack(r, plain)
}

// PackText is [Pack] for a result's text, which it keeps unchanged.
func PackText(text []byte) (Packed, error) {
	r, err := Decode(text)
	if err != nil {
		return Packed{}, err
	}
	if len(text) > plainLimit {
		return Packed{}, wirelab.Errorf(wirelab.ResourceExhausted, "result of more than %d bytes", plainLimit)
	}
	return pack(r, text)
}

// PackDecoded is [PackText] for a text that [Decode] has read as r, and that has this digest.
func PackDecoded(r *result.Result, text []byte, digest string) (Packed, error) {
	if len(text) > plainLimit {
		return Packed{}, wirelab.Errorf(wirelab.ResourceExhausted, "result of more than %d bytes", plainLimit)
	}
	return compressed(r, text, digest)
}

func pack(r *result.Result, plain []byte) (Packed, error) {
	digest, err := result.Digest(plain)
	if err != nil {
		return Packed{}, fmt.Errorf("result %s: %w", r.ID, err)
	}
	return compressed(r, plain, digest)
}

func compressed(r *result.Result, plain []byte, digest string) (Packed, error) {
	var buffer bytes.Buffer
	w := gzip.NewWriter(&buffer)
	_, err := w.Write(plain)
	if err := errors.Join(err, w.Close()); err != nil {
		return Packed{}, fmt.Errorf("result %s: %w", r.ID, err)
	}
	if buffer.Len() > packedLimit {
		return Packed{}, wirelab.Errorf(wirelab.ResourceExhausted, "result %s has %d bytes; the store takes %d", r.ID,
			buffer.Len(), packedLimit)
	}
	return Packed{Result: r, Body: buffer.Bytes(), Digest: digest}, nil
}

// Unpack is the inverse of [Pack].
func Unpack(data []byte) (*result.Result, error) {
	plain, err := UnpackText(data)
	if err != nil {
		return nil, err
	}
	return Decode(plain)
}

// UnpackAs is [Unpack] for the body that a store keeps under an id at the named place. If the body is not that
// result, it is damaged, unless a later version wrote it.
func UnpackAs(data []byte, id, place string) (*result.Result, error) {
	r, err := Unpack(data)
	switch {
	case err != nil && wirelab.CodeOf(err) == wirelab.Unimplemented:
		return nil, err
	case err != nil:
		return nil, wirelab.Errorf(wirelab.Internal, "result %s is damaged in %s: %s", id, place,
			wirelab.Public(err).Message)
	case r.ID != id:
		return nil, wirelab.Errorf(wirelab.Internal, "result %s is damaged in %s: its body is that of %s", id, place,
			r.ID)
	}
	return r, nil
}

// UnpackText returns the text that [Pack] compressed. Its error is InvalidArgument, or ResourceExhausted for a text
// above the limit.
func UnpackText(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "not a packed result: %v", err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, plainLimit+1))
	if err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "not a packed result: %v", err)
	}
	if len(plain) > plainLimit {
		return nil, wirelab.Errorf(wirelab.ResourceExhausted, "result of more than %d bytes", plainLimit)
	}
	return plain, nil
}

// Rescued is the format of a file that [Rescue] writes: an export without derived parts.
type Rescued struct {
	Schema  int             `json:"schema"`
	Digest  string          `json:"digest"`
	Rescued bool            `json:"rescued"`
	Result  json.RawMessage `json:"result"`
}

// Rescue writes a result that a store could not take to a file in dir, durably, and returns its path: ID.json, or
// ID-2.json and so on if the name is taken. It creates dir if necessary. "wirelab results import" imports the file.
//
// The file contains the digest, so that an edit is found. Rescue does not check the result: even one that every store
// would refuse was measured.
func Rescue(dir string, r *result.Result) (path string, err error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("result %s: %w", r.ID, err)
	}
	digest, err := result.Digest(raw)
	if err != nil {
		return "", fmt.Errorf("result %s: %w", r.ID, err)
	}
	data, err := json.MarshalIndent(Rescued{Schema: result.Schema, Digest: digest, Rescued: true, Result: raw}, "", " ")
	if err != nil {
		return "", fmt.Errorf("result %s: %w", r.ID, err)
	}
	if err := makePrivate(dir); err != nil {
		return "", err
	}
	temporary, err := os.CreateTemp(dir, ".wirelab-*")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.Remove(temporary.Name())) }()
	_, writeErr := temporary.Write(append(data, '\n'))
	if err := errors.Join(writeErr, temporary.Sync(), temporary.Close()); err != nil {
		return "", err
	}
	base := "result"
	if idForm.MatchString(r.ID) { // otherwise it might be a path
		base = r.ID
	}
	for n := 1; ; n++ {
		path = filepath.Join(dir, base+".json")
		if n > 1 {
			path = filepath.Join(dir, fmt.Sprintf("%s-%d.json", base, n))
		}
		// Link, unlike rename, never replaces a file.
		err := os.Link(temporary.Name(), path)
		if err == nil {
			return path, syncDirectory(dir)
		}
		if !errors.Is(err, os.ErrExist) || n == 1000 {
			return "", err
		}
	}
}

// syncDirectory makes the name of a new file durable.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
