package bind

import (
	"context"
	"io"
	"net/http"

	"wirelab"
	"wirelab/wire/httpbind"
	"wirelab/wire/httprpc"
	"wirelab/workload/logging"
	"wirelab/workload/logging/gen"
	"wirelab/workload/logging/schema"
)

// The logger over plain HTTP, whatever its version: what the protocols of
// http.go share. Every server answers every path in every encoding; a protocol
// is what its client asks for.

// The paths. POST of the first and the last are the published service's: its
// clients call them unchanged (docs/origins.md ms-F10, F20). A success of POST /log is
// 202, the only status they look at, and each failure says "error":true.
const (
	pathLog     = "/log"
	pathEntry   = "/entries/{id}"
	pathEntries = "/entries"
	pathHealth  = "/health" // asks what the logger stands on
	pathPing    = "/ping"   // does not
)

// restCodecs are the codecs of every message that travels in a body.
type restCodecs struct {
	entry   httprpc.Forms[logging.Entry]
	written httprpc.Forms[logging.Written]
	stored  httprpc.Forms[logging.Stored]
	list    httprpc.Forms[logging.EntryList]
	deleted httprpc.Forms[logging.Deleted]
}

func newRESTCodecs() restCodecs {
	return restCodecs{
		entry: httprpc.Forms[logging.Entry]{
			JSON:  httprpc.JSONOf(entryToJSON, entryFromJSON),
			Proto: httprpc.CheckedProtoOf[logging.Entry, gen.LogRequest](entryToProto, entryFromProto),
		},
		written: httprpc.Forms[logging.Written]{
			JSON:  httprpc.CheckedJSONOf(writtenToJSON, writtenFromJSON),
			Proto: httprpc.ProtoOf[logging.Written, gen.LogResponse](writtenToProto, writtenFromProto),
		},
		stored: httprpc.Forms[logging.Stored]{
			JSON:  httprpc.CheckedJSONOf(storedToJSON, storedFromJSON),
			Proto: httprpc.CheckedProtoOf[logging.Stored, gen.StoredEntry](storedToProto, storedFromProto),
		},
		list: httprpc.Forms[logging.EntryList]{
			JSON:  httprpc.CheckedJSONOf(listToJSON, listFromJSON),
			Proto: httprpc.CheckedProtoOf[logging.EntryList, gen.ListEntriesResponse](listToProto, listFromProto),
		},
		deleted: httprpc.Forms[logging.Deleted]{
			JSON:  httprpc.JSONOf(deletedToJSON, deletedFromJSON),
			Proto: httprpc.ProtoOf[logging.Deleted, gen.DeleteEntriesResponse](deletedToProto, deletedFromProto),
		},
	}
}

// restHandler serves service on all paths.
func restHandler(service logging.Service) http.Handler {
	c := newRESTCodecs()
	return httprpc.NewREST(map[string][]httprpc.Route{
		pathLog:   {httprpc.Unary(c.entry, c.written, service.WriteLog).Accepted()},
		pathEntry: {httprpc.Get(idParameters(), c.stored, service.GetEntry)},
		pathEntries: {
			httprpc.Get(queryParameters(), c.list, service.ListEntries),
			httprpc.Delete(retentionParameters(), c.deleted, service.DeleteEntries),
		},
		httprpc.PathOpenAPI: {httprpc.Described(schema.OpenAPI())},
		pathHealth:          {httprpc.Health(func(ctx context.Context) error { return logging.Ready(ctx, service) })},
		pathPing: {{Method: http.MethodGet, Answer: func(_ context.Context, c *httprpc.Call) error {
			c.Begin("text/plain; charset=utf-8")
			_, err := io.WriteString(c.Writer, ".")
			return err
		}}},
	}).Enveloped()
}

// restStub calls every operation in one encoding.
func restStub(client *httprpc.Client, encoding httprpc.Encoding) stub {
	c := newRESTCodecs()
	return stub{&functions{
		writeLog:      httprpc.CallAccepted(client, pathLog, *c.entry.In(encoding), *c.written.In(encoding)),
		getEntry:      httprpc.CallGet(client, pathEntry, idParameters(), *c.stored.In(encoding)),
		listEntries:   httprpc.CallGet(client, pathEntries, queryParameters(), *c.list.In(encoding)),
		deleteEntries: httprpc.CallDelete(client, pathEntries, retentionParameters(), *c.deleted.In(encoding)),
	}}
}

// restBinding is the logger over a protocol of plain HTTP.
func restBinding(c httpbind.Carriage) wirelab.Binding[logging.Service] {
	return httpbind.Service[logging.Service]{
		Handler: restHandler, RawHoles: rawHoles(), Fresh: []string{http.MethodPost + " " + pathLog},
	}.Over(c, func(client *httprpc.Client) logging.Service { return restStub(client, c.Encoding) })
}
