package discover_test

import (
	"strings"
	"testing"

	"wirelab/workload/external/discover"
	"wirelab/workload/external/request"
)

// A stream of events need not end, and no call gets it: it is left out, and the rest is described.
func TestStreamsOfEventsAreLeftOut(t *testing.T) {
	t.Parallel()
	const document = `{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{
		"/feed":{"get":{"operationId":"feed","responses":{"200":{"description":"","content":{"text/event-stream":{"schema":{"type":"string"}}}}}}},
		"/both":{"get":{"operationId":"both","responses":{"200":{"description":"","content":{
			"text/event-stream":{"schema":{"type":"string"}},"application/json":{"schema":{"type":"object"}}}}}}}}}`
	d, notes, err := discover.File(t.Context(), "service.json", []byte(document), request.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	if _, there := d.Operations["feed"]; there || len(d.Operations) != 1 || len(notes) != 1 ||
		!strings.HasPrefix(notes[0], "feed is left out: its reply is a stream") {
		t.Errorf("%v, noted %q", d.Operations, notes)
	}
}
