package bind

import (
	"wirelab"
	"wirelab/wire/rfc3339"
	"wirelab/workload/logging"
)

// The messages in JSON. Name and data of an entry, and the envelope of the reply, are those of the published
// service; the id of an entry, and the contents of the envelope's data, are additions. Absent members are zero, as
// in the other encodings: the contract refuses an entry without a name, and so every body that is JSON and not an
// entry (ms-D02).
type (
	entryJSON struct {
		Name string `json:"name"`
		Data string `json:"data"`
		ID   string `json:"id,omitempty"`
	}
	writtenJSON struct {
		Error   bool   `json:"error"`
		Message string `json:"message"`
		Data    idJSON `json:"data"`
	}
	idJSON struct {
		ID string `json:"id"`
	}
	storedJSON struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Data     string `json:"data"`
		Position int64  `json:"position"`
		At       string `json:"stored_at"`
	}
	listJSON struct {
		Entries []storedJSON `json:"entries"`
		Next    int64        `json:"next,omitempty"`
	}
	deletedJSON struct {
		Count int64 `json:"count"`
	}
)

func entryToJSON(e logging.Entry) entryJSON { return entryJSON{ID: e.ID, Name: e.Name, Data: e.Data} }

func entryFromJSON(e entryJSON) logging.Entry {
	return logging.Entry{ID: e.ID, Name: e.Name, Data: e.Data}
}

func writtenToJSON(w logging.Written) writtenJSON {
	return writtenJSON{Message: "logged", Data: idJSON{ID: w.ID}}
}

// writtenFromJSON also reads what contradicts the status it came with: some
// proxy's, or a service that tells its failures by the envelope alone.
func writtenFromJSON(w writtenJSON) (logging.Written, error) {
	if w.Error {
		return logging.Written{},
			wirelab.Errorf(wirelab.Internal, "the envelope says that it failed: %.200s", w.Message)
	}
	return logging.Written{ID: w.Data.ID}, nil
}

func storedToJSON(s logging.Stored) storedJSON {
	return storedJSON{ID: s.ID, Name: s.Name, Data: s.Data, Position: s.Position, At: rfc3339.Text(s.At)}
}

func storedFromJSON(s storedJSON) (logging.Stored, error) {
	at, err := rfc3339.Parse(s.At)
	return logging.Stored{
		Entry: logging.Entry{ID: s.ID, Name: s.Name, Data: s.Data}, Position: s.Position, At: at,
	}, err
}

// listToJSON makes a list that is [] and never null.
func listToJSON(l logging.EntryList) listJSON {
	to := listJSON{Entries: make([]storedJSON, len(l.Entries)), Next: l.Next}
	for i, s := range l.Entries {
		to.Entries[i] = storedToJSON(s)
	}
	return to
}

func listFromJSON(l listJSON) (logging.EntryList, error) {
	from := logging.EntryList{Entries: make([]logging.Stored, len(l.Entries)), Next: l.Next}
	for i, s := range l.Entries {
		var err error
		if from.Entries[i], err = storedFromJSON(s); err != nil {
			return logging.EntryList{}, err
		}
	}
	return from, nil
}

func deletedToJSON(d logging.Deleted) deletedJSON { return deletedJSON{Count: d.Count} }

func deletedFromJSON(d deletedJSON) logging.Deleted { return logging.Deleted{Count: d.Count} }
