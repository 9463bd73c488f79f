package external

import (
	"errors"
	"io"
	"mime"
	"net/http"

	"wirelab"
	"wirelab/wire/sse"
)

// readEvents reads that many events of a stream, and returns their data, one per line. The caller that opened the
// stream closes it afterwards.
func readEvents(resp *http.Response, events int) ([]byte, error) {
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
		return nil, wirelab.Caused(wirelab.BadProtocol, wirelab.Internal, "reply of type %.60q, want text/event-stream",
			kind)
	}
	from := sse.NewReader(io.LimitReader(resp.Body, replyLimit))
	var all []byte
	for n := range max(events, 1) {
		event, err := from.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, wirelab.Caused(wirelab.Closed, wirelab.Unavailable, "the stream ended after %d of %d events",
				n, max(events, 1))
		case err != nil:
			return nil, err
		}
		all = append(append(all, event.Data...), '\n')
	}
	return all, nil
}
