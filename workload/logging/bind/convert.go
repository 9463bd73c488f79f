package bind

import (
	"wirelab"
	"wirelab/wire/rfc3339"
	"wirelab/workload/logging"
	"wirelab/workload/logging/gen"
)

// The domain's types and the generated messages, both ways. Absent messages
// read as their zero value, since the generated getters are nil-safe, but for
// the entry that is to be written: a request without it says nothing. Those
// with a time in them can fail: a time is text.

// logged is the result that the published service gives over gRPC.
const logged = "logged!"

// noEntry is the failure of a request to write nothing, by which the published
// service stops (ms-D01).
func noEntry() error {
	return wirelab.Errorf(wirelab.InvalidArgument, "the request has no logEntry")
}

func logToProto(e logging.Entry) *gen.Log {
	return &gen.Log{Name: e.Name, Data: e.Data, Id: e.ID}
}

func logFromProto(e *gen.Log) logging.Entry {
	return logging.Entry{ID: e.GetId(), Name: e.GetName(), Data: e.GetData()}
}

func entryToProto(e logging.Entry) *gen.LogRequest {
	return &gen.LogRequest{LogEntry: logToProto(e)}
}

func entryFromProto(r *gen.LogRequest) (logging.Entry, error) {
	if r.GetLogEntry() == nil {
		return logging.Entry{}, noEntry()
	}
	return logFromProto(r.GetLogEntry()), nil
}

func writtenToProto(w logging.Written) *gen.LogResponse {
	return &gen.LogResponse{Result: logged, Id: w.ID}
}

func writtenFromProto(w *gen.LogResponse) logging.Written {
	return logging.Written{ID: w.GetId()}
}

func idToProto(id logging.EntryID) *gen.GetEntryRequest { return &gen.GetEntryRequest{Id: id.ID} }

func idFromProto(id *gen.GetEntryRequest) logging.EntryID { return logging.EntryID{ID: id.GetId()} }

func storedToProto(s logging.Stored) *gen.StoredEntry {
	return &gen.StoredEntry{Entry: logToProto(s.Entry), Position: s.Position, StoredAt: rfc3339.Text(s.At)}
}

func storedFromProto(s *gen.StoredEntry) (logging.Stored, error) {
	at, err := rfc3339.Parse(s.GetStoredAt())
	return logging.Stored{Entry: logFromProto(s.GetEntry()), Position: s.GetPosition(), At: at}, err
}

func queryToProto(q logging.Query) *gen.ListEntriesRequest {
	return &gen.ListEntriesRequest{
		Name: q.Name, Since: rfc3339.Text(q.Since), Until: rfc3339.Text(q.Until), Before: q.Before, Limit: q.Limit,
	}
}

func queryFromProto(q *gen.ListEntriesRequest) (logging.Query, error) {
	from := logging.Query{Name: q.GetName(), Before: q.GetBefore(), Limit: q.GetLimit()}
	var err error
	if from.Since, err = rfc3339.Parse(q.GetSince()); err != nil {
		return from, err
	}
	from.Until, err = rfc3339.Parse(q.GetUntil())
	return from, err
}

func listToProto(l logging.EntryList) *gen.ListEntriesResponse {
	to := &gen.ListEntriesResponse{Entries: make([]*gen.StoredEntry, len(l.Entries)), Next: l.Next}
	for i, s := range l.Entries {
		to.Entries[i] = storedToProto(s)
	}
	return to
}

func listFromProto(l *gen.ListEntriesResponse) (logging.EntryList, error) {
	from := logging.EntryList{Entries: make([]logging.Stored, len(l.GetEntries())), Next: l.GetNext()}
	for i, s := range l.GetEntries() {
		var err error
		if from.Entries[i], err = storedFromProto(s); err != nil {
			return logging.EntryList{}, err
		}
	}
	return from, nil
}

func retentionToProto(r logging.Retention) *gen.DeleteEntriesRequest {
	return &gen.DeleteEntriesRequest{Before: rfc3339.Text(r.Before)}
}

func retentionFromProto(r *gen.DeleteEntriesRequest) (logging.Retention, error) {
	before, err := rfc3339.Parse(r.GetBefore())
	return logging.Retention{Before: before}, err
}

func deletedToProto(d logging.Deleted) *gen.DeleteEntriesResponse {
	return &gen.DeleteEntriesResponse{Count: d.Count}
}

func deletedFromProto(d *gen.DeleteEntriesResponse) logging.Deleted {
	return logging.Deleted{Count: d.GetCount()}
}
