package bind

import (
	"net/http"

	"wirelab"
	"wirelab/wire/httpbind"
	"wirelab/wire/httprpc"
	"wirelab/workload/directory"
	"wirelab/workload/directory/gen"
	"wirelab/workload/directory/schema"
)

// The directory over plain HTTP, whatever its version: what the protocols of
// http1.go, http2.go and http3.go share. Every server answers every path in
// every encoding; a protocol is what its client asks for.

// The paths, which are the published service's: its clients call them
// unchanged (docs/origins.md mt-F01 to mt-F04). A GET of the first also takes the
// parameters after and limit, which the published one does not know.
const (
	pathPersons = "/person"
	pathPerson  = "/person/{id}"
	pathLinks   = "/person/{id}/links"
)

// pageParameters and idParameters are the requests that travel in a URL.
func pageParameters() []httprpc.Parameter[directory.Page] {
	return []httprpc.Parameter[directory.Page]{
		httprpc.Text("after", func(p *directory.Page) *string { return &p.After }),
		httprpc.Number("limit", func(p *directory.Page) *int32 { return &p.Limit }),
	}
}

func idParameters() []httprpc.Parameter[directory.PersonID] {
	return []httprpc.Parameter[directory.PersonID]{
		httprpc.Text("id", func(id *directory.PersonID) *string { return &id.ID }),
	}
}

// restCodecs are the codecs of every message that travels in a body.
type restCodecs struct {
	person httprpc.Forms[directory.Person]
	list   httprpc.Forms[directory.PersonList]
	links  httprpc.Forms[directory.PersonLinkList]
}

func newRESTCodecs() restCodecs {
	return restCodecs{
		person: httprpc.Forms[directory.Person]{
			JSON:  httprpc.JSONOf(personToJSON, personFromJSON),
			Proto: httprpc.ProtoOf[directory.Person, gen.Person](personToProto, personFromProto),
			Avro:  avroHTTP(inAvro().person),
		},
		list: httprpc.Forms[directory.PersonList]{
			JSON:  httprpc.JSONOf(listToJSON, listFromJSON),
			Proto: httprpc.ProtoOf[directory.PersonList, gen.PersonList](listToProto, listFromProto),
			Avro:  avroHTTP(inAvro().list),
		},
		links: httprpc.Forms[directory.PersonLinkList]{
			JSON:  httprpc.JSONOf(linksToJSON, linksFromJSON),
			Proto: httprpc.ProtoOf[directory.PersonLinkList, gen.PersonLinkList](linksToProto, linksFromProto),
			Avro:  avroHTTP(inAvro().links),
		},
	}
}

// restHandler serves service on all paths.
func restHandler(service directory.Service) http.Handler {
	c := newRESTCodecs()
	return httprpc.NewREST(map[string][]httprpc.Route{
		pathPersons: {
			httprpc.Get(pageParameters(), c.list, service.ListPersons),
			httprpc.Unary(c.person, c.person, service.CreatePerson),
		},
		pathPerson:          {httprpc.Get(idParameters(), c.person, service.GetPerson)},
		httprpc.PathOpenAPI: {httprpc.Described(schema.OpenAPI())},
		pathLinks:           {httprpc.Get(idParameters(), c.links, service.GetPersonLinks)},
	})
}

// restStub calls every operation in one encoding.
func restStub(client *httprpc.Client, encoding httprpc.Encoding) stub {
	c := newRESTCodecs()
	person, list, links := *c.person.In(encoding), *c.list.In(encoding), *c.links.In(encoding)
	return stub{&functions{
		listPersons:    httprpc.CallGet(client, pathPersons, pageParameters(), list),
		getPerson:      httprpc.CallGet(client, pathPerson, idParameters(), person),
		getPersonLinks: httprpc.CallGet(client, pathLinks, idParameters(), links),
		createPerson:   httprpc.CallUnary(client, pathPersons, person, person),
	}}
}

// restBinding is the directory over a protocol of plain HTTP.
func restBinding(c httpbind.Carriage) wirelab.Binding[directory.Service] {
	return httpbind.Service[directory.Service]{
		Handler: restHandler, RawHoles: rawHoles(), Fresh: []string{http.MethodPost + " " + pathPersons},
	}.Over(c, func(client *httprpc.Client) directory.Service { return restStub(client, c.Encoding) })
}
