package bind

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"wirelab"
	"wirelab/wire/avro"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/workload/directory"
	"wirelab/workload/directory/gen/genconnect"
	"wirelab/workload/directory/schema"
)

// handText and handPerson are a second reading of the schema, by hand.
func handText(dst []byte, s string) []byte {
	return append(binary.AppendVarint(dst, int64(len(s))), s...)
}

func handPerson(dst []byte, p directory.Person) []byte {
	for _, s := range []string{
		p.ID, p.Name.Title, p.Name.First, p.Name.Last, p.Gender, p.Location.Street, p.Location.City, p.Location.State,
	} {
		dst = handText(dst, s)
	}
	dst = handText(binary.AppendVarint(dst, int64(p.Location.PostCode)), p.Email)
	if p.Picture == nil {
		return append(dst, 0) // the union's first branch
	}
	dst = append(dst, 2)
	for _, s := range []string{p.Picture.Large, p.Picture.Medium, p.Picture.Thumbnail} {
		dst = handText(dst, s)
	}
	return dst
}

// handHead is what a message by the codec's schema begins with.
func handHead[T any](c *avro.Codec[T]) []byte {
	return binary.LittleEndian.AppendUint64([]byte{0xC3, 0x01}, c.Schema().Fingerprint())
}

// A person of any kind is on the wire what the schema says, and comes back.
func TestAvroPersonByHand(t *testing.T) {
	t.Parallel()
	codec := inAvro().person
	texts := []string{"", "a", "Zoë", "村上", "𝄞", "nul\x00", strings.Repeat("ü", 128)}
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 3))
		draw := func() string { return texts[r.IntN(len(texts))] }
		want := directory.Person{
			ID: "p-" + draw(), Name: directory.PersonName{Title: draw(), First: draw(), Last: draw()}, Gender: draw(),
			Location: directory.Location{Street: draw(), City: draw(), State: draw(), PostCode: int32(r.Uint32())},
			Email:    draw(),
		}
		if r.IntN(2) == 0 {
			want.Picture = &directory.Picture{Large: draw(), Medium: draw(), Thumbnail: draw()}
		}
		message, err := codec.Encode(&want)
		if err != nil {
			t.Fatal(err)
		}
		if byHand := handPerson(handHead(codec), want); string(byHand) != string(message) {
			t.Fatalf("seed %d: written\n%x\nby hand\n%x", seed, message, byHand)
		}
		if got, err := codec.Decode(message); err != nil || !got.Equal(want) {
			t.Fatalf("seed %d: %+v, %v; want %+v", seed, got, err, want)
		}
	}
}

// The lists are blocks of persons, and the largest that a server may send fits
// what a codec takes.
func TestAvroListsByHand(t *testing.T) {
	t.Parallel()
	all := directory.Data()
	service := all[len(all)-1].New()
	list, err := service.ListPersons(t.Context(), directory.Page{})
	if err != nil {
		t.Fatal(err)
	}
	byHand := binary.AppendVarint(handHead(inAvro().list), int64(len(list.Persons)))
	for _, p := range list.Persons {
		byHand = handPerson(byHand, p)
	}
	byHand = handText(binary.AppendVarint(append(byHand, 0), int64(list.Count)), list.Next)
	message, err := inAvro().list.Encode(&list)
	if err != nil || string(message) != string(byHand) {
		t.Fatalf("%d bytes written, %d by hand, %v", len(message), len(byHand), err)
	}
	if got, err := inAvro().list.Decode(message); err != nil || !got.Equal(list) {
		t.Fatalf("the list comes back otherwise: %v", err)
	}
	links, err := service.GetPersonLinks(t.Context(), directory.PersonID{ID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	byHand = binary.AppendVarint(handHead(inAvro().links), int64(len(links.Links)))
	for _, l := range links.Links {
		byHand = handPerson(handPerson(byHand, l.P1), l.P2)
	}
	byHand = binary.AppendVarint(append(byHand, 0), int64(links.Count))
	if message, err = inAvro().links.Encode(&links); err != nil || string(message) != string(byHand) {
		t.Fatalf("%x written, %x by hand, %v", message, byHand, err)
	}
	if got, err := inAvro().links.Decode(message); err != nil || !got.Equal(links) {
		t.Fatalf("the links come back as %+v, %v", got, err)
	}
}

// A schema that is changed changes what every peer reads: it is to be noticed.
func TestAvroFingerprints(t *testing.T) {
	t.Parallel()
	c := inAvro()
	for _, s := range []struct {
		schema *avro.Schema
		want   string
	}{
		{c.page.Schema(), "directory.Page 6d40db8fd9c6d9eb"},
		{c.id.Schema(), "directory.PersonId 965383164849ccae"},
		{c.person.Schema(), "directory.Person ef80d4a65b8a83e5"},
		{c.list.Schema(), "directory.PersonList aa6435b5b21e4da0"},
		{c.links.Schema(), "directory.PersonLinkList a153d7d354a4671b"},
	} {
		if got := s.schema.String(); got != s.want {
			t.Errorf("%s was %s: let the codecs know that one as a writer's", got, s.want)
		}
	}
}

// newer is the person of a directory that has a phone for each, and no gender.
type newer struct {
	ID       string
	Name     directory.PersonName
	Location directory.Location
	Email    string
	Phone    *string
	Picture  *directory.Picture
}

// evolve returns two codecs: one of today's directory that reads messages of the newer one, and one of the newer
// that reads messages of today. Reading the newer needs a default for the gender, which today's schema does not
// have. A default is not part of the fingerprint, so adding one is safe.
func evolve(t *testing.T) (today *avro.Codec[directory.Person], future *avro.Codec[newer]) {
	t.Helper()
	text := schema.AvroPerson()
	changed := strings.Replace(text, `{"name": "gender", "type": "string"},`, ``, 1)
	changed = strings.Replace(changed, `{"name": "email", "type": "string"},`,
		`{"name": "email", "type": "string"}, {"name": "phone", "type": ["null", "string"], "default": null},`, 1)
	defaulted := strings.Replace(text, `{"name": "gender", "type": "string"}`,
		`{"name": "gender", "type": "string", "default": "unknown"}`, 1)
	parse := func(text string) *avro.Schema {
		s, err := avro.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	now, next := parse(text), parse(changed)
	if _, err := avro.New[directory.Person](avro.Limits{}, now, next); err == nil ||
		wirelab.CodeOf(err) != wirelab.InvalidArgument ||
		!strings.Contains(err.Error(), "gender") {
		t.Errorf("a field was removed that has no default: %v", err)
	}
	today, err := avro.New[directory.Person](avro.Limits{}, parse(defaulted), next)
	if err != nil {
		t.Fatal(err)
	}
	if future, err = avro.New[newer](avro.Limits{}, next, now); err != nil {
		t.Fatal(err)
	}
	return today, future
}

// A newer directory that added a field and removed another is read, and reads.
func TestAvroEvolution(t *testing.T) {
	t.Parallel()
	today, future := evolve(t)
	phone := "+1"
	message, err := future.Encode(&newer{
		ID: "1", Name: directory.PersonName{First: "Zoë"}, Email: "z@x",
		Phone: &phone,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := directory.Person{ID: "1", Name: directory.PersonName{First: "Zoë"}, Email: "z@x", Gender: "unknown"}
	if got, err := today.Decode(message); err != nil || !got.Equal(want) {
		t.Errorf("from the newer writer: %+v, %v", got, err)
	}
	if message, err = today.Encode(&want); err != nil {
		t.Fatal(err)
	}
	if got, err := future.Decode(message); err != nil || got.ID != "1" || got.Name.First != "Zoë" ||
		got.Email != "z@x" ||
		got.Phone != nil {
		t.Errorf("to the newer reader: %+v, %v", got, err)
	}
	if _, err := inAvro().person.Decode(message); err != nil {
		t.Errorf("to those whose schema has no default: %v", err)
	}
}

// A newer client and a server of today create a person together; a server
// that was not told of the newer schema says so.
func TestAvroEvolutionOverGRPC(t *testing.T) {
	t.Parallel()
	today, future := evolve(t)
	for name, told := range map[string]bool{"told": true, "not told": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := avroForms()
			if told {
				f.person = avroForm(today)
			}
			server := serveAvro(t, false, func(ctx context.Context, at wirelab.Endpoint) error {
				return wiregrpc.Serve(ctx, at, false, f.name, func(to grpc.ServiceRegistrar) {
					f.register(to, directory.New())
				})
			})
			conn, err := wiregrpc.Dial(wirelab.Dialing{Address: server.address}, false)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			create := wiregrpc.CallUnary(conn, genconnect.PersonServiceName, "CreatePerson", f.name, avroForm(future),
				avroForm(future))
			phone := "+1"
			created, err := create(t.Context(), newer{ID: "zo", Email: "z@x", Phone: &phone})
			switch {
			case told && (err != nil || created.ID != "zo" || created.Email != "z@x" || created.Phone != nil):
				t.Errorf("%+v, %v", created, err)
			case !told && (err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument ||
				!strings.Contains(err.Error(), "not known")):
				t.Errorf("%+v, %v; want invalid_argument", created, err)
			}
		})
	}
}
