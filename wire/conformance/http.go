package conformance

import (
	"bufio"
	"bytes"
	"io"
	"net/http"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// message is what the headers of a request and its reply say.
type message struct {
	what           string // method and path
	request, reply string // content types
	accept         string
	upgrade        string // what the server switched to
	failed         bool   // the reply's status is an error's
}

// http1Messages reads the exchanges of an HTTP/1.1 connection, up to an
// upgrade or the first that was cut.
func http1Messages(h heard) []message {
	requests, replies := bufio.NewReader(bytes.NewReader(h.toServer)), bufio.NewReader(bytes.NewReader(h.toClient))
	var all []message
	for {
		request, err := http.ReadRequest(requests)
		if err != nil {
			return all
		}
		//nolint:bodyclose // a recording holds no connection, and its body is read below
		reply, err := finalReply(replies, request)
		if err != nil {
			return all
		}
		m := message{
			what:    request.Method + " " + request.URL.Path,
			request: request.Header.Get("Content-Type"),
			accept:  request.Header.Get("Accept"),
			reply:   reply.Header.Get("Content-Type"),
			failed:  reply.StatusCode >= http.StatusBadRequest,
		}
		if reply.StatusCode == http.StatusSwitchingProtocols {
			m.upgrade = reply.Header.Get("Upgrade")
			return append(all, m)
		}
		all = append(all, m)
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return all
		}
		if _, err := io.Copy(io.Discard, reply.Body); err != nil {
			return all
		}
	}
}

// finalReply reads a reply past those that announce it.
func finalReply(from *bufio.Reader, request *http.Request) (*http.Response, error) {
	for {
		reply, err := http.ReadResponse(from, request)
		if err != nil || reply.StatusCode != http.StatusContinue {
			return reply, err
		}
	}
}

// http2Messages reads the header blocks of an HTTP/2 connection and pairs them
// by stream. A stream without a reply is left out: it was cut.
func http2Messages(h heard) []message {
	requests := headerBlocks(bytes.TrimPrefix(h.toServer, []byte(preface)))
	replies := headerBlocks(h.toClient)
	var all []message
	for id := uint32(1); len(requests) > 0; id += 2 {
		request, ok := requests[id]
		if !ok {
			break
		}
		reply, ok := replies[id]
		if !ok {
			continue
		}
		all = append(all, message{
			what:    request[":method"] + " " + request[":path"],
			request: request["content-type"],
			accept:  request["accept"],
			reply:   reply["content-type"],
			failed:  reply[":status"] >= "400",
		})
	}
	return all
}

// headerBlocks reads the first header block of each stream of one direction.
// Informational replies count for nothing, since a final one follows.
func headerBlocks(stream []byte) map[uint32]map[string]string {
	framer := http2.NewFramer(io.Discard, bytes.NewReader(stream))
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil) // the table size that RFC 9113 starts with
	blocks := map[uint32]map[string]string{}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return blocks
		}
		meta, ok := frame.(*http2.MetaHeadersFrame)
		if !ok || blocks[meta.StreamID] != nil {
			continue
		}
		fields := map[string]string{}
		for _, f := range meta.Fields {
			fields[f.Name] = f.Value
		}
		if status := fields[":status"]; len(status) == 3 && status[0] == '1' {
			continue
		}
		blocks[meta.StreamID] = fields
	}
}
