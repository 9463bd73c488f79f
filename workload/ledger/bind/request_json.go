package bind

import (
	"wirelab/wire/rfc3339"
	"wirelab/workload/ledger"
)

// The requests in JSON that travel in a URL over plain HTTP, under the names
// that its parameters have, and in a message over gRPC. Absent members are zero.
type (
	idJSON struct {
		ID string `json:"id"`
	}
	idsJSON struct {
		IDs []string `json:"ids"`
	}
	pageJSON struct {
		After   string `json:"after"`
		Account string `json:"account"`
		Since   string `json:"since"`
		Limit   int32  `json:"limit"`
	}
	feedJSON struct {
		After   string `json:"after"`
		Account string `json:"account"`
		Since   string `json:"since"`
		Rate    int64  `json:"rate"`
		Limit   int64  `json:"limit"`
		Follow  bool   `json:"follow"`
	}
)

func pageToJSON(p ledger.Page) pageJSON {
	return pageJSON{After: p.After, Account: p.Account, Since: rfc3339.Text(p.Since), Limit: p.Limit}
}

func pageFromJSON(p pageJSON) (ledger.Page, error) {
	since, err := rfc3339.Parse(p.Since)
	return ledger.Page{After: p.After, Account: p.Account, Since: since, Limit: p.Limit}, err
}

func feedToJSON(f ledger.Feed) feedJSON {
	return feedJSON{
		After: f.After, Account: f.Account, Since: rfc3339.Text(f.Since), Rate: f.Rate, Limit: f.Limit,
		Follow: f.Follow,
	}
}

func feedFromJSON(f feedJSON) (ledger.Feed, error) {
	since, err := rfc3339.Parse(f.Since)
	return ledger.Feed{
		After: f.After, Account: f.Account, Since: since, Rate: f.Rate, Limit: f.Limit, Follow: f.Follow,
	}, err
}
