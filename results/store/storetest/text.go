package storetest

import (
	"bytes"
	"testing"

	"wirelab"
	"wirelab/lab/result"
	"wirelab/results/store"
)

// testText checks that the text of a result from another store is kept byte for byte, with its digest.
func testText(t *testing.T, s store.Store) {
	want, err := store.Encode(Sample(0)) // indented, unlike what Put writes
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutText(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	got, err := s.Raw(t.Context(), Sample(0).ID)
	if err != nil || !bytes.Equal(got.JSON, want) {
		t.Errorf("other text: %v", err)
	}
	digest, err := result.Digest(want)
	if err != nil || got.Digest != digest {
		t.Errorf("digest %q, want %q, %v", got.Digest, digest, err)
	}
	if found, err := s.Digest(t.Context(), Sample(0).ID); err != nil || found != digest {
		t.Errorf("digest %q, want %q, %v", found, digest, err)
	}
	read, err := s.Get(t.Context(), Sample(0).ID)
	if err != nil {
		t.Fatal(err)
	}
	same(t, read, Sample(0))
	refused(t, "the id again", s.PutText(t.Context(), want), wirelab.Conflict, Sample(0).ID)
	refused(t, "no result", s.PutText(t.Context(), []byte("{}")), wirelab.InvalidArgument)
	later := bytes.Replace(want, []byte(`"schema": 1`), []byte(`"schema": 99`), 1)
	refused(t, "a later schema", s.PutText(t.Context(), later), wirelab.Unimplemented)
	_, err = s.Digest(t.Context(), Sample(0).ID[:15])
	refused(t, "the digest of an abbreviation", err, wirelab.NotFound)
	if err := s.Put(t.Context(), Small(1)); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Digest(t.Context(), Small(1).ID); err != nil || found == "" || found == digest {
		t.Errorf("digest %q, %v", found, err)
	}
}
