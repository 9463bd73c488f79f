package bind

import (
	"time"

	"wirelab/wire/httprpc"
	"wirelab/workload/logging"
)

// The requests that travel in a URL. A parameter that is empty says nothing, and
// what cannot be read is refused and never taken for what it is not.

func idParameters() []httprpc.Parameter[logging.EntryID] {
	return []httprpc.Parameter[logging.EntryID]{
		httprpc.Text("id", func(id *logging.EntryID) *string { return &id.ID }),
	}
}

func queryParameters() []httprpc.Parameter[logging.Query] {
	type query = logging.Query
	return []httprpc.Parameter[query]{
		httprpc.Text("name", func(q *query) *string { return &q.Name }),
		httprpc.Time("since", func(q *query) *time.Time { return &q.Since }),
		httprpc.Time("until", func(q *query) *time.Time { return &q.Until }),
		httprpc.Count("before", func(q *query) *int64 { return &q.Before }),
		httprpc.Number("limit", func(q *query) *int32 { return &q.Limit }),
	}
}

func retentionParameters() []httprpc.Parameter[logging.Retention] {
	return []httprpc.Parameter[logging.Retention]{
		httprpc.Time("before", func(r *logging.Retention) *time.Time { return &r.Before }),
	}
}
