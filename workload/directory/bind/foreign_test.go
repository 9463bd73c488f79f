package bind_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	"wirelab"
	"wirelab/internal/schematest"
	"wirelab/wire/conformance"
	"wirelab/workload/directory"
	"wirelab/workload/directory/bind"
	"wirelab/workload/directory/gen"
)

// The numbers and names by which clients of other languages know the service
// are written down, here too: a change of one breaks them all (mt-D05).
func TestSchemaIsForEver(t *testing.T) {
	t.Parallel()
	want := []string{
		"Location: street=1 city=2 state=3 post_code=4",
		"Page: after=1 limit=2",
		"Person: id=1 name=2 gender=3 location=4 email=5 picture=6",
		"PersonId: id=1",
		"PersonLink: p1=1 p2=2",
		"PersonLinkList: links=1 count=2",
		"PersonList: persons=1 count=2 next=3",
		"PersonName: title=1 first=2 last=3",
		"PersonService: CreatePerson(Person)Person GetPerson(PersonId)Person " +
			"GetPersonLinks(PersonId)PersonLinkList ListPersons(Page)PersonList",
		"Picture: large=1 medium=2 thumbnail=3",
	}
	schematest.Keeps(t, gen.File_person_proto, want)
	name := gen.File_person_proto.Services().Get(0).FullName()
	if name != protoreflect.FullName("directory.PersonService") {
		t.Errorf("the service is %s", name)
	}
}

// foreign returns a gRPC client that is not ours, of each of the servers that
// speak gRPC, with what it takes to send whatever bytes one likes.
func foreign(t *testing.T, test func(t *testing.T, conn *grpc.ClientConn)) {
	t.Helper()
	for _, server := range bind.GRPC().Servers {
		t.Run(server.Library, func(t *testing.T) {
			address := conformance.Listening(t, func(ctx context.Context, at wirelab.Endpoint) error {
				return server.Serve(ctx, at, directory.New())
			})
			conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := conn.Close(); err != nil {
					t.Error(err)
				}
			}()
			test(t, conn)
		})
	}
}

// A server checks by itself what our stubs would not have sent, answers each
// failure with its own status (mt-D02: the published one is UNKNOWN), and
// takes messages that leave everything out.
func TestForeignGRPCClient(t *testing.T) {
	t.Parallel()
	foreign(t, func(t *testing.T, conn *grpc.ClientConn) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		client := gen.NewPersonServiceClient(conn)
		get := func(id string) func() error {
			return func() error { _, err := client.GetPerson(ctx, &gen.PersonId{Id: id}); return err }
		}
		links := func(id string) func() error {
			return func() error { _, err := client.GetPersonLinks(ctx, &gen.PersonId{Id: id}); return err }
		}
		list := func(page *gen.Page) func() error {
			return func() error { _, err := client.ListPersons(ctx, page); return err }
		}
		create := func(p *gen.Person) func() error {
			return func() error { _, err := client.CreatePerson(ctx, p); return err }
		}
		for _, c := range []struct {
			why  string
			call func() error
			want codes.Code
		}{
			{"a person there is", get("1"), codes.OK},
			{"an unknown person", get("absent"), codes.NotFound},
			{"links of an unknown person", links("absent"), codes.NotFound},
			{"no id at all", get(""), codes.InvalidArgument},
			{"an id that is two elements of a path", get("a/b"), codes.InvalidArgument},
			{"an id without end", links(strings.Repeat("x", 1<<20)), codes.InvalidArgument},
			{"a list of nothing in particular", list(&gen.Page{}), codes.OK},
			{"a list of fewer than none", list(&gen.Page{Limit: -1}), codes.InvalidArgument},
			{"a list of more than a page", list(&gen.Page{Limit: directory.PageLimit + 1}), codes.InvalidArgument},
			{"a list after an unknown person", list(&gen.Page{After: "absent"}), codes.NotFound},
			{"a person of an id alone", create(&gen.Person{Id: "bare"}), codes.OK},
			{"the same again", create(&gen.Person{Id: "bare"}), codes.AlreadyExists},
			{"a person of nothing", create(&gen.Person{}), codes.InvalidArgument},
			{
				"a title without end",
				create(&gen.Person{Id: "t", Name: &gen.PersonName{Title: strings.Repeat("x", 257)}}),
				codes.InvalidArgument,
			},
			{
				"a URL without end",
				create(&gen.Person{Id: "u", Picture: &gen.Picture{Large: strings.Repeat("x", 2049)}}),
				codes.InvalidArgument,
			},
			{
				"a message above the limit",
				create(&gen.Person{Id: "m", Email: strings.Repeat("x", wirelab.MessageLimit)}),
				codes.ResourceExhausted,
			},
			{"a person that a refused call named", get("t"), codes.NotFound},
		} {
			if err := c.call(); status.Code(err) != c.want {
				t.Errorf("%s: %.200v, want %s", c.why, err, c.want)
			}
		}
		bare, err := client.GetPerson(ctx, &gen.PersonId{Id: "bare"})
		if err != nil || bare.GetPicture() != nil || bare.GetName().GetFirst() != "" ||
			bare.GetLocation().GetPostCode() != 0 {
			t.Errorf("who has an id alone is %v, %v", bare, err)
		}
	})
}

// asIs sends and takes bytes as they are.
type asIs struct{}

func (asIs) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (asIs) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (asIs) Name() string                       { return "proto" }

// Bytes that are no message cost their call, not the server (mt-D03: there
// what a handler throws escapes it).
func TestForeignBytes(t *testing.T) {
	t.Parallel()
	foreign(t, func(t *testing.T, conn *grpc.ClientConn) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		for why, bytes := range map[string][]byte{
			"a length beyond the message's end": {0x0a, 0x7f, 'x'},
			"a length beyond all memory":        {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
			"text that is not UTF-8":            {0x0a, 0x01, 0xff},
			"a tag that never ends":             slices.Repeat([]byte{0xff}, 20),
			"an end group without a group":      {0x0c},
		} {
			for _, method := range []string{"ListPersons", "GetPerson", "GetPersonLinks", "CreatePerson"} {
				var reply []byte
				err := conn.Invoke(ctx, "/directory.PersonService/"+method, &bytes, &reply, grpc.ForceCodec(asIs{}))
				// gRPC leaves the code open: grpc-go says Internal, connect-go InvalidArgument.
				if code := status.Code(err); code != codes.Internal && code != codes.InvalidArgument {
					t.Errorf("%s to %s: %.200v", why, method, err)
				}
			}
		}
		if _, err := gen.NewPersonServiceClient(conn).GetPerson(ctx, &gen.PersonId{Id: "1"}); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
