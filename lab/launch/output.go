package launch

import (
	"bytes"
	"encoding/json"
	"io"
	"net"

	"wirelab/internal/process"
	"wirelab/lab/control"
)

// output takes what a server writes for as long as it lives, so that the server never blocks, and looks for the line
// that says that it is ready. Only one goroutine writes.
type output struct {
	words *process.Words
	host  string             // replaces an address such as 0.0.0.0
	said  chan control.Ready // gets at most one value
	found bool
	line  []byte // the current line so far, at most lineLimit bytes
	long  bool   // the line is longer than that, so it is not the one
}

// lineLimit is the longest line that can say that a server is ready, in bytes. It may have a certificate.
const lineLimit = 64 << 10

func newOutput(also io.Writer, host string) *output {
	return &output{words: &process.Words{Also: also}, host: host, said: make(chan control.Ready, 1)}
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	n, err := o.words.Write(p)
	for rest := p; !o.found && len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if o.long = o.long || len(o.line)+len(line) > lineLimit; !o.long {
			o.line = append(o.line, line...)
		}
		if rest = after; !whole {
			break
		}
		if ready, ok := o.readiness(); ok {
			o.found, o.line = true, nil
			o.said <- ready
			break
		}
		o.line, o.long = o.line[:0], false
	}
	return n, err
}

// readiness parses the current line. Most lines of servers are something else.
func (o *output) readiness() (control.Ready, bool) {
	if o.long || !bytes.HasPrefix(bytes.TrimSpace(o.line), []byte("{")) {
		return control.Ready{}, false
	}
	var said control.Reply
	if json.Unmarshal(o.line, &said) != nil || said.Ready == nil {
		return control.Ready{}, false
	}
	host, port, err := net.SplitHostPort(said.Ready.Address)
	if err != nil {
		return control.Ready{}, false
	}
	// A server that listens on all addresses is called at its known host.
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = o.host
	}
	ready := *said.Ready
	ready.Address = net.JoinHostPort(host, port)
	return ready, true
}
