package external

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"wirelab"
	"wirelab/workload/external/request"
)

// textBody is the maximum length of a body in a text, in bytes.
const textBody = 2000

// Text renders a request in the form that is sent.
func Text(w Wire, r request.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/%s\n", r.Method, r.URL, strings.TrimPrefix(w.Version, "http"))
	fmt.Fprintf(&b, "Host: %s\n", w.Authority)
	for _, f := range r.Fields {
		value := f.Value
		// a placeholder for a value of an earlier step is not secret
		if request.Secret(f.Name) && !strings.Contains(value, "{{") {
			value = wirelab.Hidden
		}
		fmt.Fprintf(&b, "%s: %s\n", f.Name, value)
	}
	for _, body := range append([][]byte{r.Body}, r.Messages...) {
		if len(body) > 0 {
			b.WriteString("\n" + shown(body))
		}
	}
	return b.String()
}

// shown renders a body for people.
func shown(body []byte) string {
	switch {
	case !utf8.Valid(body):
		return fmt.Sprintf("(%d bytes)\n", len(body))
	case len(body) > textBody:
		return strings.ToValidUTF8(string(body[:textBody]), "") + fmt.Sprintf("… (%d bytes)\n", len(body))
	}
	return string(body) + "\n"
}

// saidMost is the maximum length in bytes of an error text of a service.
const saidMost = 500

// shortened returns an error text of a service, cut if it is long.
func shortened(text string) string {
	if len(text) <= saidMost {
		return text
	}
	return strings.ToValidUTF8(text[:saidMost], "") + "…"
}
